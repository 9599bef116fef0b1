// What kind of refusal a provider's error is, from its codes and words: the ones that calling again cannot help. Pure; nothing of the text is
// kept.

export type Refusal = "content-filter" | "context-overflow" | "quota";

/** By the codes and sentences that the named providers use; the first that fits counts. */
const REFUSALS: readonly { readonly refusal: Refusal; readonly says: RegExp }[] = [
  {
    refusal: "context-overflow",
    says: /context_length_exceeded|maximum context length|exceed(?:s|ed)? (?:the |its |this )?(?:model )?(?:maximum )?context (?:length|window|limit)|prompt is too long|input is too long|(?:input )?token count.{0,40}exceeds|too many (?:input |total )?tokens|request too large for model/i,
  },
  {
    refusal: "content-filter",
    says: /content_policy_violation|content_filter|content management policy|ResponsibleAIPolicyViolation|invalid_prompt|output blocked by content filtering/i,
  },
  {
    refusal: "quota",
    says: /insufficient_quota|billing_hard_limit_reached|credit balance is too low|exceeded your current quota/i,
  },
];

/** What is looked through of each text: an error says what it is at its beginning. */
const MAX_CHARACTERS = 4_096;

export function readRefusal(texts: readonly unknown[]): Refusal | null {
  const all = texts.map(toText).join("\n");
  return REFUSALS.find(({ says }) => says.test(all))?.refusal ?? null;
}

/** Total: what a provider sends, and what a client makes of it, may be anything. */
function toText(value: unknown): string {
  if (typeof value === "string") return value.slice(0, MAX_CHARACTERS);
  try {
    return (JSON.stringify(value) ?? "").slice(0, MAX_CHARACTERS);
  } catch {
    // A circle, or a getter that threw: there is nothing to read.
    return "";
  }
}
