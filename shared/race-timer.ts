// Work that has so long: the one race of a promise against a timer.

/** What `work` does, or what `late` returns or throws once `millis` have passed; the work itself goes on, and its late rejection is observed. */
export async function raceTimer<T>(work: Promise<T>, millis: number, late: () => T): Promise<T> {
  const { promise: timeUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, millis));
  try {
    return await Promise.race([work, timeUp.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}
