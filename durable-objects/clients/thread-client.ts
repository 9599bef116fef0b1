// Typed calls to a thread object. The tenant is part of the object's name, so that no id a caller chooses can reach another tenant's.
import { canonicalJson } from "../../shared/canonical-json.ts";
import type { Explanation } from "../../shared/wire/explain.ts";
import type { DecideRequest, DecideResult, OperationList } from "../../shared/wire/operations.ts";
import type { ReadPageRequest, RecordPage } from "../../shared/wire/progress.ts";
import type { Settlement } from "../../shared/wire/settlement.ts";
import type {
  AbortRequest,
  AbortResult,
  RetryRequest,
  RetryResult,
  SubmissionView,
  SubmitRequest,
  SubmitResult,
} from "../../shared/wire/submission.ts";
import { callRpc } from "../platform/call-rpc.ts";
import type { threadObjectClass } from "../thread/thread-object.ts";

type ThreadObject = InstanceType<ReturnType<typeof threadObjectClass>>;

/** The object's own methods as its stub offers them. Named by hand, because the platform's stub type unfolds recursive JSON types without
 * end; a method that the class does not have does not compile here. */
type ThreadRpc = Pick<
  ThreadObject,
  | "submit"
  | "getSubmission"
  | "awaitSettlement"
  | "awaitSettlementRecord"
  | "readPage"
  | "awaitProgress"
  | "cancelWait"
  | "abort"
  | "listOperations"
  | "decideOperations"
  | "retry"
  | "explain"
>;

/** The binding of the thread objects, as far as it is used. */
export interface ThreadNamespace {
  getByName(name: string): ThreadRpc;
}

/** Who calls, as the host authenticated it. */
export interface Caller {
  readonly tenant: string;
  readonly principal: string;
}

export class ThreadClient {
  readonly #namespace: ThreadNamespace;
  readonly #name: string;
  readonly #address: { readonly threadId: string; readonly principal: string };

  constructor(namespace: ThreadNamespace, caller: Caller, threadId: string) {
    this.#namespace = namespace;
    this.#name = canonicalJson([caller.tenant, threadId]);
    this.#address = { threadId, principal: caller.principal };
  }

  /** With a timeout, the answer comes with the submission once it settled. */
  submit(
    idempotencyKey: string,
    request: SubmitRequest,
    timeoutMillis: number,
  ): Promise<SubmitResult> {
    return callRpc(this.#stub, (stub) =>
      stub.submit({ ...this.#address, idempotencyKey, request, timeoutMillis }),
    );
  }

  /** As it is once it settled, or after the timeout. */
  getSubmission(submissionId: string, timeoutMillis: number): Promise<SubmissionView> {
    return callRpc(this.#stub, (stub) =>
      stub.getSubmission({ ...this.#address, submissionId, timeoutMillis }),
    );
  }

  /** Null when it is still owed after the timeout. */
  awaitSettlementRecord(submissionId: string, timeoutMillis: number): Promise<Settlement | null> {
    return callRpc(this.#stub, (stub) =>
      stub.awaitSettlementRecord({ ...this.#address, submissionId, timeoutMillis }),
    );
  }

  readPage(page: ReadPageRequest): Promise<RecordPage> {
    return callRpc(this.#stub, (stub) => stub.readPage({ ...this.#address, page }));
  }

  abort(submissionId: string, request: AbortRequest): Promise<AbortResult> {
    return callRpc(this.#stub, (stub) => stub.abort({ ...this.#address, submissionId, request }));
  }

  listOperations(): Promise<OperationList> {
    return callRpc(this.#stub, (stub) => stub.listOperations(this.#address));
  }

  decideOperations(request: DecideRequest): Promise<DecideResult> {
    return callRpc(this.#stub, (stub) => stub.decideOperations({ ...this.#address, request }));
  }

  retry(request: RetryRequest): Promise<RetryResult> {
    return callRpc(this.#stub, (stub) => stub.retry({ ...this.#address, request }));
  }

  explain(): Promise<Explanation> {
    return callRpc(this.#stub, (stub) => stub.explain(this.#address));
  }

  readonly #stub = () => this.#namespace.getByName(this.#name);
}
