// A model fault as one sentence for the settlement (RUN-12). Pure.
import type { ModelFault } from "./classify-failure.ts";

export function renderModelFault(fault: ModelFault): string {
  switch (fault.reason) {
    case "http":
      return fault.httpStatus === 401 || fault.httpStatus === 403
        ? `The provider refused the credential or what it may do (HTTP status ${fault.httpStatus}).`
        : `The model call failed with HTTP status ${fault.httpStatus}.`;
    case "provider":
      return "The provider reported an error while it answered.";
    case "connection":
      return "The connection to the model was lost.";
    case "stalled":
      return "The model sent nothing for the length of modelIdleTimeout.";
    case "broke-off":
      return "The model stopped before it finished its answer.";
    case "content-filter":
      return "The provider's content filter stopped the call or its answer.";
    case "context-overflow":
      return "The provider refused the prompt: it is longer than the model's context.";
    case "quota":
      return "The account at the provider has no quota or credit left.";
    case "too-large":
      return "The model's answer is larger than a record can be.";
    case "invalid-usage":
      return "The provider reported token counts that are not counts.";
    case "malformed":
      return "The provider's answer holds a part that no record can hold.";
    case "not-configured":
      return fault.advice ?? "The model is not configured.";
    case "error":
      return "The model call failed with an error of the provider's code.";
  }
}
