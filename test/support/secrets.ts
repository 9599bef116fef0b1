// What must never be told: the secrets that the tests plant, and the text that callers send. Read by the tests, by their recorder, and, as
// the source of one expression, by the tail worker.

/** Each is planted somewhere: in the configuration, in what a provider says, or in what an author's code throws. */
export const PLANTED_SECRETS = [
  "holdfast-dev",
  // SHA-256 of it, which the configuration holds.
  "efa09fd8a1c9d99607ea6934a09fd2bc964648a53f0fc3909d95d353830f5ee5",
  "provider secret body",
  "secret inside an unknown error",
  "secret of the author's",
] as const;

/** The key that the input of every scripted agent has, as JSON, or as JSON within JSON however deep. */
const CONTENT = String.raw`\\*"plan\\*"`;

export const SECRET_PATTERN = PLANTED_SECRETS.join("|");
/** For logs and traces, which hold no content either (TRC-01). */
export const SECRET_OR_CONTENT_PATTERN = `${SECRET_PATTERN}|${CONTENT}`;
