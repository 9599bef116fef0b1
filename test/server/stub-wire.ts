// What a deployment under test sends to the stub, and what the stub process and the orchestrator tell each other over the child process
// channel. Imports nothing of a platform.
import { z } from "zod";

/** The body of every call to the stub: for whom, and which of its calls. */
export const StubCallSchema = z.strictObject({
  job: z.string().min(1),
  step: z.string().min(1).max(64),
});
export type StubCall = z.infer<typeof StubCallSchema>;

/** A call reached the stub. It is answered when the orchestrator says so. */
export const ArrivalSchema = z.object({
  kind: z.literal("arrived"),
  id: z.int(),
  /** Which start of the server sent it. */
  generation: z.int(),
  job: z.string(),
  step: z.string(),
  operationId: z.string().nullable(),
});
export type Arrival = z.infer<typeof ArrivalSchema>;

/** How often tool calls with this operation id arrived. */
export const ExecutionSchema = z.object({
  operationId: z.string(),
  step: z.string(),
  count: z.int(),
});
export type Execution = z.infer<typeof ExecutionSchema>;

export const FromStubSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("listening"), port: z.int() }),
  ArrivalSchema,
  z.object({ kind: z.literal("executions"), ask: z.int(), executions: z.array(ExecutionSchema) }),
]);
export type FromStub = z.infer<typeof FromStubSchema>;

export const ToStubSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("reply"), id: z.int() }),
  /** Of one operation, or of all. */
  z.object({ kind: z.literal("ask"), ask: z.int(), operationId: z.string().nullable() }),
]);
export type ToStub = z.infer<typeof ToStubSchema>;
