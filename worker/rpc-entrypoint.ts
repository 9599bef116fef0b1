// The entrypoint that other Workers bind to. Who calls is in the binding's `props`, which only the deployment's own configuration can set.
import { WorkerEntrypoint } from "cloudflare:workers";
import { z } from "zod";
import { serveRpc } from "../durable-objects/platform/serve-rpc.ts";
import { HoldfastError, schemaFaultsOf } from "../shared/errors/holdfast-error.ts";
import { CallerSchema, type Caller } from "../shared/wire/access.ts";
import type { AgentList } from "../shared/wire/agent-view.ts";
import type { AnswerOf } from "../shared/wire/answers.ts";
import { RequestSchemas, type RequestOf, type ThreadOperation } from "../shared/wire/requests.ts";
import type { RpcResult } from "../shared/wire/rpc.ts";
import type { ServiceRpc } from "../shared/wire/entrypoint.ts";
import { limitRate } from "./auth/limit-rate.ts";
import type { Deployment } from "./deployment-options.ts";
import { parseEnv } from "./env.ts";
import { ThreadOperations } from "./operations/thread-operations.ts";

type Answer<Operation extends ThreadOperation> = Promise<RpcResult<AnswerOf<Operation>>>;

/** The schema of an operation, tied to its request: one look-up in the table cannot say so itself. */
function requestSchemaOf<Operation extends ThreadOperation>(
  operation: Operation,
): z.ZodType<RequestOf<Operation>> {
  const schemas: { readonly [Each in ThreadOperation]: z.ZodType<RequestOf<Each>> } =
    RequestSchemas;
  return schemas[operation];
}

/** What the factory makes. Named, so that a package's declarations can say it. */
export type HoldfastServiceClass = new (
  ctx: ExecutionContext,
  env: Cloudflare.Env,
) => WorkerEntrypoint<Cloudflare.Env, unknown> & ServiceRpc;

/** The class for one deployment. Every method answers with data, never with a throw. */
export function serviceClass(deployment: Deployment): HoldfastServiceClass {
  return class HoldfastService
    extends WorkerEntrypoint<Cloudflare.Env, unknown>
    implements ServiceRpc
  {
    submit(request: RequestOf<"submit">): Answer<"submit"> {
      return this.#serve("submit", request);
    }

    getThread(request: RequestOf<"getThread">): Answer<"getThread"> {
      return this.#serve("getThread", request);
    }

    getSubmission(request: RequestOf<"getSubmission">): Answer<"getSubmission"> {
      return this.#serve("getSubmission", request);
    }

    listSubmissions(request: RequestOf<"listSubmissions">): Answer<"listSubmissions"> {
      return this.#serve("listSubmissions", request);
    }

    awaitSettlement(request: RequestOf<"awaitSettlement">): Answer<"awaitSettlement"> {
      return this.#serve("awaitSettlement", request);
    }

    awaitSettlementRecord(
      request: RequestOf<"awaitSettlementRecord">,
    ): Answer<"awaitSettlementRecord"> {
      return this.#serve("awaitSettlementRecord", request);
    }

    readPage(request: RequestOf<"readPage">): Answer<"readPage"> {
      return this.#serve("readPage", request);
    }

    awaitProgress(request: RequestOf<"awaitProgress">): Answer<"awaitProgress"> {
      return this.#serve("awaitProgress", request);
    }

    /** Server-sent events as bytes, the same that HTTP streams. */
    events(request: RequestOf<"events">): Answer<"events"> {
      return serveRpc("events", RequestSchemas.events, request, async (asked) =>
        (await this.#operations()).events(asked, (work) => this.ctx.waitUntil(work)),
      );
    }

    cancelWait(request: RequestOf<"cancelWait">): Answer<"cancelWait"> {
      return this.#serve("cancelWait", request);
    }

    abort(request: RequestOf<"abort">): Answer<"abort"> {
      return this.#serve("abort", request);
    }

    listOperations(request: RequestOf<"listOperations">): Answer<"listOperations"> {
      return this.#serve("listOperations", request);
    }

    decideOperations(request: RequestOf<"decideOperations">): Answer<"decideOperations"> {
      return this.#serve("decideOperations", request);
    }

    explain(request: RequestOf<"explain">): Answer<"explain"> {
      return this.#serve("explain", request);
    }

    usage(request: RequestOf<"usage">): Answer<"usage"> {
      return this.#serve("usage", request);
    }

    verify(request: RequestOf<"verify">): Answer<"verify"> {
      return serveRpc("verify", RequestSchemas.verify, request, async (asked) =>
        (await this.#operations()).verify(asked),
      );
    }

    repair(request: RequestOf<"repair">): Answer<"repair"> {
      return this.#serve("repair", request);
    }

    deleteThread(request: RequestOf<"deleteThread">): Answer<"deleteThread"> {
      return this.#serve("deleteThread", request);
    }

    agents(): Promise<RpcResult<AgentList>> {
      return serveRpc("agents", z.strictObject({}), {}, async () => {
        await this.#operations();
        return { agents: deployment.agentsOf(this.env) };
      });
    }

    #serve<Operation extends ThreadOperation>(
      operation: Operation,
      request: RequestOf<Operation>,
    ): Answer<Operation> {
      return serveRpc(operation, requestSchemaOf(operation), request, async (asked) =>
        (await this.#operations()).call(operation, asked),
      );
    }

    async #operations(): Promise<ThreadOperations> {
      const env = parseEnv(this.env);
      const caller = this.#caller();
      await limitRate(env, caller);
      return new ThreadOperations(env, caller, deployment.optionsOf(this.env));
    }

    #caller(): Caller {
      const props = CallerSchema.safeParse(this.ctx.props);
      if (props.success) return props.data;
      throw new HoldfastError(
        "Unauthenticated",
        "The service binding names no caller: give it `props` with tenant, principal and permissions.",
        { errors: schemaFaultsOf(props.error, "/props") },
      );
    }
  };
}
