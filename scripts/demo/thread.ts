// What the demo asks of the API, over plain HTTP, and how it shows a thread's records as they come.
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import {
  OperationListSchema,
  type Decision,
  type Operation,
} from "../../shared/wire/operations.ts";
import { RecordPageSchema } from "../../shared/wire/progress.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import { SettlementSchema, type Settlement } from "../../shared/wire/settlement.ts";
import { SubmitResultSchema, type SubmitResult } from "../../shared/wire/submission.ts";

export class DemoThread {
  readonly #url: string;
  #shown = 0;

  constructor(base: string, threadId: string) {
    this.#url = `${base}/v1/threads/${threadId}`;
  }

  async submit(agent: string, key: string, input: unknown): Promise<SubmitResult> {
    const answer = await this.#post("/submissions", { agent, input }, { "idempotency-key": key });
    return SubmitResultSchema.parse(answer);
  }

  /** Prints new records until one of them fits. */
  async follow(fits: (record: ThreadRecord) => boolean): Promise<void> {
    for (;;) {
      const page = RecordPageSchema.parse(await this.#get(`/records?after=${this.#shown}`));
      for (const record of page.records) {
        this.#shown = record.sequence;
        console.log(`  ${`${record.sequence}`.padStart(3)}  ${describe(record)}`);
        if (fits(record)) return;
      }
      await delay(50);
    }
  }

  async operation(kind: Operation["kind"]): Promise<Operation> {
    for (;;) {
      const { operations } = OperationListSchema.parse(await this.#get("/operations"));
      const found = operations.find((operation) => operation.kind === kind);
      if (found !== undefined) return found;
      await delay(50);
    }
  }

  async decide(decision: Decision): Promise<void> {
    await this.#post("/operations/decide", { decisions: [decision] });
  }

  async explain(): Promise<string> {
    return z.object({ summary: z.string() }).parse(await this.#get("/explain")).summary;
  }

  async settlement(submissionId: string): Promise<Settlement> {
    const answer = await this.#get(`/submissions/${submissionId}/settlement`, {
      prefer: "wait=20",
    });
    return SettlementSchema.parse(answer);
  }

  async records(): Promise<ThreadRecord[]> {
    return RecordPageSchema.parse(await this.#get("/records?limit=256")).records;
  }

  async #get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    return this.#ask(path, { headers });
  }

  async #post(
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> {
    return this.#ask(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { ...headers, "content-type": "application/json" },
    });
  }

  async #ask(
    path: string,
    init: {
      readonly method?: string;
      readonly body?: string;
      readonly headers: Readonly<Record<string, string>>;
    },
  ): Promise<unknown> {
    const headers = { ...init.headers, authorization: "Bearer holdfast-dev" };
    const answer = await fetch(`${this.#url}${path}`, { ...init, headers });
    const body: unknown = await answer.json();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(body)}`);
    return body;
  }
}

function describe(record: ThreadRecord): string {
  switch (record.type) {
    case "ModelResponded": {
      const parts = record.payload.content.map((part) =>
        part.type === "tool-call" ? `calls ${part.toolName}` : part.type,
      );
      return `ModelResponded     turn ${record.turn}: ${parts.join(", ")}`;
    }
    case "ToolsPrepared":
      return `ToolsPrepared      ${record.payload.calls.map((call) => call.toolName).join(", ")}`;
    case "ToolSettled":
      return `ToolSettled        ${record.payload.toolName}: ${record.payload.outcome}`;
    case "ToolUnknown":
      return `ToolUnknown        ${record.payload.toolName}: ${record.payload.reason}`;
    case "ApprovalRequested":
      return `ApprovalRequested  ${record.payload.toolName}`;
    case "OperationDecided":
      return `OperationDecided   ${record.payload.decision} by ${record.payload.author}: ${record.payload.reason}`;
    case "SubmissionSettled":
      return `SubmissionSettled  ${record.payload.outcome}`;
    default:
      return record.type;
  }
}
