// Work that has so long, and is told so by its signal. Its timer ends with it: one that ran on would keep an object from falling asleep.
export async function within<T>(
  millis: number,
  outer: AbortSignal | null,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), millis);
  try {
    return await work(outer === null ? stop.signal : AbortSignal.any([outer, stop.signal]));
  } finally {
    clearTimeout(timer);
  }
}
