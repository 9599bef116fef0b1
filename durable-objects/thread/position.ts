// The one integer key of a thread's rows: threadNumber × 2^32 + sequence. Several threads can then share an object's tables, and a
// thread's rows still lie together.

const SPAN = 2 ** 32;

export function positionOf(threadNumber: number, sequence: number): number {
  return threadNumber * SPAN + sequence;
}

export function sequenceAt(position: number): number {
  return position % SPAN;
}
