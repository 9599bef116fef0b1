// Accounts as a row stores them: the counts alone, in a fixed order. Their names are most of a short turn's bytes, and a page of the database
// holds three such turns instead of two (PERF-07). Pure.
import type { RecordDraft } from "../../../shared/wire/records.ts";
import { RUN_USAGE_FIELDS, TOKEN_FIELDS } from "../../../shared/wire/usage.ts";

/** What of a payload goes into a row. */
export function packPayload(draft: RecordDraft): unknown {
  switch (draft.type) {
    case "ModelResponded":
    case "ModelCallFailed": {
      const { usage } = draft.payload;
      return { ...draft.payload, usage: TOKEN_FIELDS.map((field) => usage[field]) };
    }
    case "SubmissionSettled": {
      const { usage } = draft.payload;
      return { ...draft.payload, usage: RUN_USAGE_FIELDS.map((field) => usage[field]) };
    }
    default:
      return draft.payload;
  }
}

/** The payload as its schema knows it. Total: what is no packed payload is left as it is, for the schema to refuse. */
export function unpackPayload(type: string, payload: unknown): unknown {
  if (typeof payload !== "object" || payload === null || !("usage" in payload)) return payload;
  const { usage } = payload;
  if (!Array.isArray(usage)) return payload;
  const fields = type === "SubmissionSettled" ? RUN_USAGE_FIELDS : TOKEN_FIELDS;
  const counts: readonly unknown[] = usage;
  // A list of another length is not this account.
  if (counts.length !== fields.length) return { ...payload, usage: null };
  const named = Object.fromEntries(fields.map((field, place) => [field, counts[place]]));
  return { ...payload, usage: named };
}
