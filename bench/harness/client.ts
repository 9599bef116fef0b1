// A keep-alive HTTP client that measures: node:http costs less than fetch, and the client shares the machine with what it measures.
import { Agent, request } from "node:http";
import { URL } from "node:url";
import { z } from "zod";
import { BENCH_KEY } from "../workers/bench-key.ts";
import type { StorageCounts } from "../workers/storage-meter.ts";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** From the first byte sent to the last byte received. */
  readonly millis: number;
}

export interface Submission {
  readonly thread: string;
  readonly agent: string;
  readonly task: string;
  /** Seconds to wait for the settlement; without it the admission's answer is all. */
  readonly wait?: number;
  /** Path before the thread: the floor's loops have their own. */
  readonly scope?: string;
  /** One of its own unless it says: a second client of the same storage has to. */
  readonly key?: string;
}

export class Client {
  readonly #base: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  #keys = 0;

  constructor(base: string) {
    this.#base = base;
  }

  send(
    method: "GET" | "POST",
    path: string,
    headers: Readonly<Record<string, string>> = {},
    payload?: unknown,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const text = payload === undefined ? "" : JSON.stringify(payload);
    const started = performance.now();
    const outgoing = request(
      new URL(path, this.#base),
      {
        method,
        agent: this.#agent,
        headers: {
          authorization: `Bearer ${BENCH_KEY}`,
          ...(text === ""
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (body += chunk));
        response.on("end", () => {
          const millis = performance.now() - started;
          resolve({ status: response.statusCode ?? 0, body: parse(body), millis });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(text);
    return promise;
  }

  /** Throws when it was not accepted, or waited for and not completed. */
  async submit(submission: Submission): Promise<Answer> {
    const { thread, agent, task, wait, scope = "v1" } = submission;
    this.#keys += 1;
    const headers = {
      "idempotency-key": submission.key ?? `key-${this.#keys}`,
      ...(wait === undefined ? {} : { prefer: `wait=${wait}` }),
    };
    const path = `/${scope}/threads/${thread}/submissions`;
    const answer = await this.send("POST", path, headers, { agent, input: { task } });
    if (answer.status !== 202) throw new Error(`submit answered ${JSON.stringify(answer)}`);
    if (wait !== undefined) CompletedSchema.parse(answer.body);
    return answer;
  }

  /** What the metered object counted since it began or was reset. */
  async counts(thread: string): Promise<StorageCounts> {
    return CountsSchema.parse((await this.send("GET", `/bench/${thread}/benchCounts`)).body);
  }

  async bench(thread: string, action: string): Promise<unknown> {
    const { status, body } = await this.send("POST", `/bench/${thread}/${action}`);
    if (status !== 200) throw new Error(`${action} answered ${status}`);
    return body;
  }

  close(): void {
    this.#agent.destroy();
  }
}

const CompletedSchema = z.object({
  submission: z.object({
    state: z.literal("settled"),
    settlement: z.object({ outcome: z.literal("completed") }),
  }),
});

const ReceiptSchema = z.object({ receipt: z.object({ submissionId: z.string() }) });

export function submissionIdOf(answer: Answer): string {
  return ReceiptSchema.parse(answer.body).receipt.submissionId;
}

const StatementCountsSchema = z.object({
  runs: z.int(),
  rowsRead: z.int(),
  rowsWritten: z.int(),
});
const CountsSchema = StatementCountsSchema.extend({
  transactions: z.array(z.int()),
  alarmsSet: z.int(),
  alarmsDeleted: z.int(),
  byStatement: z.record(z.string(), StatementCountsSchema),
});

function parse(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return value;
  } catch {
    return body;
  }
}
