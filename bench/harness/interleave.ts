// Takes samples of several contenders in turns, so that whatever the machine does meanwhile meets all of them alike.

/** Performs one sample and returns its figure. `round` counts from 0, warm-up included. */
export type Sample = (round: number) => Promise<number>;

/** The samples of each contender, in the order of the contenders, without those of the warm-up. */
export async function interleave(
  contenders: readonly Sample[],
  rounds: number,
  warmUp: number,
): Promise<number[][]> {
  const taken = contenders.map((sample) => ({ sample, figures: new Array<number>() }));
  for (let round = 0; round < warmUp + rounds; round += 1) {
    // Each round begins with another one: nobody always runs after the same neighbour.
    const first = round % taken.length;
    for (const { sample, figures } of [...taken.slice(first), ...taken.slice(0, first)]) {
      const found = await sample(round);
      if (round >= warmUp) figures.push(found);
    }
  }
  return taken.map(({ figures }) => figures);
}
