// How long a provider asks to be left alone, from its refusal. Pure.
import { MAX_RETRY_AFTER_MILLIS } from "../../shared/limits.ts";

/**
 * Milliseconds, 0 where nothing readable is said. `retry-after-ms` is what OpenAI and Anthropic send beside the standard's header (RFC 9110,
 * 10.2.3), which is in seconds or a date; a date counts from the answer's own, so that two clocks need not agree. Google says it in the body.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, string>> | undefined,
  body = "",
): number {
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  const exact = readCount(headers?.["retry-after-ms"], 1);
  const text = headers?.["retry-after"];
  const asked =
    exact ??
    readCount(text, 1_000) ??
    readCount(delay, 1_000) ??
    Date.parse(text ?? "") - Date.parse(headers?.["date"] ?? "");
  return Number.isFinite(asked)
    ? Math.min(Math.max(Math.ceil(asked), 0), MAX_RETRY_AFTER_MILLIS)
    : 0;
}

function readCount(text: string | undefined, unitMillis: number): number | null {
  return text !== undefined && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * unitMillis : null;
}
