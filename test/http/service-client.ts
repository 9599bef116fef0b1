// Calls of HoldfastService as another Worker's binding makes them: with whatever the binding says of the caller, and a right request for
// every operation.
import { exports } from "cloudflare:workers";
import { z } from "zod";
import { RequestSchemas, type ThreadOperation } from "../../shared/wire/requests.ts";
import { WireErrorSchema } from "../../shared/errors/holdfast-error.ts";
import type { ServiceRpc } from "../../shared/wire/entrypoint.ts";
import { NO_OPERATION } from "./routes.ts";

/** The entrypoint, bound with these `props`. */
export function serviceFor(props: unknown): ServiceRpc {
  const entrypoint = z
    .custom<(options: { props: unknown }) => ServiceRpc>((value) => typeof value === "function")
    .parse(Reflect.get(exports, "HoldfastService"));
  return entrypoint({ props });
}

export const SERVICE_OPERATIONS = z
  .array(z.custom<ThreadOperation>((name) => typeof name === "string" && name in RequestSchemas))
  .parse(Object.keys(RequestSchemas));

interface Named {
  readonly threadId: string;
  readonly submissionId: string;
  readonly operationId?: string;
}

/** A right request of the operation about what is named. */
export function rightCall(
  operation: ThreadOperation,
  { threadId, submissionId, operationId = NO_OPERATION }: Named,
): Readonly<Record<string, unknown>> {
  switch (operation) {
    case "submit":
      return {
        threadId,
        idempotencyKey: "right-key",
        request: { agent: "plain", input: { plan: [{ text: "ok" }] } },
      };
    case "getThread":
    case "listSubmissions":
    case "readPage":
    case "listOperations":
    case "explain":
    case "usage":
    case "verify":
    case "deleteThread":
      return { threadId };
    case "getSubmission":
    case "awaitSettlement":
    case "awaitSettlementRecord":
    case "abort":
      return { threadId, submissionId };
    case "awaitProgress":
      return { threadId, after: 0 };
    case "events":
      return { threadId, submissionId };
    case "cancelWait":
      return { threadId, waitId: "a-wait" };
    case "decideOperations":
      return {
        threadId,
        request: { decisions: [{ operationId, decision: "approve", reason: "as tested" }] },
      };
    case "repair":
      return { threadId, request: { action: "retry", target: submissionId, reason: "as tested" } };
  }
}

export const RefusalSchema = z.object({ ok: z.literal(false), error: WireErrorSchema });

/** Calls the operation by its name, with any request, and reads what comes back: a stream of events as its text. */
export async function callService(
  service: ServiceRpc,
  operation: ThreadOperation,
  request: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const method = z
    .custom<(request: unknown) => Promise<unknown>>((value) => typeof value === "function")
    .parse(Reflect.get(service, operation));
  const result = await Reflect.apply(method, service, [request]);
  const streamed = z
    .object({
      ok: z.literal(true),
      value: z.custom<ReadableStream<Uint8Array>>((value) => value instanceof ReadableStream),
    })
    .safeParse(result);
  return streamed.success
    ? { ok: true, value: await new Response(streamed.data.value).text() }
    : result;
}
