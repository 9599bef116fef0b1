// One typed client over HTTP or a service binding: keys are made and retries done safely, waits are cancellable, and the types of input and
// output are the agent's own.
import { z } from "zod";
import type { Agent, InputOf, OutputOf } from "../define/agent.ts";
import type { JsonValue } from "../canonical-json.ts";
import { CALL_DEADLINE_MILLIS, MAX_WAIT_MILLIS } from "../limits.ts";
import type { ExpectedDefinitions } from "../wire/agent.ts";
import type { AgentView } from "../wire/agent-view.ts";
import type { AnswerOf } from "../wire/answers.ts";
import type { Explanation } from "../wire/explain.ts";
import type { Decision, DecideResult, Operation } from "../wire/operations.ts";
import type { Allowances } from "../wire/policy.ts";
import type { RecordPage } from "../wire/progress.ts";
import type { ThreadRecord } from "../wire/records.ts";
import { waitMillisOf, type RequestOf } from "../wire/requests.ts";
import type { Settlement } from "../wire/settlement.ts";
import type {
  AbortResult,
  OnBusy,
  Receipt,
  RepairRequest,
  RepairResult,
  SubmissionList,
  SubmissionView,
  SubmitResult,
} from "../wire/submission.ts";
import type { ThreadView, Tombstone } from "../wire/thread.ts";
import type { ThreadUsage } from "../wire/usage.ts";
import type { Verification } from "../wire/verification.ts";
import { httpTransport, type HttpOptions } from "./http-transport.ts";
import { followEvents, type FollowedEvent } from "./read-events.ts";
import { delay, RETRY_POLICY, withRetries, type RetryPolicy } from "./retry.ts";
import { rpcTransport, type RpcOptions } from "./rpc-transport.ts";
import { withinDeadline } from "./within-deadline.ts";
import type { ClientOperation, Transport } from "./transport.ts";

export type ClientOptions = (HttpOptions | RpcOptions) & {
  /** How often and how patiently what failed in passing is repeated. */
  readonly retry?: Partial<RetryPolicy>;
};

export interface Cancellable {
  /** Aborting rejects at once with the signal's reason, and ends what was asked of the server. */
  readonly signal?: AbortSignal;
}

export interface SubmitOptions extends Cancellable {
  /** A key of the caller's own, so that a retry after its own crash is the same work; one is made otherwise. */
  readonly idempotencyKey?: string;
  readonly expectDefinitions?: ExpectedDefinitions;
  /** At most so many turns and tool calls: tightens the agent's policy, and never widens it. */
  readonly allowances?: Allowances;
  /** What to do where the thread has work: wait (the default), join the active run, be refused with `ThreadBusy`, or abort that work. */
  readonly onBusy?: OnBusy;
  /** What the host keeps with the work, by the agent's own schema. */
  readonly metadata?: JsonValue;
}

const POLL_MILLIS = 1_000;

/** A settlement whose output has the agent's own type. Only a completed one has an output. */
export type SettlementOf<Of extends Agent> = Omit<Settlement, "output"> & {
  readonly output?: OutputOf<Of>;
};

/** Input of an agent that the caller gave no type of. */
type InputFor<Of extends Agent> = unknown extends InputOf<Of> ? JsonValue : InputOf<Of>;

export function holdfastClient(options: ClientOptions): HoldfastClient {
  const transport = "binding" in options ? rpcTransport(options) : httpTransport(options);
  return new HoldfastClient(transport, { ...RETRY_POLICY, ...options.retry });
}

export class HoldfastClient {
  readonly #transport: Transport;
  readonly #retry: RetryPolicy;

  constructor(transport: Transport, retry: RetryPolicy) {
    this.#transport = transport;
    this.#retry = retry;
  }

