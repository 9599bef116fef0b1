// What a caller may do with threads, free of transport: permission first, then the object. Routes and RPC methods both come through here.
import { ThreadClient } from "../../durable-objects/clients/thread-client.ts";
import type { PlacementOptions } from "../../durable-objects/platform/placement.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { MAX_PAGE_RECORDS } from "../../shared/limits.ts";
import {
  API_OPERATIONS,
  isGranted,
  permissionOfDecision,
  type Caller,
  type Permission,
} from "../../shared/wire/access.ts";
import type { AnswerOf } from "../../shared/wire/answers.ts";
import { waitMillisOf, type RequestOf, type ThreadOperation } from "../../shared/wire/requests.ts";
import type { Verification } from "../../shared/wire/verification.ts";
import { relayEvents } from "../events/relay-events.ts";
import { exportLog } from "./export-log.ts";
import type { WorkerEnv } from "../env.ts";

export class ThreadOperations {
  readonly #client: ThreadClient;
  readonly #caller: Caller;

  constructor(env: WorkerEnv, caller: Caller, placement: PlacementOptions = {}) {
    this.#client = new ThreadClient(env.THREADS, caller, placement);
    this.#caller = caller;
  }

  /** Throws `PermissionMissing` that names the permission, or what the object answers. */
  async call<Operation extends ThreadOperation>(
    operation: Operation,
    request: RequestOf<Operation>,
  ): Promise<AnswerOf<Operation>> {
    for (const permission of permissionsOf(operation, request)) this.#require(permission);
    return this.#client.call(operation, request);
  }

  /**
   * The events of a thread over as many calls of its object as it takes (OBS-03). Throws like `call`, before the first event.
   * @param finish keeps the request going for this work although its client is gone: with the client the platform drops all else
   */
  events(
    request: RequestOf<"events">,
    finish: (work: Promise<unknown>) => void,
  ): Promise<ReadableStream<Uint8Array>> {
    const { threadId } = request;
    return relayEvents(request, {
      watch: (after) => this.call("events", { ...request, after }),
      awaitProgress: (wait) => this.call("awaitProgress", { threadId, ...wait }),
      cancelWait: async (waitId) => {
        const cancelled = this.call("cancelWait", { threadId, waitId });
        finish(cancelled.catch(() => undefined));
        await cancelled;
      },
    });
  }

  /** The whole log, page by page, each in a call of its own: as far as it went when it was first asked (REC-09). Throws like `call`. */
  async verify(request: RequestOf<"verify">): Promise<Verification> {
    const first = await this.call("verify", request);
    let checked = first;
    while (checked.fault === null && checked.verified.sequence < first.tail) {
      checked = await this.call("verify", { ...request, from: checked.verified });
    }
    return checked;
  }

  /** The records past `after` as lines of JSON (OBS-05). Throws like `call`, before the first line. */
  exportLog(threadId: string, after: number): Promise<ReadableStream<Uint8Array>> {
    this.#require(API_OPERATIONS.export);
    const limit = MAX_PAGE_RECORDS;
    return exportLog(after, (next) =>
      this.call("readPage", { threadId, page: { after: next, limit } }),
    );
  }

  #require(permission: Permission): void {
    if (isGranted(this.#caller.permissions, permission)) return;
    throw new HoldfastError("PermissionMissing", `This needs the permission ${permission}.`, {
      fields: { permission },
    });
  }
}

/** Every permission that a request asks for, known before anything is done. */
function permissionsOf(
  operation: ThreadOperation,
  request: RequestOf<ThreadOperation>,
): Permission[] {
  const permission = API_OPERATIONS[operation];
  const asked: Permission[] = permission === null ? [] : [permission];
  // Each decision of a batch asks for its own.
  if (isDecideRequest(request)) {
    for (const { decision } of request.request.decisions)
      asked.push(permissionOfDecision(decision));
  }
  if (isForced(request)) asked.push("threads:operate");
  // Waiting for the outcome reads the thread.
  if (operation === "submit" && waitMillisOf(request) > 0) asked.push("threads:read");
  return asked;
}

function isForced(request: RequestOf<ThreadOperation>): boolean {
  return "request" in request && request.request !== undefined && "force" in request.request
    ? request.request.force === true
    : false;
}

function isDecideRequest(
  request: RequestOf<ThreadOperation>,
): request is RequestOf<"decideOperations"> {
  return "request" in request && request.request !== undefined && "decisions" in request.request;
}
