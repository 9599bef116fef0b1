// The Durable Object class of a thread: RPC methods and the alarm, no logic. Every method answers with data, never with a throw.
import { DurableObject } from "cloudflare:workers";
import type { z } from "zod";
import type { Environment } from "../../shared/define/environment.ts";
import type { Caller } from "../../shared/wire/access.ts";
import type { AnswerOf } from "../../shared/wire/answers.ts";
import type { ThreadOperation } from "../../shared/wire/requests.ts";
import type { RpcResult } from "../../shared/wire/rpc.ts";
import { systemPorts } from "../platform/system-ports.ts";
import type { Ports } from "../../shared/ports.ts";
import { serveRpc } from "../platform/serve-rpc.ts";
import { ScheduleLaneSchema, type ScheduleLaneRequest } from "../scheduler/schedule-lane.ts";
import { admit } from "./admission/submit.ts";
import type { OperationRequest } from "./authorize-operation.ts";
import { abortSubmission, decideOperations, repairThread } from "./control/controls.ts";
import { deleteThread, refuseDeleted } from "./deletion/delete-thread.ts";
import { readRecordPage } from "./journal/read-page.ts";
import { watchThread } from "./progress/watch-thread.ts";
import type { ThreadCore } from "./thread-core.ts";
import type { ThreadOptions } from "./thread-options.ts";
import {
  ThreadRpcSchemas,
  type ThreadRpc,
  type ThreadRpcRequest,
} from "../../shared/wire/thread-rpc.ts";
import type { ThreadObjectClass } from "./thread-object-class.ts";
import { ThreadServices } from "./thread-services.ts";
import { awaitAdmitted, awaitSettled, awaitSubmission } from "./view/await-submission.ts";
import { explainThread } from "./view/explain-thread.ts";
import { listOperations } from "./view/list-operations.ts";
import { refuseDamaged } from "./view/refuse-damaged.ts";
import { listSubmissions, readThread, readUsage } from "./view/read-thread.ts";
import { verifyLog } from "./view/verify-log.ts";

type Answer<Operation extends ThreadOperation> = Promise<RpcResult<AnswerOf<Operation>>>;

/** What every request has. */
interface Asked {
  readonly threadId: string;
  readonly caller: Caller;
  readonly submissionId?: string | undefined;
}

