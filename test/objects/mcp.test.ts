// An agent with tools of an MCP server, in a real thread: the server is a process that is killed and comes back.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../shared/assert.ts";
import { mcpTools } from "../../shared/mcp/index.ts";
import { defineAgent } from "../../shared/define/index.ts";
import { expectSound } from "../support/expect-sound.ts";
import { MCP_ORIGIN } from "../support/issuer-origin.ts";
import { ScriptedInputSchema, seenPrompts } from "../support/scripted-model.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";

const tell = async (what: "start" | "kill"): Promise<void> => {
  await fetch(`${MCP_ORIGIN}/${what}`, { method: "PUT" });
};

beforeAll(() => tell("start"));
afterAll(() => tell("kill"));
afterEach(resetOptions);

const declared = { revision: 1, description: "A tool of the test server." } as const;

const server = { url: `${MCP_ORIGIN}/mcp` };

const agent = defineAgent({
  id: "reader",
  revision: 1,
  description: "Reads what the server has.",
  input: ScriptedInputSchema,
  instructions: "Follow the plan.",
  model: "test/scripted",
  tools: {
    ...mcpTools({
      server,
      prefix: "docs_",
      tools: {
        echo: { ...declared, input: z.object({ value: z.string() }), effect: "read" },
        big: { ...declared, input: z.object({ bytes: z.number() }), effect: "read" },
        die: { ...declared, input: z.object({}) },
      },
    }),
    ...mcpTools({
      server,
      prefix: "traced_",
      tools: {
        die: {
          ...declared,
          input: z.object({}),
          reconcile: () => ({ outcome: "completed", result: "found" }),
        },
      },
    }),
  },
  policy: { maxDuration: "2 hours" },
});

const readTools = new Set(["docs_echo", "docs_big"]);
const echo = { calls: [{ tool: "docs_echo", input: { value: "hello" } }] };

async function outcomes(thread: ThreadDriver): Promise<unknown[]> {
  return (await thread.records()).flatMap((record) =>
    record.type === "ToolSettled" ? [[record.payload.outcome, record.payload.output]] : [],
  );
}

it("[TOOL-09] a thread offers and calls its tools whether or not the server is there", async () => {
  testOptions.agents = (all) => [...all, agent];
  const thread = new ThreadDriver("mcp");
  const said = { outcome: "completed", output: "ok" };
  const big = { calls: [{ tool: "docs_big", input: { bytes: 5_242_880 } }] };
  expect(await thread.run([echo, big, { text: "ok" }], { agent: "reader" })).toMatchObject(said);
  await tell("kill");
  // As after a wake: the tools are the binding's, whatever the server says.
  await thread.evict();
  expect(await thread.run([echo, { text: "ok" }], { agent: "reader" })).toMatchObject(said);
  expect(seenPrompts.at(-1)?.tools?.map(({ name }) => name)).toEqual([
    "docs_echo",
    "docs_big",
    "docs_die",
    "traced_die",
  ]);
  await tell("start");
  expect(await thread.run([echo, { text: "ok" }], { agent: "reader" })).toMatchObject(said);
  const away =
    "The MCP server mcp.test cannot be reached (HTTP 502). Nothing was sent to the tool.";
  expect(await outcomes(thread)).toEqual([
    ["success", { type: "text", value: "hello" }],
    ["success", { type: "json", value: expect.objectContaining({ truncatedToolResult: true }) }],
    ["failure", { type: "error-text", value: away }],
    ["success", { type: "text", value: "hello" }],
  ]);
  await expectSound(thread, { readTools });
});

it("[TOOL-09, TOOL-04] an external call whose answer was lost waits for a person, and is not sent again", async () => {
  testOptions.agents = (all) => [...all, agent];
  const thread = new ThreadDriver("mcp");
  const die = { calls: [{ tool: "docs_die", input: {} }] };
  const { receipt } = await thread.submit([die, { text: "ok" }], { agent: "reader" });
  await thread.waitingFor(receipt.submissionId, "unknown-outcome");
  const [operation] = await thread.operations();
  expect(operation).toMatchObject({
    kind: "unknown",
    toolName: "docs_die",
    reason: "The call was sent and its answer was lost; it may still have happened.",
  });
  await tell("start");
  await thread.decide(must(operation, "it waits").operationId, "completed", { result: "it did" });
  expect(await thread.settlement(receipt.submissionId)).toMatchObject({ outcome: "completed" });
  const seen = z.object({ calls: z.array(z.unknown()) });
  expect(seen.parse(await (await fetch(`${MCP_ORIGIN}/seen`)).json()).calls).toEqual([]);
  await expectSound(thread, { readTools });
});

it("[TOOL-09, TOOL-02] a tool that can find out what became of a lost call is asked before a person", async () => {
  testOptions.agents = (all) => [...all, agent];
  const thread = new ThreadDriver("mcp");
  const die = { calls: [{ tool: "traced_die", input: {} }] };
  const settlement = await thread.run([die, { text: "ok" }], { agent: "reader" });
  expect(settlement).toMatchObject({ outcome: "completed" });
  const records = await thread.records();
  const lost = records.find((record) => record.type === "ToolUnknown");
  expect(lost).toMatchObject({ payload: { reason: "answer-lost" } });
  expect(await outcomes(thread)).toEqual([["success", { type: "text", value: "found" }]]);
  await expectSound(thread, { readTools });
});
