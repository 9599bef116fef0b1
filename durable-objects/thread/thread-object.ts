// The Durable Object class of a thread: RPC methods and the alarm, no logic. Every method answers with data, never with a throw.
import { DurableObject } from "cloudflare:workers";
import type { Explanation } from "../../shared/wire/explain.ts";
import type { DecideResult, OperationList } from "../../shared/wire/operations.ts";
import type { RecordPage } from "../../shared/wire/progress.ts";
import type { RpcResult } from "../../shared/wire/rpc.ts";
import type { Settlement, SettlementMetadata } from "../../shared/wire/settlement.ts";
import type {
  AbortResult,
  RetryResult,
  SubmissionView,
  SubmitResult,
} from "../../shared/wire/submission.ts";
import { systemPorts, type Ports } from "../platform/ports.ts";
import { serveRpc } from "../platform/serve-rpc.ts";
import { admit } from "./admission/submit.ts";
import { abortSubmission, resolveOperation, retryParked } from "./control/controls.ts";
import { readRecordPage } from "./journal/read-page.ts";
import type { ThreadOptions } from "./thread-options.ts";
import { ThreadRpcSchemas, type ThreadRpcRequest } from "./thread-rpc.ts";
import { ThreadServices } from "./thread-services.ts";
import { explainThread } from "./view/explain-thread.ts";
import { listOperations } from "./view/list-operations.ts";
import { awaitAdmitted, awaitSubmission } from "./view/await-submission.ts";
import { readSettlement } from "./view/read-submission.ts";

type Answer<T> = Promise<RpcResult<T>>;

/** The class for one deployment's agents. Export a class that extends it, so that its binding is typed. */
export function threadObjectClass(options: ThreadOptions, ports: Ports = systemPorts) {
  return class ThreadObject extends DurableObject {
    readonly #services: ThreadServices;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      this.#services = new ThreadServices(ctx, { ...env }, options, ports);
    }

    /** Never throws: a throw would use up the platform's redeliveries, after which the alarm is dropped for good. */
    override async alarm(info?: AlarmInvocationInfo): Promise<void> {
      await this.#services.drain({ kind: "alarm", isRetry: info?.isRetry === true });
    }

    /** With a timeout it answers once the work settled: one call instead of two. */
    submit(request: ThreadRpcRequest<"submit">): Answer<SubmitResult> {
      return serveRpc("submit", ThreadRpcSchemas.submit, request, async (command) => {
        const { threadId, principal, timeoutMillis } = command;
        const { core, createTables } = this.#services.openForAdmission(threadId, principal);
        const admitted = admit(core, { ...command, createTables });
        this.#services.adopt(core);
        this.#goOn();
        if (timeoutMillis === 0) return admitted;
        return { ...admitted, ...(await awaitAdmitted(core, admitted, timeoutMillis)) };
      });
    }

    /** As it is once it settled, or after the timeout. */
    getSubmission(request: ThreadRpcRequest<"getSubmission">): Answer<SubmissionView> {
      return serveRpc("getSubmission", ThreadRpcSchemas.getSubmission, request, (asked) => {
        const core = this.#services.open(asked.threadId);
        return awaitSubmission(core, asked.submissionId, asked.timeoutMillis);
      });
    }

    /** Outcome, usage and failure without the output; null when it is still owed after the timeout. */
    awaitSettlement(
      request: ThreadRpcRequest<"awaitSettlement">,
    ): Answer<SettlementMetadata | null> {
      return serveRpc(
        "awaitSettlement",
        ThreadRpcSchemas.awaitSettlement,
        request,
        async (asked) => {
          const core = this.#services.open(asked.threadId);
          const settlement = await core.waiters.waitFor(
            "settlement",
            asked.waitId,
            asked.timeoutMillis,
            () => readSettlement(core, asked.submissionId),
          );
          if (settlement === null) return null;
          const { output: _output, ...metadata } = settlement;
          return metadata;
        },
      );
    }

    /** The terminal record's content, the output included; null when it is still owed after the timeout. */
    awaitSettlementRecord(request: ThreadRpcRequest<"awaitSettlement">): Answer<Settlement | null> {
      return serveRpc(
        "awaitSettlementRecord",
        ThreadRpcSchemas.awaitSettlement,
        request,
        async (asked) => {
          const core = this.#services.open(asked.threadId);
          return core.waiters.waitFor("settlement", asked.waitId, asked.timeoutMillis, () =>
            readSettlement(core, asked.submissionId),
          );
        },
      );
    }

    readPage(request: ThreadRpcRequest<"readPage">): Answer<RecordPage> {
      return serveRpc("readPage", ThreadRpcSchemas.readPage, request, (asked) =>
        readRecordPage(this.#services.open(asked.threadId).journal, asked.page),
      );
    }

    /** Returns when a record past `after` is there, or after the timeout; the caller reads what it is. */
    awaitProgress(request: ThreadRpcRequest<"awaitProgress">): Answer<{ tail: number }> {
      return serveRpc("awaitProgress", ThreadRpcSchemas.awaitProgress, request, async (asked) => {
        const core = this.#services.open(asked.threadId);
        await core.waiters.waitFor("record", asked.waitId, asked.timeoutMillis, () =>
          core.journal.tail().sequence > asked.after ? true : null,
        );
        return { tail: core.journal.tail().sequence };
      });
    }

    cancelWait(request: ThreadRpcRequest<"cancelWait">): Answer<{ cancelled: boolean }> {
      return serveRpc("cancelWait", ThreadRpcSchemas.cancelWait, request, (asked) => ({
        cancelled: this.#services.open(asked.threadId).waiters.cancel(asked.waitId),
      }));
    }

    abort(request: ThreadRpcRequest<"abort">): Answer<AbortResult> {
      return serveRpc("abort", ThreadRpcSchemas.abort, request, (asked) => {
        const result = abortSubmission(this.#services.open(asked.threadId), asked);
        this.#goOn();
        return result;
      });
    }

    listOperations(request: ThreadRpcRequest<"listOperations">): Answer<OperationList> {
      return serveRpc("listOperations", ThreadRpcSchemas.listOperations, request, (asked) => {
        const core = this.#services.open(asked.threadId);
        return { operations: listOperations(core, core.ledger.owed()) };
      });
    }

    decideOperations(request: ThreadRpcRequest<"decideOperations">): Answer<DecideResult> {
      return serveRpc("decideOperations", ThreadRpcSchemas.decideOperations, request, (asked) => {
        const core = this.#services.open(asked.threadId);
        const results = asked.request.decisions.map((decision) =>
          resolveOperation(core, asked.principal, decision),
        );
        this.#goOn();
        return { results };
      });
    }

    retry(request: ThreadRpcRequest<"retry">): Answer<RetryResult> {
      return serveRpc("retry", ThreadRpcSchemas.retry, request, (asked) => {
        const result = retryParked(this.#services.open(asked.threadId), asked);
        this.#goOn();
        return result;
      });
    }

    explain(request: ThreadRpcRequest<"explain">): Answer<Explanation> {
      return serveRpc("explain", ThreadRpcSchemas.explain, request, (asked) =>
        explainThread(this.#services.open(asked.threadId)),
      );
    }

    /** Starts the pass in this event, for latency; the alarm that was armed with the change is the guarantee (ALM-06). */
    #goOn(): void {
      this.ctx.waitUntil(this.#services.drain({ kind: "change" }));
    }
  };
}
