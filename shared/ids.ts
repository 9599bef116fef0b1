// Identifiers: which texts are accepted, and how ids are derived so that a crash can never mint a second one for the same thing.
import { z } from "zod";

/** THR-12. */
export const ThreadIdSchema = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,128}$/, {
  // "." and ".." alone are path segments that a URL loses.
  message: "a thread id is 1 to 128 characters of A-Z a-z 0-9 . _ ~ : - and not . or .. alone",
});

/** THR-12: agent and submission ids, idempotency keys. */
export const PrintableIdSchema = z.string().regex(/^[\x21-\x7e]{1,256}$/, {
  message: "1 to 256 printable ASCII characters without spaces",
});

/** The host's name for who acts: 1 to 256 characters without controls (spec glossary). Half a surrogate pair is none: storage would give
 * all of them the same name. */
export const PrincipalSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, { message: "no control characters and no half of a character" });

/** Randomness as a port: the runtime draws ids and jitter from here only. */
export interface IdSource {
  /** 16 characters of [a-z2-7], 80 bits. Contract: unpredictable, so that ids cannot be guessed across threads. */
  token(): string;
  /** A number in [0, 1), for jitter. */
  random(): number;
}

/**
 * A submission's id carries its queue sequence, so that it resolves to its row by primary key and needs no index, and a random token,
 * so that an id of another thread never names a row of this one.
 */
export function submissionIdOf(queueSequence: number, token: string): string {
  return `sub-${queueSequence}-${token}`;
}

/** The queue sequence inside a submission id, or null when the text is not one of ours. */
export function queueSequenceOf(submissionId: string): number | null {
  const digits = /^sub-([1-9]\d{0,9})-[a-z2-7]{16}$/.exec(submissionId)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** run = f(submission). */
export function runIdOf(submissionId: string): string {
  return `run-${submissionId.slice("sub-".length)}`;
}

/** The submission whose run it is. */
export function submissionIdOfRun(runId: string): string {
  return `sub-${runId.slice("run-".length)}`;
}

/** operation = f(run, turn, call index). Stable over attempts, hence also the tool's idempotency key. */
export function operationIdOf(runId: string, turn: number, callIndex: number): string {
  return `${runId}.t${turn}.c${callIndex}`;
}

/** What an operation id names: the call, its submission, and which loss of that call it is about. */
export interface OperationName {
  readonly submissionId: string;
  /** The call's own id, without the loss. */
  readonly callId: string;
  /** 1, or the dispatch whose outcome became unknown after a decision had let the call run again. */
  readonly dispatch: number;
}

/** The id of an unknown outcome. A second loss of the same call is another operation, so that a late repeat of the first decision cannot
 * run the call again. */
export function unknownOperationIdOf(callId: string, dispatch: number): string {
  return dispatch <= 1 ? callId : `${callId}.d${dispatch}`;
}

/** Reads an operation id, or null when the text is not one. */
export function parseOperationId(operationId: string): OperationName | null {
  const match =
    /^(run-([1-9]\d{0,9}-[a-z2-7]{16})\.t[1-9]\d{0,5}\.c(?:0|[1-9]\d{0,3}))(?:\.d([2-9]|[1-9]\d{1,4}))?$/.exec(
      operationId,
    );
  const [, callId, run, dispatch] = match ?? [];
  if (callId === undefined || run === undefined) return null;
  return { submissionId: `sub-${run}`, callId, dispatch: Number(dispatch ?? 1) };
}