  /** Touches nothing: a thread comes into being with its first submission. */
  thread(threadId: string): ThreadHandle {
    return new ThreadHandle(this.#transport, this.#retry, threadId);
  }

  async agents({ signal }: Cancellable = {}): Promise<AgentView[]> {
    const call = (): ReturnType<Transport["agents"]> =>
      withinDeadline(CALL_DEADLINE_MILLIS, signal, (bounded) => this.#transport.agents(bounded));
    return (await withRetries(this.#retry, signal, call)).agents;
  }
}

export class ThreadHandle {
  readonly threadId: string;
  readonly #at: { readonly threadId: string };
  readonly #transport: Transport;
  readonly #retry: RetryPolicy;

  constructor(transport: Transport, retry: RetryPolicy, threadId: string) {
    this.#at = { threadId };
    this.#transport = transport;
    this.#retry = retry;
    this.threadId = threadId;
  }

  /** Accepts work, durably, and answers its receipt. `submit<typeof myAgent>("my-agent", …)` checks id and input. */
  async submit<Of extends Agent = Agent>(
    agent: Of["id"],
    input: InputFor<Of>,
    options: SubmitOptions = {},
  ): Promise<SubmitResult> {
    return this.#submit(agent, input, options, 0);
  }

  /** Submits and waits for the settlement, however long it takes: for a limit, pass `AbortSignal.timeout(…)`. The work goes on without. */
  async run<Of extends Agent = Agent>(
    agent: Of["id"],
    input: InputFor<Of>,
    options: SubmitOptions = {},
  ): Promise<{ receipt: Receipt; settlement: SettlementOf<Of> }> {
    const { receipt, submission } = await this.#submit(agent, input, options, MAX_WAIT_MILLIS);
    const settlement =
      submission?.settlement ?? (await this.settlement(receipt.submissionId, options));
    return { receipt, settlement: settlementOf<Of>(settlement) };
  }

  /** The settlement, awaited for as long as it takes. */
  async settlement<Of extends Agent = Agent>(
    submissionId: string,
    { signal }: Cancellable = {},
  ): Promise<SettlementOf<Of>> {
    for (;;) {
      const asked = Date.now();
      const wait = { ...this.#at, submissionId, timeoutMillis: MAX_WAIT_MILLIS };
      const settlement = await this.#call("awaitSettlementRecord", wait, signal);
      if (settlement !== null) return settlementOf<Of>(settlement);
      // Something on the way may drop the wait from the request: then it is asked for once a second.
      if (Date.now() - asked < POLL_MILLIS) await delay(POLL_MILLIS, signal);
    }
  }

  get({ signal }: Cancellable = {}): Promise<ThreadView> {
    return this.#call("getThread", this.#at, signal);
  }

  submission(submissionId: string, { signal }: Cancellable = {}): Promise<SubmissionView> {
    return this.#call("getSubmission", { ...this.#at, submissionId }, signal);
  }

  submissions(
    page: RequestOf<"listSubmissions">["page"] = {},
    { signal }: Cancellable = {},
  ): Promise<SubmissionList> {
    return this.#call("listSubmissions", { ...this.#at, page }, signal);
  }

  page(
    page: RequestOf<"readPage">["page"] = {},
    { signal }: Cancellable = {},
  ): Promise<RecordPage> {
    return this.#call("readPage", { ...this.#at, page }, signal);
  }

  /** All records past `after`, page by page, as far as the log goes when each page is read. */
  async *records(
    { after = 0 }: { readonly after?: number } = {},
    options: Cancellable = {},
  ): AsyncGenerator<ThreadRecord, void, undefined> {
    for (let next = after; ;) {
      const page = await this.page({ after: next, limit: 256 }, options);
      yield* page.records;
      if (page.next >= page.tail) return;
      next = page.next;
    }
  }

  /** Events as they come, over as many connections as it takes. With `submissionId` they end with its settlement. */
  events(
    request: Omit<RequestOf<"events">, "threadId"> = {},
    { signal }: Cancellable = {},
  ): AsyncGenerator<FollowedEvent, void, undefined> {
    const asked = { ...request, ...this.#at };
    return followEvents(this.#transport, asked, this.#retry, signal);
  }

  abort(
    submissionId: string,
    { reason, signal }: Cancellable & { readonly reason?: string } = {},
  ): Promise<AbortResult> {
    const request = reason === undefined ? {} : { reason };
    return this.#call("abort", { ...this.#at, submissionId, request }, signal);
  }

  /** What waits for a person. */
  async operations({ signal }: Cancellable = {}): Promise<Operation[]> {
    return (await this.#call("listOperations", this.#at, signal)).operations;
  }

  /** All of the decisions or none. */
  async decide(
    decisions: readonly Decision[],
    { signal }: Cancellable = {},
  ): Promise<DecideResult["results"]> {
    const request = { decisions: [...decisions] };
    return (await this.#call("decideOperations", { ...this.#at, request }, signal)).results;
  }

  /** Why the thread is in its state, and what would move it. */
  explain({ signal }: Cancellable = {}): Promise<Explanation> {
    return this.#call("explain", this.#at, signal);
  }

  usage({ signal }: Cancellable = {}): Promise<ThreadUsage> {
    return this.#call("usage", this.#at, signal);
  }

  /** Whether the log is the one that was written, and where it is not. */
  verify({ signal }: Cancellable = {}): Promise<Verification> {
    return this.#call("verify", this.#at, signal);
  }

  /** Deletes the thread for good; its id stays used. Throws `WorkOwed` while submissions are owed, unless an operator forces it. */
  delete(
    { force = false }: { readonly force?: boolean } = {},
    { signal }: Cancellable = {},
  ): Promise<Tombstone> {
    const request = force ? { force } : {};
    return this.#call("deleteThread", { ...this.#at, request }, signal);
  }

  repair(request: RepairRequest, { signal }: Cancellable = {}): Promise<RepairResult> {
    return this.#call("repair", { ...this.#at, request }, signal);
  }

  #submit(
    agent: string,
    input: unknown,
    options: SubmitOptions,
    timeoutMillis: number,
  ): Promise<SubmitResult> {
    const { idempotencyKey = crypto.randomUUID(), signal } = options;
    const { expectDefinitions, allowances, onBusy, metadata } = options;
    const request = {
      agent,
      // What the agent's schema takes is JSON as soon as it is sent; what is not is refused there.
      input: toJson(input),
      ...(onBusy === undefined ? {} : { onBusy }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(allowances === undefined ? {} : { allowances }),
      ...(expectDefinitions === undefined ? {} : { expectDefinitions }),
    };
    return this.#call("submit", { ...this.#at, idempotencyKey, request, timeoutMillis }, signal);
  }

  #call<Operation extends ClientOperation>(
    operation: Operation,
    request: RequestOf<Operation>,
    signal: AbortSignal | undefined,
  ): Promise<AnswerOf<Operation>> {
    return withRetries(this.#retry, signal, () =>
      withinDeadline(waitMillisOf(request) + CALL_DEADLINE_MILLIS, signal, (bounded) =>
        this.#transport.call(operation, request, bounded),
      ),
    );
  }
}

function settlementOf<Of extends Agent>(settlement: unknown): SettlementOf<Of> {
  return z.custom<SettlementOf<Of>>().parse(settlement);
}

function toJson(value: unknown): JsonValue {
  const copy: JsonValue = JSON.parse(JSON.stringify(value) ?? "null");
  return copy;
}
