// Whether a command is a replay of one that was accepted, and whether a new one fits the limits. Pure.
import type { ThreadLimits } from "../thread-limits.ts";

export type ReplayDecision =
  | { readonly kind: "new" }
  | { readonly kind: "replay" }
  | { readonly kind: "conflict" };

/** The same key names the same command for ever: asked first, so that a retry gets its receipt whatever has changed since (THR-03). */
export function decideReplay(acceptedDigest: string | null, commandDigest: string): ReplayDecision {
  if (acceptedDigest === null) return { kind: "new" };
  return acceptedDigest === commandDigest ? { kind: "replay" } : { kind: "conflict" };
}

export interface LimitBreach {
  readonly limit: "maxInputBytes" | "maxQueueDepth" | "maxDatabaseBytes";
  readonly current: number;
  readonly maximum: number;
  /** THR-06: the status that the breach answers with, and whether waiting helps. */
  readonly status: 413 | 429 | 507;
  readonly retryable: boolean;
}

/** The first limit that a new submission breaks, or null. Each is checked before anything is written. */
export function findLimitBreach(
  facts: {
    readonly inputBytes: number;
    readonly queueDepth: number;
    readonly databaseBytes: number;
  },
  limits: Pick<ThreadLimits, "maxInputBytes" | "maxQueueDepth" | "maxDatabaseBytes">,
): LimitBreach | null {
  const { inputBytes, queueDepth, databaseBytes } = facts;
  if (inputBytes > limits.maxInputBytes) {
    return {
      limit: "maxInputBytes",
      current: inputBytes,
      maximum: limits.maxInputBytes,
      status: 413,
      retryable: false,
    };
  }
  if (queueDepth >= limits.maxQueueDepth) {
    return {
      limit: "maxQueueDepth",
      current: queueDepth,
      maximum: limits.maxQueueDepth,
      status: 429,
      retryable: true,
    };
  }
  if (databaseBytes >= limits.maxDatabaseBytes) {
    return {
      limit: "maxDatabaseBytes",
      current: databaseBytes,
      maximum: limits.maxDatabaseBytes,
      status: 507,
      retryable: false,
    };
  }
  return null;
}
