// How many tokens a model call takes before it is made. A rule of thumb that needs no tokenizer: exact counts come with the response. Pure.

/** The usual rule of thumb for English and code (CTX-36). */
const CHARACTERS_PER_TOKEN = 4;

/** Of whatever a request holds as JSON: messages, tool schemas, an output schema. */
export function estimateTokens(value: unknown): number {
  return Math.ceil((JSON.stringify(value) ?? "").length / CHARACTERS_PER_TOKEN);
}
