// A pause in long synchronous work: what waits for the object gets its turn, and what was written until then goes to the disk.

export async function letOthersRun(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, 0);
  await promise;
}
