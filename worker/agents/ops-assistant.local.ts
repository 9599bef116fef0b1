// The ops assistant's stand-in model: reads the logs, asks for a restart, then says what it did.
import type { LocalScript } from "../../durable-objects/model/local-model.ts";
import { lastUserText, toolsAnswered } from "./local-prompt.ts";

export const opsAssistantScript: LocalScript = (prompt) => {
  const service =
    /\b(api|billing|search)\b/i.exec(lastUserText(prompt))?.[1]?.toLowerCase() ?? "billing";
  const answered = toolsAnswered(prompt);
  if (!answered.includes("read_logs"))
    return { calls: [{ tool: "read_logs", input: { service } }] };
  if (!answered.includes("restart_service")) {
    return { calls: [{ tool: "restart_service", input: { service } }] };
  }
  return {
    text: JSON.stringify({
      answer: `The local model read the logs of ${service} and had its restart looked after.`,
    }),
  };
};
