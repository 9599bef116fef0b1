// A recovery fault as an object keeps it, and as a host hears of it (REC-04, REC-05).
import { z } from "zod";

/** Why nothing of the thread can be taken up. `diagnostic` names places and never content. */
export const FaultFailureSchema = z.object({
  class: z.enum(["log-unreadable", "payload-unreadable"]),
  diagnostic: z.string().max(256),
});
export type FaultFailure = z.infer<typeof FaultFailureSchema>;

/** What callers see of it. */
export const FaultViewSchema = FaultFailureSchema.extend({
  failedAt: z.iso.datetime(),
  attempts: z.int().positive(),
  /** The next try. New submissions do not bring it forward. */
  retryAt: z.iso.datetime(),
}).meta({ id: "RecoveryFault" });
export type FaultView = z.infer<typeof FaultViewSchema>;

export const FaultSchema = FaultViewSchema.extend({
  /** When its class or diagnostic last changed. */
  changedAt: z.iso.datetime(),
  /** Submissions that it keeps, or has kept, waiting. */
  affected: z.array(z.string()),
  /** A handler of the host was there to be told. */
  isAnnounced: z.boolean(),
});
export type Fault = z.infer<typeof FaultSchema>;

export const RecoveryEventSchema = z.object({
  /** Contiguous in its thread's object: a repeat has the same number. */
  sequence: z.int().positive(),
  threadId: z.string(),
  submissionId: z.string(),
  transition: z.enum(["created", "changed", "cleared"]),
  failure: FaultFailureSchema,
  /** When the fault first came, and when this happened. */
  failedAt: z.iso.datetime(),
  at: z.iso.datetime(),
});
export type RecoveryEvent = z.infer<typeof RecoveryEventSchema>;