/** The class for one deployment's options. Export a class that extends it, so that its binding is typed. */
export function threadObjectClass(
  optionsOf: (env: Environment) => ThreadOptions,
  ports: Ports = systemPorts,
): ThreadObjectClass {
  return class ThreadObject extends DurableObject implements ThreadRpc {
    readonly #services: ThreadServices;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      this.#services = new ThreadServices(ctx, env, optionsOf, ports);
    }

    /** Never throws: a throw would use up the platform's redeliveries, after which the alarm is dropped for good. */
    override async alarm(info?: AlarmInvocationInfo): Promise<void> {
      const isRetry = info?.isRetry === true;
      await this.#services.wrap({ kind: "alarm", name: "alarm" }, () =>
        this.#services.drain({ kind: "alarm", isRetry }),
      );
    }

    /** With a timeout it answers once the work settled: one call instead of two. */
    submit(request: ThreadRpcRequest<"submit">): Answer<"submit"> {
      return this.#invoke("submit", ThreadRpcSchemas.submit, request, async (command) => {
        const { threadId, caller, timeoutMillis, waitId } = command;
        const target = { agentId: command.request.agent };
        await this.#services.authorize({ ...caller, threadId, operation: "submit", target });
        // A caller that may not abort does not get round it by submitting.
        if (command.request.onBusy === "interrupt" && this.#services.hasThread(threadId)) {
          await this.#services.authorize({ ...caller, threadId, operation: "abort", target });
        }
        const { principal } = caller;
        const { core, beginThread } = this.#services.openForAdmission(threadId, caller);
        refuseDeleted(core, "submit");
        const admitted = admit(core, { ...command, principal, beginThread });
        this.#services.adopt(core);
        this.#goOn();
        if (timeoutMillis === 0) return admitted;
        return { ...admitted, ...(await awaitAdmitted(core, admitted, timeoutMillis, waitId)) };
      });
    }

    getThread(request: ThreadRpcRequest<"getThread">): Answer<"getThread"> {
      return this.#serve("getThread", ThreadRpcSchemas.getThread, request, readThread);
    }

    /** As it is once it settled, or after the timeout. */
    getSubmission(request: ThreadRpcRequest<"getSubmission">): Answer<"getSubmission"> {
      return this.#serve(
        "getSubmission",
        ThreadRpcSchemas.getSubmission,
        request,
        (core, { submissionId, timeoutMillis, waitId }) =>
          awaitSubmission(core, submissionId, timeoutMillis, waitId),
      );
    }

    listSubmissions(request: ThreadRpcRequest<"listSubmissions">): Answer<"listSubmissions"> {
      return this.#serve(
        "listSubmissions",
        ThreadRpcSchemas.listSubmissions,
        request,
        (core, { page }) => listSubmissions(core, page),
      );
    }

    /** Outcome, usage and failure without the output; null when it is still owed after the timeout. */
    awaitSettlement(request: ThreadRpcRequest<"awaitSettlement">): Answer<"awaitSettlement"> {
      return this.#serve(
        "awaitSettlement",
        ThreadRpcSchemas.awaitSettlement,
        request,
        async (core, asked) => {
          const settlement = await awaitSettled(core, asked);
          if (settlement === null) return null;
          const { output: _output, ...metadata } = settlement;
          return metadata;
        },
      );
    }

    /** The terminal record's content, the output included; null when it is still owed after the timeout. */
    awaitSettlementRecord(
      request: ThreadRpcRequest<"awaitSettlementRecord">,
    ): Answer<"awaitSettlementRecord"> {
      return this.#serve(
        "awaitSettlementRecord",
        ThreadRpcSchemas.awaitSettlementRecord,
        request,
        awaitSettled,
      );
    }

    readPage(request: ThreadRpcRequest<"readPage">): Answer<"readPage"> {
      return this.#serve("readPage", ThreadRpcSchemas.readPage, request, (core, { page }) =>
        readRecordPage(core.journal, page),
      );
    }

    /** Returns when a record past `after` is there, or after the timeout; the caller reads what it is. */
    awaitProgress(request: ThreadRpcRequest<"awaitProgress">): Answer<"awaitProgress"> {
      return this.#serve(
        "awaitProgress",
        ThreadRpcSchemas.awaitProgress,
        request,
        async (core, { after, waitId, timeoutMillis }) => {
          await core.waiters.waitFor("record", waitId, timeoutMillis, () => {
            refuseDeleted(core);
            return core.journal.tail().sequence > after ? true : null;
          });
          return { tail: core.journal.tail().sequence };
        },
      );
    }

    /** Events as bytes, while something runs: see `watchThread`. The Worker holds the client, and asks again (OBS-03). */
    events(request: ThreadRpcRequest<"events">): Answer<"events"> {
      return this.#serve("events", ThreadRpcSchemas.events, request, (core, asked) =>
        watchThread(core, this.#services.sharedReads(core), asked),
      );
    }

    cancelWait(request: ThreadRpcRequest<"cancelWait">): Answer<"cancelWait"> {
      return this.#serve(
        "cancelWait",
        ThreadRpcSchemas.cancelWait,
        request,
        (core, { waitId }) => ({
          cancelled: core.waiters.cancel(waitId),
        }),
      );
    }

    abort(request: ThreadRpcRequest<"abort">): Answer<"abort"> {
      return this.#serve("abort", ThreadRpcSchemas.abort, request, (core, asked) => {
        const result = abortSubmission(core, asked.caller.principal, asked);
        this.#goOn();
        return result;
      });
    }

    listOperations(request: ThreadRpcRequest<"listOperations">): Answer<"listOperations"> {
      return this.#serve("listOperations", ThreadRpcSchemas.listOperations, request, (core) => ({
        operations: listOperations(core, core.ledger.owed()),
      }));
    }

    decideOperations(request: ThreadRpcRequest<"decideOperations">): Answer<"decideOperations"> {
      return this.#serve(
        "decideOperations",
        ThreadRpcSchemas.decideOperations,
        request,
        (core, asked) => {
          const result = decideOperations(core, asked.caller.principal, asked.request);
          this.#goOn();
          return result;
        },
        ({ request: { decisions } }) => ({
          operationIds: decisions.map(({ operationId }) => operationId),
        }),
      );
    }

    explain(request: ThreadRpcRequest<"explain">): Answer<"explain"> {
      return this.#serve("explain", ThreadRpcSchemas.explain, request, explainThread);
    }

    usage(request: ThreadRpcRequest<"usage">): Answer<"usage"> {
      return this.#serve("usage", ThreadRpcSchemas.usage, request, readUsage);
    }

    /** One page of the log; the Worker asks on from its end. */
    verify(request: ThreadRpcRequest<"verify">): Answer<"verify"> {
      return this.#serve("verify", ThreadRpcSchemas.verify, request, (core, { from }) =>
        verifyLog(core, from),
      );
    }

    repair(request: ThreadRpcRequest<"repair">): Answer<"repair"> {
      return this.#serve(
        "repair",
        ThreadRpcSchemas.repair,
        request,
        (core, asked) => {
          const result = repairThread(core, asked.caller.principal, asked.request);
          this.#goOn();
          return result;
        },
        ({ request: { action, target } }) =>
          action === "retry" && target !== undefined ? { submissionId: target } : {},
      );
    }

    /** While work is owed only where it is forced. What the thread owned goes as alarm work. */
    deleteThread(request: ThreadRpcRequest<"deleteThread">): Answer<"deleteThread"> {
      const schema = ThreadRpcSchemas.deleteThread;
      return this.#serve("deleteThread", schema, request, (core, asked) => {
        const tombstone = deleteThread(core, asked.caller.principal, asked.request);
        this.#goOn();
        return tombstone;
      });
    }

    /** For the host's own Workers, over the object's binding: a source elsewhere has something for a lane (LANE-04). */
    scheduleLane(request: ScheduleLaneRequest): Promise<RpcResult<{ scheduled: boolean }>> {
      return serveRpc("scheduleLane", ScheduleLaneSchema, request, async (asked) => {
        const core = this.#services.open(asked.threadId);
        refuseDeleted(core);
        const scheduled = core.database.transact(() =>
          core.lanes.schedule(asked.laneId, asked.dueAt, asked.cursor),
        );
        this.#goOn();
        return await Promise.resolve({ scheduled });
      });
    }

    /** Decodes, opens the thread, asks the host, and only then does it. */
    #serve<Request extends Asked, Value>(
      operation: ThreadOperation,
      schema: z.ZodType<Request>,
      request: unknown,
      handle: (core: ThreadCore, asked: Request) => Value | Promise<Value>,
      targetOf: (asked: Request) => OperationRequest["target"] = ({ submissionId }) =>
        submissionId === undefined ? {} : { submissionId },
    ): Promise<RpcResult<Value>> {
      return this.#invoke(operation, schema, request, async (asked) => {
        const core = this.#services.open(asked.threadId);
        const { threadId, caller } = asked;
        const target = targetOf(asked);
        await this.#services.authorize({ ...caller, threadId, operation, target });
        refuseDeleted(core, operation);
        return await refuseDamaged(threadId, operation, () => handle(core, asked));
      });
    }

    /** Answers with data, inside the host's hook. */
    #invoke<Request, Value>(
      operation: ThreadOperation,
      schema: z.ZodType<Request>,
      request: unknown,
      handle: (asked: Request) => Promise<Value>,
    ): Promise<RpcResult<Value>> {
      return this.#services.wrap({ kind: "rpc", name: operation }, () =>
        serveRpc(operation, schema, request, handle),
      );
    }

    /** Starts the pass in this event, for latency; the alarm that was armed with the change is the guarantee (ALM-06). */
    #goOn(): void {
      this.ctx.waitUntil(this.#services.drain({ kind: "change" }));
    }
  };
}
