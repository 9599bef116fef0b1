// What a check of a thread's log found (REC-09). Content-free: it names sequences and digests, never what records hold.
import { z } from "zod";

/** A place in the chain: the digest covers every row up to `sequence`. */
export const ChainPointSchema = z.strictObject({
  sequence: z.int().nonnegative(),
  digest: z.string().regex(/^[0-9a-f]{64}$/, { message: "64 digits, lower-case hex" }),
});
export type ChainPoint = z.infer<typeof ChainPointSchema>;

/** Before the first record: 64 zeros. */
export const CHAIN_START: ChainPoint = { sequence: 0, digest: "0".repeat(64) };

/**
 * `gap`: the record is not there. `digest`: the row that begins with it is not the one that was written. `schema`: it was written so, and
 * does not decode.
 */
export const LOG_PROBLEMS = ["gap", "digest", "schema"] as const;
export const LogFaultSchema = z.object({
  sequence: z.int().positive(),
  problem: z.enum(LOG_PROBLEMS),
});
export type LogFault = z.infer<typeof LogFaultSchema>;

export const VerificationSchema = z
  .object({
    threadId: z.string(),
    /** The log's last sequence. */
    tail: z.int().nonnegative(),
    /** The last place that is right: a later check may go on from it. */
    verified: ChainPointSchema,
    /** The first that is wrong; null where everything up to `verified` is right. */
    fault: LogFaultSchema.nullable(),
  })
  .meta({ id: "Verification" });
export type Verification = z.infer<typeof VerificationSchema>;
