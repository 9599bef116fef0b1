// What the suites of MCP tools share: the tools that a host declares of the test server, and a call of one as the run loop makes it. Every call
// is searched for the key that the host sends.
import { expect } from "vitest";
import { z } from "zod";
import { must } from "../../../shared/assert.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import type { Tool, ToolContext } from "../../../shared/define/index.ts";
import { mcpTools, type McpServer } from "../../../shared/mcp/index.ts";
import { runTool, type ToolRun } from "../../../durable-objects/tools/run-tool.ts";

export const KEY = "Bearer key-of-the-mcp-server-01";
const KEY_TEXT = "key-of-the-mcp-server";

/** What the latest call logged. */
export const logged: unknown[] = [];

/** @param changes of the server's address: its url at least */
export function tools(changes: McpServer) {
  const declared = { revision: 1, description: "A tool of the test server." } as const;
  const none = z.object({});
  return mcpTools({
    server: { headers: () => ({ authorization: KEY }), ...changes },
    prefix: "docs_",
    tools: {
      echo: { ...declared, input: z.object({ value: z.string() }), effect: "read" },
      add: { ...declared, input: z.object({ a: z.number(), b: z.number() }), effect: "read" },
      big: { ...declared, input: z.object({ bytes: z.number() }), effect: "read" },
      picture: { ...declared, input: none, effect: "read" },
      fail: { ...declared, input: none },
      tell: { ...declared, input: z.object({ fails: z.boolean() }), effect: "idempotent" },
      hang: { ...declared, input: none, timeout: "300 milliseconds" },
      break_off: { ...declared, input: none },
      die: { ...declared, input: none },
      taken_away: { ...declared, input: none, needsApproval: true },
    },
  });
}

const context: Omit<ToolContext, "signal"> = {
  principal: "ann",
  threadId: "t",
  runId: "r",
  turn: 1,
  metadata: null,
  toolCallId: "c",
  env: z.custom<ToolContext["env"]>().parse({}),
  services: {},
  idempotencyKey: "operation-1",
  step: () => Promise.reject(new Error("a call of an MCP tool has no steps")),
  progress: () => undefined,
  log: {
    info: (...line) => logged.push(line),
    warn: (...line) => logged.push(line),
    error: (...line) => logged.push(line),
  },
};

export async function run(
  tool: Tool | undefined,
  args: JsonValue = {},
  { maxResultBytes = 51_200, signal = new AbortController().signal } = {},
): Promise<ToolRun> {
  logged.length = 0;
  const found = must(tool, "the tool is offered");
  const decoded = found.decode(args);
  if (!decoded.ok) throw new Error("the arguments do not fit");
  const outcome = await runTool({
    tool: found,
    decoded: decoded.value,
    context,
    signal,
    maxResultBytes,
  });
  expect(JSON.stringify([outcome, logged])).not.toContain(KEY_TEXT);
  return outcome;
}

export const failure = (value: unknown) => ({
  kind: "settled",
  outcome: "failure",
  output: { type: "error-text", value },
});
