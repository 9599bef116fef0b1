// Is there an order of concurrent calls, one after the other, that keeps to what was seen of time and that a sequential specification allows?
// A search in depth that remembers where it has been. Pure.

/** One call as its caller saw it, on a clock that ticks with every call and every answer. */
export interface Call<Asked, Answer> {
  readonly asked: Asked;
  /** Null where none came: then it was done at any time after it was asked, or never. */
  readonly answer: Answer | null;
  readonly askedAt: number;
  /** `Infinity` where no answer came. */
  readonly answeredAt: number;
}

export interface Specification<State, Asked, Answer> {
  readonly start: State;
  /** The states that the call may leave when it gives this answer: none where it cannot give it. Of a call without an answer, all that it may
   * leave when it is done. */
  readonly next: (state: State, asked: Asked, answer: Answer | null) => readonly State[];
  /** Equal for states that are the same. */
  readonly keyOf: (state: State) => string;
}

/** More would not fit the bits of a number. */
const MAX_CALLS = 30;

/** The calls in an order that explains them, by their index; null when there is none. Those without an answer may be missing. */
export function findOrder<State, Asked, Answer>(
  calls: readonly Call<Asked, Answer>[],
  { start, next, keyOf }: Specification<State, Asked, Answer>,
): number[] | null {
  if (calls.length > MAX_CALLS) throw new Error(`${calls.length} calls are too many to search`);
  const deadEnds = new Set<string>();
  const answered = calls.reduce(
    (bits, call, at) => (call.answer === null ? bits : bits | (1 << at)),
    0,
  );

  const search = (state: State, done: number): number[] | null => {
    if ((done & answered) === answered) return [];
    const place = `${done} ${keyOf(state)}`;
    if (deadEnds.has(place)) return null;
    // What was asked after another was answered comes after it.
    const before = Math.min(
      ...calls.flatMap((call, at) => ((done & (1 << at)) === 0 ? [call.answeredAt] : [])),
    );
    for (const [at, { asked, answer, askedAt }] of calls.entries()) {
      if ((done & (1 << at)) !== 0 || askedAt > before) continue;
      for (const after of next(state, asked, answer)) {
        const rest = search(after, done | (1 << at));
        if (rest !== null) return [at, ...rest];
      }
    }
    deadEnds.add(place);
    return null;
  };
  return search(start, 0);
}
