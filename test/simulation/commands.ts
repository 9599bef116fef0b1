// What a simulated world does to one thread, as data: it prints as it is, and can be carried out again.
import type { Failpoint } from "../../shared/failpoints.ts";
import type { DecisionKind } from "../../shared/wire/operations.ts";
import type { OnBusy } from "../../shared/wire/submission.ts";
import type { CrashMode } from "../support/world.ts";
import type { ScriptName } from "./scripts.ts";

/** What callers ask for. Keys, submissions and operations are named by a number: the thread has as many as came to be, and the number goes
 * round. */
export type Request =
  | {
      readonly kind: "submit";
      readonly key: number;
      readonly script: ScriptName;
      readonly onBusy: OnBusy;
      /** `lost`: the caller never learns the answer. */
      readonly reply: "kept" | "lost";
    }
  | { readonly kind: "abort"; readonly submission: number }
  | {
      readonly kind: "decide";
      readonly operation: number;
      /** Of an approval, and of an unknown outcome: what it is about is only known when it is made. */
      readonly approval: DecisionKind;
      readonly loss: DecisionKind;
    }
  | { readonly kind: "decide-all"; readonly approval: "approve" | "deny" | "edit" }
  | { readonly kind: "retry"; readonly submission: number }
  | { readonly kind: "read-page"; readonly after: number; readonly limit: number }
  | { readonly kind: "await-progress"; readonly after: number }
  | { readonly kind: "view"; readonly submission: number }
  | { readonly kind: "explain" };

/** `early`: now, whatever its time; `again`: as the platform delivers it again after a delivery that died. */
export type AlarmTime = "early" | "due" | "late" | "again";

export type Command =
  | Request
  | { readonly kind: "together"; readonly requests: readonly Request[] }
  | { readonly kind: "alarm"; readonly when: AlarmTime; readonly times: number }
  | { readonly kind: "advance"; readonly millis: number }
  | { readonly kind: "evict" }
  | { readonly kind: "crash" }
  | {
      readonly kind: "arm";
      readonly point: Failpoint;
      readonly mode: CrashMode;
      readonly hit: number;
    }
  /** Lets through whoever waits. */
  | { readonly kind: "open-gate" }
  /** The host's tool authorizer fails until it comes back: attempts make no progress meanwhile. */
  | { readonly kind: "outage"; readonly is: "begins" | "ends" }
  /** Another deployment comes, without the agent or with it: every object begins a new life. */
  | { readonly kind: "deploy"; readonly agent: "gone" | "back" };

export const COMMAND_KINDS = [
  "submit",
  "abort",
  "decide",
  "decide-all",
  "retry",
  "read-page",
  "await-progress",
  "view",
  "explain",
  "together",
  "alarm",
  "advance",
  "evict",
  "crash",
  "arm",
  "open-gate",
  "outage",
  "deploy",
] as const satisfies readonly Command["kind"][];

export type CommandKind = (typeof COMMAND_KINDS)[number];

export function renderCommand(command: Command): string {
  const { kind, ...rest } = command;
  return `${kind} ${JSON.stringify(rest)}`;
}
