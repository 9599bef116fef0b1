// Calls over a service binding. A caller that goes away ends the wait that it asked for on the other side (API-04).
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { AnswerOf } from "../wire/answers.ts";
import type { RequestOf } from "../wire/requests.ts";
import { unwrap, type RpcResult } from "../wire/rpc.ts";
import type { ServiceRpc } from "../wire/service.ts";
import type { ClientOperation, Transport } from "./transport.ts";

export interface RpcOptions {
  /** A service binding of the deployment's `HoldfastService`. */
  readonly binding: ServiceRpc;
}

export function rpcTransport({ binding }: RpcOptions): Transport {
  return {
    call(operation, request, signal) {
      return signal === undefined
        ? settle(send(binding, operation, request))
        : cancellable(binding, operation, request, signal);
    },
    async agents(signal) {
      return abandonable(settle(binding.agents()), signal);
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
  const waits = "timeoutMillis" in request && (request.timeoutMillis ?? 0) > 0;
  if (!waits) return abandonable(settle(send(binding, operation, request)), signal);
  const waitId = crypto.randomUUID();
  const cancel = (): void => {
    // Best effort: a wait that is not cancelled ends by its timeout.
    void binding.cancelWait({ threadId: request.threadId, waitId }).catch(() => undefined);
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await abandonable(settle(send(binding, operation, { ...request, waitId })), signal);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** Answers as soon as the caller gave up, whatever the other side still does. */
async function abandonable<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([answer, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
    void answer.catch(() => undefined);
  }
}

/** The value, or the error that the other side sent; a binding that breaks off says nothing of what became of the request. */
async function settle<T>(answer: Promise<RpcResult<T>>): Promise<T> {
  let result: RpcResult<T>;
  try {
    result = await answer;
  } catch (cause) {
    throw new HoldfastError("Unavailable", "The service binding broke off the call.", {
      cause,
      fields: { outcome: "unknown" },
    });
  }
  return unwrap(result);
}
