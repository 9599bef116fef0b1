// Calls over a service binding. A caller that goes away ends the wait that it asked for on the other side (API-04).
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { AnswerOf } from "../wire/answers.ts";
import { waitMillisOf, type RequestOf } from "../wire/requests.ts";
import { unwrap, type RpcResult } from "../wire/rpc.ts";
import type { ServiceRpc } from "../wire/entrypoint.ts";
import { abandonable } from "./abandonable.ts";
import type { ClientOperation, Transport } from "./transport.ts";

export interface RpcOptions {
  /** A service binding of the deployment's `HoldfastService`. */
  readonly binding: ServiceRpc;
}

/** Throws `InvalidDefinition` where there is no binding. */
export function rpcTransport({ binding }: RpcOptions): Transport {
  if (typeof binding !== "object" && typeof binding !== "function") {
    throw new HoldfastError(
      "InvalidDefinition",
      "holdfastClient: binding: there is none; bind `HoldfastService` as an `entrypoint` under `services` of the Worker's configuration",
    );
  }
  return {
    call(operation, request, signal) {
      if (waitMillisOf(request) > 0) return cancellable(binding, operation, request, signal);
      return abandonable(signal, () => settle(() => send(binding, operation, request)));
    },
    agents(signal) {
      return abandonable(signal, () => settle(() => binding.agents()));
    },
  };
}

/** One look-up in the interface, called with its own request. */
function send<Operation extends ClientOperation>(
  binding: ServiceRpc,
  operation: Operation,
  request: RequestOf<Operation>,
): Promise<RpcResult<AnswerOf<Operation>>> {
  const methods: {
    readonly [Each in ClientOperation]: (
      request: RequestOf<Each>,
    ) => Promise<RpcResult<AnswerOf<Each>>>;
  } = binding;
  return methods[operation](request);
}

async function cancellable<Operation extends ClientOperation>(
  binding: ServiceRpc,
  operation: Operation,
  request: RequestOf<Operation>,
  signal: AbortSignal,
): Promise<AnswerOf<Operation>> {
  signal.throwIfAborted();
  const waitId = crypto.randomUUID();
  const cancel = (): void => {
    // Best effort: a wait that is not cancelled ends by its timeout.
    const cancelled = settle(() => binding.cancelWait({ threadId: request.threadId, waitId }));
    void cancelled.catch(() => undefined);
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await abandonable(signal, () =>
      settle(() => send(binding, operation, { ...request, waitId })),
    );
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** The value, or the error that the other side sent; a binding that breaks off says nothing of what became of the request. */
async function settle<T>(ask: () => Promise<RpcResult<T>>): Promise<T> {
  let result: RpcResult<T>;
  try {
    result = await ask();
  } catch (cause) {
    throw new HoldfastError("Unavailable", "The service binding broke off the call.", {
      cause,
      fields: { outcome: "unknown" },
    });
  }
  return unwrap(result);
}
