// What callers may do with threads, free of transport: permission first, then the object.
import { ThreadClient } from "../../durable-objects/clients/thread-client.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { Explanation } from "../../shared/wire/explain.ts";
import type {
  DecideRequest,
  DecideResult,
  DecisionKind,
  OperationList,
} from "../../shared/wire/operations.ts";
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
import { hasPermission, OPERATION_PERMISSIONS, type Operation } from "../auth/permissions.ts";
import type { Principal } from "../auth/verify-key.ts";
import type { WorkerEnv } from "../env.ts";

export class ThreadOperations {
  readonly #env: WorkerEnv;
  readonly #principal: Principal;

  constructor(env: WorkerEnv, principal: Principal) {
    this.#env = env;
    this.#principal = principal;
  }

  submit(
    threadId: string,
    key: string,
    request: SubmitRequest,
    waitMillis: number,
  ): Promise<SubmitResult> {
    return this.#thread("submit", threadId).submit(key, request, waitMillis);
  }

  getSubmission(
    threadId: string,
    submissionId: string,
    waitMillis: number,
  ): Promise<SubmissionView> {
    return this.#thread("getSubmission", threadId).getSubmission(submissionId, waitMillis);
  }

  /** Null while it is owed. */
  awaitSettlementRecord(
    threadId: string,
    submissionId: string,
    waitMillis: number,
  ): Promise<Settlement | null> {
    const thread = this.#thread("awaitSettlementRecord", threadId);
    return thread.awaitSettlementRecord(submissionId, waitMillis);
  }

  readPage(threadId: string, page: ReadPageRequest): Promise<RecordPage> {
    return this.#thread("readPage", threadId).readPage(page);
  }

  abort(threadId: string, submissionId: string, request: AbortRequest): Promise<AbortResult> {
    return this.#thread("abort", threadId).abort(submissionId, request);
  }

  listOperations(threadId: string): Promise<OperationList> {
    return this.#thread("listOperations", threadId).listOperations();
  }

  /** A list needs the permission of each of its decisions. */
  async decideOperations(threadId: string, request: DecideRequest): Promise<DecideResult> {
    for (const { decision } of request.decisions) this.require(permissionOf(decision));
    return this.#client(threadId).decideOperations(request);
  }

  retry(threadId: string, request: RetryRequest): Promise<RetryResult> {
    return this.#thread("repair", threadId).retry(request);
  }

  explain(threadId: string): Promise<Explanation> {
    return this.#thread("explain", threadId).explain();
  }

  #thread(operation: Operation, threadId: string): ThreadClient {
    this.require(operation);
    return this.#client(threadId);
  }

  #client(threadId: string): ThreadClient {
    return new ThreadClient(this.#env.THREADS, this.#principal, threadId);
  }

  /** Throws `PermissionMissing` that names the permission. */
  require(operation: Operation): void {
    if (hasPermission(this.#principal.permissions, operation)) return;
    const permission = OPERATION_PERMISSIONS[operation];
    throw new HoldfastError("PermissionMissing", `This needs the permission ${permission}.`, {
      fields: { permission },
    });
  }
}

function permissionOf(decision: DecisionKind): Operation {
  return decision === "approve" || decision === "deny" ? "decideApproval" : "decideUnknown";
}
