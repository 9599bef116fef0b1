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
  AbortResultSchema,
  SubmissionViewSchema,
  SubmitResultSchema,
  type AbortResult,
  type SubmissionView,
  type SubmitRequest,
  type SubmitResult,
} from "../../shared/wire/submission.ts";
import { API_KEY } from "./server.ts";

const REQUEST_TIMEOUT_MILLIS = 30_000;
const OWED = 202;

/** The server answered, and refused. */
export class ApiRefusal extends Error {
  override readonly name = "ApiRefusal";
  readonly status: number;

  constructor(call: string, status: number, text: string) {
    super(`${call}: ${status} ${text}`);
    this.status = status;
  }
}

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

  async abort(thread: string, submissionId: string): Promise<AbortResult> {
    const path = `${thread}/submissions/${submissionId}/abort`;
    return AbortResultSchema.parse((await this.#call("POST", path, { body: {} })).body);
  }

  /** Any other reading of a thread, which is not looked into. */
  async read(thread: string, what: "" | "/explain" | "/usage" | "/submissions"): Promise<void> {
    await this.#call("GET", `${thread}${what}`, {});
  }

  /** The stream's body. `signal` ends it. */
  async events(thread: string, query: string, signal: AbortSignal): Promise<ReadableStream> {
    const path = `${thread}/events?${query}`;
    const response = await fetch(`${this.#baseUrl}/v1/threads/${path}`, {
      headers: { authorization: `Bearer ${API_KEY}` },
      signal,
    });
    if (response.ok && response.body !== null) return response.body;
    throw new ApiRefusal(`GET ${path}`, response.status, await response.text());
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
    if (!response.ok) throw new ApiRefusal(`${method} ${path}`, response.status, text);
    return { status: response.status, body: z.json().parse(JSON.parse(text)) };
  }
}
