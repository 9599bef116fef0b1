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

/** How much of an open turn a watcher has been sent. */
export interface TurnCursor {
  readonly of: OpenTurn;
  readonly block: number;
  readonly unit: number;
  readonly sent: Readonly<Record<DeltaEvent["kind"], number>>;
}

export function beginTurn(of: OpenTurn): TurnCursor {
  return { of, block: 0, unit: 0, sent: { text: 0, reasoning: 0 } };
}

/** The text past the cursor as deltas, one per block, and the cursor behind it. A reader that lags gets fewer and larger ones. Pure. */
export function readDeltas(cursor: TurnCursor): { deltas: DeltaEvent[]; cursor: TurnCursor } {
  const { of } = cursor;
  const { submissionId, turn, attempt, blocks } = of;
  const deltas: DeltaEvent[] = [];
  const sent = { ...cursor.sent };
  let { block, unit } = cursor;
  for (; block < blocks.length; block += 1, unit = 0) {
    const current = blocks[block];
    if (current === undefined) break;
    if (current.kind === "call") continue;
    const { kind } = current;
    const text = current.text.slice(unit);
    if (text !== "") deltas.push({ submissionId, turn, attempt, kind, offset: sent[kind], text });
    sent[kind] += text.length;
    unit = current.text.length;
    // The last block may still grow.
    if (block === blocks.length - 1) break;
  }
  return { deltas, cursor: { of, block, unit, sent } };
}
