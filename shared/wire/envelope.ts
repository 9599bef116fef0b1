// What every record carries beside its payload.
import { z } from "zod";

/** Raised with every change of a stored payload's shape; one line of history per change.
 *  1: the first release. */
export const RECORD_SCHEMA_VERSION = 1;

export const EnvelopeSchema = z.object({
  sequence: z.int().positive(),
  recordId: z.string(),
  schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
  createdAt: z.iso.datetime(),
  deploymentId: z.string(),
});
export const OfSubmissionSchema = EnvelopeSchema.extend({ submissionId: z.string() });
export const OfRunSchema = OfSubmissionSchema.extend({ runId: z.string() });
export const OfTurnSchema = OfRunSchema.extend({ turn: z.int().positive() });
