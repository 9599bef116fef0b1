// The smallest part of a list that still fails, as far as leaving out one element at a time leads. Pure but for what it is handed.

/** @param fails may be asked often; a part fails when it returns true */
export async function shrink<T>(
  list: readonly T[],
  fails: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let smallest = list;
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const without = smallest.toSpliced(at, 1);
    if (await fails(without)) smallest = without;
  }
  return smallest;
}
