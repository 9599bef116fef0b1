// The text of a turn whose model call is open: in memory only, shown to watchers, gone with the attempt.
import type { DeltaEvent } from "../../../shared/wire/events.ts";
import type { StreamReduction } from "../../model/reduce-stream.ts";

export interface OpenTurn {
  readonly submissionId: string;
  readonly turn: number;
  readonly attempt: number;
  /** The change by which the call opened. */
  readonly since: number;
  /** What the stream brought so far; grows in place. */
  readonly blocks: StreamReduction["blocks"];
}

/** How much of an open turn a watcher has been sent: the length of each block's text. */
export interface TurnCursor {
  readonly of: OpenTurn;
  readonly sent: readonly number[];
}

export function beginTurn(of: OpenTurn): TurnCursor {
  return { of, sent: [] };
}

/**
 * The text past the cursor as deltas, at most one per block, and the cursor behind it. A reader that lags gets fewer and larger ones.
 * Any block may still grow: providers go on with a text after a tool call, and stream several at a time. Pure.
 */
export function readDeltas({ of, sent }: TurnCursor): { deltas: DeltaEvent[]; cursor: TurnCursor } {
  const { submissionId, turn, attempt, blocks } = of;
  const deltas: DeltaEvent[] = [];
  const ends = { text: 0, reasoning: 0 };
  const hasGrown = { text: false, reasoning: false };
  for (const [index, block] of blocks.entries()) {
    if (!("text" in block)) continue;
    const { kind } = block;
    // A reader replaces all that follows an offset: what stands behind text that grew is sent again.
    const known = hasGrown[kind] ? 0 : (sent[index] ?? 0);
    const text = block.text.slice(known);
    if (text !== "") {
      deltas.push({ submissionId, turn, attempt, kind, offset: ends[kind] + known, text });
      hasGrown[kind] = true;
    }
    ends[kind] += block.text.length;
  }
  const lengths = blocks.map((block) => ("text" in block ? block.text.length : 0));
  return { deltas, cursor: { of, sent: lengths } };
}
