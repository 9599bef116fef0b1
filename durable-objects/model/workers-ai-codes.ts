// Errors of the Workers AI binding, and of AI Gateway behind it, that reach us as a number in a text. Source: the lists of error codes in
// Cloudflare's documentation of both. Pure.
import type { Refusal } from "./read-refusal.ts";

export type CodeMeaning = "transient" | "credential" | Refusal;

const MEANINGS: ReadonlyMap<number, CodeMeaning> = new Map<number, CodeMeaning>([
  [2003, "transient"], // rate limited by the gateway
  [3007, "transient"], // timed out
  [3008, "transient"], // aborted
  [3040, "transient"], // out of capacity
  [3043, "transient"], // internal error
  [2009, "credential"],
  [2016, "content-filter"], // the gateway's guardrails: the prompt
  [2017, "content-filter"], // the answer
  [3036, "quota"], // the day's free allocation is used up
  [5021, "context-overflow"],
]);

/** What the number says that such a text begins with, or holds as its code; null where there is none that we know. */
export function readWorkersAiCode(text: string): CodeMeaning | null {
  const found =
    /^\s*(?:\w+:\s*)?(\d{3,4}):/.exec(text)?.[1] ?? /"code"\s*:\s*(\d{3,4})\b/.exec(text)?.[1];
  if (found === undefined) return null;
  const code = Number(found);
  if (code === 401 || code === 403) return "credential";
  return code === 429 || (code >= 500 && code < 600) ? "transient" : (MEANINGS.get(code) ?? null);
}
