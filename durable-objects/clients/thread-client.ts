// Typed calls to thread objects. The tenant is part of the object's name, so that no id a caller chooses can reach another tenant's.
import type { Caller } from "../../shared/wire/access.ts";
import type { AnswerOf } from "../../shared/wire/answers.ts";
import { waitMillisOf, type RequestOf, type ThreadOperation } from "../../shared/wire/requests.ts";
import { objectNameOf, type PlacementOptions } from "../platform/placement.ts";
import { callRpc } from "../platform/call-rpc.ts";
import type { ThreadRpc } from "../../shared/wire/thread-rpc.ts";

/** The binding of the thread objects, as far as it is used. */
export interface ThreadNamespace {
  getByName(name: string): ThreadRpc;
}

export class ThreadClient {
  readonly #namespace: ThreadNamespace;
  readonly #caller: Caller;
  readonly #placement: PlacementOptions;

  constructor(namespace: ThreadNamespace, caller: Caller, placement: PlacementOptions = {}) {
    this.#placement = placement;
    this.#namespace = namespace;
    this.#caller = caller;
  }

  /** Throws what the object answers as an error, and `Unavailable`, `Overloaded` or `DeadlineExceeded` when it does not answer. */
  call<Operation extends ThreadOperation>(
    operation: Operation,
    request: RequestOf<Operation>,
  ): Promise<AnswerOf<Operation>> {
    const name = objectNameOf(this.#caller.tenant, request.threadId, this.#placement);
    return callRpc(
      () => this.#namespace.getByName(name),
      (stub) => stub[operation]({ ...request, caller: this.#caller }),
      waitMillisOf(request),
    );
  }
}
