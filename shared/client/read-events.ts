// Follows a thread's events over as many connections as it takes: a connection that ends or breaks is opened again from the last record seen.
import { z } from "zod";
import { BlockReader } from "../event-blocks.ts";
import { CALL_DEADLINE_MILLIS, STREAM_SILENCE_MILLIS } from "../limits.ts";
import { raceTimer } from "../race-timer.ts";
import type { RequestOf } from "../wire/requests.ts";
import type { ThreadEvent } from "../wire/events.ts";
import { delay, planRetry, type RetryPolicy } from "./retry.ts";
import { withinDeadline } from "./within-deadline.ts";
import type { Transport } from "./transport.ts";

/** What a reader gets: everything but the planned ends of connections, which are seen to here. */
export type FollowedEvent = Exclude<ThreadEvent, { event: "bye" }>;

const EventNameSchema = z.enum(["record", "state", "delta", "resync", "settled", "gap", "bye"]);
const DEFAULT_RETRY_MILLIS = 1_000;

/** Ends with `settled` where a submission is followed, and with `gap`. Throws what the server refuses, and the signal's reason. */
export async function* followEvents(
  transport: Transport,
  request: RequestOf<"events">,
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
): AsyncGenerator<FollowedEvent, void, undefined> {
  let after = request.after ?? 0;
  let failures = 0;
  for (;;) {
    let retryMillis = DEFAULT_RETRY_MILLIS;
    let blocks: BlockReader | null = null;
    try {
      const asked = { ...request, after };
      blocks = new BlockReader(
        await withinDeadline(CALL_DEADLINE_MILLIS, signal, (bounded) =>
          transport.call("events", asked, bounded),
        ),
      );
      for await (const { event, retry } of readConnection(blocks, signal)) {
        failures = 0;
        if (event.event === "bye") {
          retryMillis = retry ?? retryMillis;
          break;
        }
        if (event.event === "record") after = event.data.sequence;
        yield event;
        if (event.event === "settled" || event.event === "gap") return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      failures += 1;
      // An answer is thrown; a connection that breaks is opened again for as long as the reader reads.
      const millis = planRetry(error, Math.min(failures, policy.maxRetries), policy, Math.random());
      if (millis === null && !(error instanceof ConnectionLost)) throw error;
      retryMillis = millis ?? retryMillis;
    } finally {
      // Nobody waits for the other side to hear of it.
      void blocks?.cancel();
    }
    await delay(retryMillis, signal);
  }
}

/** The connection ended in the middle. */
class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

interface Received {
  readonly event: ThreadEvent;
  readonly retry: number | null;
}

async function* readConnection(
  blocks: BlockReader,
  signal: AbortSignal | undefined,
): AsyncGenerator<Received, void, undefined> {
  // It may have aborted while the connection was handed over.
  signal?.throwIfAborted();
  const abort = (): void => void blocks.cancel();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    for (;;) {
      const block = await nextBlock(blocks);
      signal?.throwIfAborted();
      if (block === null) throw new ConnectionLost("the stream ended without a last event");
      const received = parseBlock(block);
      if (received !== null) yield received;
    }
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

async function nextBlock(blocks: BlockReader): Promise<string | null> {
  try {
    return await raceTimer(blocks.next(), STREAM_SILENCE_MILLIS, () => {
      throw new Error("nothing came for three heartbeats");
    });
  } catch (cause) {
    throw new ConnectionLost("the stream broke off", { cause });
  }
}

/** One event; null for a comment, and for an event that a newer server may send and this client does not know. */
export function parseBlock(block: string): Received | null {
  // Lines end where the server ends them: text may hold what else counts as a line break, and what imitates a field.
  const fields = new Map(block.split("\n").map((line) => splitField(line)));
  const name = EventNameSchema.safeParse(fields.get("event"));
  const data = fields.get("data");
  if (!name.success || data === undefined) return null;
  const retry = fields.get("retry") ?? "";
  const parsed: unknown = JSON.parse(data);
  return {
    event: z.custom<ThreadEvent>().parse({ event: name.data, data: parsed }),
    retry: /^\d+$/.test(retry) ? Number(retry) : null,
  };
}

function splitField(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
