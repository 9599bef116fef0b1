// The host's say over each call, before anything of its batch starts, on every attempt (TOOL-06).
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { Environment, Services } from "../../../shared/define/environment.ts";

export interface ToolAuthorizationRequest {
  readonly principal: string;
  readonly threadId: string;
  readonly runId: string;
  readonly turn: number;
  readonly agentId: string;
  readonly toolName: string;
  readonly toolCallId: string;
  readonly arguments: JsonValue;
  /** The canonical input of the submission. */
  readonly input: JsonValue;
  /** Of the submission; null without (THR-11). */
  readonly metadata: JsonValue;
  readonly env: Environment;
  readonly services: Services;
}

/** Contract: true allows; false denies, which fails the run with `ToolDenied`. May be asked again for the same call after a crash. A
 * rejection says nothing: the attempt ends, and the next one asks again after a backoff. Five attempts in a row without a new record park
 * the run for a person, about five seconds after the first, so an authorizer that may be down for longer retries by itself. */
export type ToolAuthorization = (request: ToolAuthorizationRequest) => boolean | Promise<boolean>;

export const allowAllTools: ToolAuthorization = () => true;
