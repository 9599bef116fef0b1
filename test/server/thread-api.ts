// The HTTP interface as the tests of a real server use it. Answers are parsed by the schemas of the wire; an unexpected status is an error.
import { z } from "zod";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import {
  DecideResultSchema,
  OperationListSchema,
  type DecideResult,
  type Decision,
  type Operation,
} from "../../shared/wire/operations.ts";
import { RecordPageSchema } from "../../shared/wire/progress.ts";
import { SettlementSchema, type Settlement } from "../../shared/wire/settlement.ts";
import {
  SubmissionViewSchema,
  SubmitResultSchema,
  type SubmissionView,
  type SubmitRequest,
  type SubmitResult,
} from "../../shared/wire/submission.ts";
import { API_KEY } from "./server.ts";

const REQUEST_TIMEOUT_MILLIS = 30_000;
const OWED = 202;

export class ThreadApi {
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
  }

  /** Rejects when the server dies meanwhile. */
  async submit(thread: string, key: string, request: SubmitRequest): Promise<SubmitResult> {
    const { body } = await this.#call("POST", `${thread}/submissions`, {
      headers: { "idempotency-key": key },
      body: request,
    });
    return SubmitResultSchema.parse(body);
  }

  async submission(thread: string, submissionId: string): Promise<SubmissionView> {
    const { body } = await this.#call("GET", `${thread}/submissions/${submissionId}`, {});
    return SubmissionViewSchema.parse(body);
  }

  /** Null when it is still owed after the wait. */
  async settlement(thread: string, submissionId: string): Promise<Settlement | null> {
    const path = `${thread}/submissions/${submissionId}/settlement`;
    const { status, body } = await this.#call("GET", path, { headers: { prefer: "wait=20" } });
    return status === OWED ? null : SettlementSchema.parse(body);
  }

  async operations(thread: string): Promise<Operation[]> {
    const { body } = await this.#call("GET", `${thread}/operations`, {});
    return OperationListSchema.parse(body).operations;
  }

  async decide(thread: string, decision: Decision): Promise<DecideResult> {
    const path = `${thread}/operations/decide`;
    const { body } = await this.#call("POST", path, { body: { decisions: [decision] } });
    return DecideResultSchema.parse(body);
  }

  /** All records past `after`. */
  async records(thread: string, after: number): Promise<ThreadRecord[]> {
    const records: ThreadRecord[] = [];
    for (let cursor = after; ;) {
      const { body } = await this.#call("GET", `${thread}/records?after=${cursor}&limit=256`, {});
      const page = RecordPageSchema.parse(body);
      records.push(...page.records);
      if (page.next >= page.tail || page.next === cursor) return records;
      cursor = page.next;
    }
  }

  async #call(
    method: "GET" | "POST",
    path: string,
    { headers, body }: { headers?: Record<string, string>; body?: unknown },
  ): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${this.#baseUrl}/v1/threads/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MILLIS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { status: response.status, body: z.json().parse(JSON.parse(text)) };
  }
}
