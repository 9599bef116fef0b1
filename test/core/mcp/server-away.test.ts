// An MCP server in a process that is killed and comes back on its port, and what stands between: what counts as having happened.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { must } from "../../../shared/assert.ts";
import type { Tool } from "../../../shared/define/index.ts";
import { mcpTools } from "../../../shared/mcp/index.ts";
import { failure, KEY, logged, run, tools } from "./call-tool.ts";
import { ServerProcess } from "../../support/mcp-server-process.ts";

const server = new ServerProcess();

beforeAll(() => server.start());
afterAll(() => server.kill());

/** The same tool with another effect, as another host declares it. */
function readOnly(name: "break_off" | "die", effect: "read" | "idempotent"): Tool {
  const made = mcpTools({
    server: { url: server.url() },
    tools: { [name]: { revision: 1, description: "x", input: z.object({}), effect } },
  });
  return must(made[name], "it was declared");
}

describe("[TOOL-09] a server that goes away", () => {
  afterEach(async () => {
    await server.kill();
    await server.start();
  });

  it("before the call fails it, says that nothing was sent, and the next call works once it is back", async () => {
    const { docs_echo: echo, docs_fail: external } = tools({ url: server.url() });
    await server.kill();
    const unsent =
      /^The MCP server 127\.0\.0\.1:\d+ cannot be reached \(connection failed\)\. Nothing was sent to the tool\.$/;
    for (const tool of [echo, external]) {
      expect(await run(tool, { value: "x" })).toEqual(failure(expect.stringMatching(unsent)));
    }
    await server.start();
    expect(await run(echo, { value: "back" })).toMatchObject({ output: { value: "back" } });
  });

  it.each(["die", "break_off"] as const)(
    "during the call (%s) leaves an external one unknown, and fails one that may be repeated",
    async (name) => {
      expect(await run(tools({ url: server.url() })[`docs_${name}`])).toEqual({
        kind: "unknown",
        reason: "answer-lost",
      });
      expect(logged).toEqual([
        [
          "the answer of an MCP server was lost",
          { server: new URL(server.url()).host, reason: expect.any(String) },
        ],
      ]);
      for (const effect of ["read", "idempotent"] as const) {
        await server.kill();
        await server.start();
        expect(await run(readOnly(name, effect))).toEqual(
          failure(expect.stringContaining("its answer was lost")),
        );
      }
    },
  );
});

describe("[TOOL-09] a server that is in the way", () => {
  it.each([
    ["denies", "/denied", "HTTP 401"],
    ["is another", "/nothing", "HTTP 404"],
    ["sends elsewhere", "/moved", "connection failed"],
  ])("because it %s fails the call, and nothing was sent", async (_how, path, why) => {
    expect(await run(tools({ url: server.url(path) })["docs_fail"])).toEqual(
      failure(expect.stringContaining(`cannot be reached (${why}). Nothing was sent`)),
    );
  });

  const answer = (status: number, body: object | string) => (id: number) =>
    Response.json(typeof body === "string" ? body : { jsonrpc: "2.0", id, ...body }, { status });
  const error = { code: -32_603, message: `bad ${KEY}` };
  const unknown = { kind: "unknown", reason: "answer-lost" };

  it.each<[string, (id: number) => Response, object]>([
    ["HTTP 502", answer(502, "bad gateway"), unknown],
    ["HTTP 408", answer(408, "too late"), unknown],
    ["202", () => new Response(null, { status: 202 }), unknown],
    ["a page", () => new Response("<html>"), unknown],
    ["a result that is none", answer(200, { result: { content: "none" } }), unknown],
    ["another's answer", (id) => answer(200, { result: { content: [] } })(id + 1), unknown],
    ["HTTP 429", answer(429, "later"), failure("HTTP 429")],
    ["an error of the protocol", answer(200, { error }), failure("bad [redacted]")],
  ])(
    "answers %s to the call: it has said no, or may have passed it on",
    async (_what, make, so) => {
      const between = async (request: Request): Promise<Response> => {
        const sent = await request.clone().text();
        if (!sent.includes('"tools/call"')) return fetch(request);
        return make(z.object({ id: z.number() }).parse(JSON.parse(sent)).id);
      };
      expect(await run(tools({ url: server.url(), fetch: between })["docs_fail"])).toEqual(so);
    },
  );

  it("never learns what is wrong with a credential, nor does the model", async () => {
    const headers = () => ({ authorization: `${KEY}\n\u{1F511}` });
    expect(await run(tools({ url: server.url(), headers })["docs_echo"], { value: "x" })).toEqual(
      failure("The header authorization for the MCP server is not valid. Nothing was sent."),
    );
  });
});
