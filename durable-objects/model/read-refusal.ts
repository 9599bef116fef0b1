// What kind of refusal a provider's error is, from its codes and words: the ones that calling again cannot help. Pure; nothing of the text is
// kept.

export type Refusal = "content-filter" | "context-overflow" | "quota";

type Signs = readonly { readonly refusal: Refusal; readonly says: RegExp }[];

/** Codes mean what they say under any status. */
const CODES: Signs = [
  {
    refusal: "context-overflow",
    says: /"(?:code|type)"\s*:\s*"(?:context_length_exceeded|exceed_context_size_error|request_too_large)"/,
  },
  {
    refusal: "content-filter",
    says: /"(?:code|type)"\s*:\s*"(?:content_policy_violation|content_filter|ResponsibleAIPolicyViolation|invalid_prompt)"/,
  },
  {
    refusal: "quota",
    says: /"(?:code|type)"\s*:\s*"(?:insufficient_quota|billing_hard_limit_reached)"|"quotaId"\s*:\s*"[^"]{0,200}PerDay|"workersAIErrorCode"\s*:\s*3036\b/,
  },
];

/** Sentences of the named providers and servers; a busy one says some of them too, so they count where it blames the request alone. */
const SENTENCES: Signs = [
  {
    refusal: "context-overflow",
    says: /maximum context length|exceed(?:s|ed)? (?:the |its |this |your )?(?:available |maximum )?(?:model )?context (?:length|window|limit|size)|prompt is too long|input is too long|token count.{0,40}exceeds|maximum model length|maximum prompt length is|context the overflows/i,
  },
  {
    refusal: "content-filter",
    says: /content management policy|blocked by content filtering|flagged as potentially violating/i,
  },
  {
    refusal: "quota",
    says: /credit balance is too low|specified API usage limits|insufficient balance|daily free allocation/i,
  },
];

/** What is looked through of each text: an error says what it is at its beginning. */
const MAX_CHARACTERS = 4_096;

/** Statuses with which a provider blames the request, or the account; without one it is a binding's or a stream's error. */
const BLAMING: ReadonlySet<number | null> = new Set([null, 400, 402, 403, 413, 422]);

export function readRefusal(texts: readonly unknown[], status: number | null): Refusal | null {
  const all = texts.map(toText).join("\n");
  const signs = BLAMING.has(status) ? [...CODES, ...SENTENCES] : CODES;
  const found = signs.find(({ says }) => says.test(all))?.refusal ?? null;
  return found ?? (status === 402 ? "quota" : null);
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
