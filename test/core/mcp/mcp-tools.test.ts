// Tools of a real MCP server in a process of its own: what the host declares, and what the model reads.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Tool } from "../../../shared/define/index.ts";
import { mcpTools, type McpServer } from "../../../shared/mcp/index.ts";
import { failure, KEY, run, tools } from "./call-tool.ts";
import { ServerProcess } from "../../support/mcp-server-process.ts";

const server = new ServerProcess();

beforeAll(() => server.start());
afterAll(() => server.kill());

describe("[TOOL-09] the tools of a server", () => {
  it("are those that the host allows, under its prefix, with its effects, whatever the server has", () => {
    const made = tools({ url: server.url() });
    expect(Object.keys(made)).not.toContain("docs_secret_admin");
    expect(Object.values(made).map(({ name, effect }) => [name, effect])).toEqual([
      ["docs_echo", "read"],
      ["docs_add", "read"],
      ["docs_big", "read"],
      ["docs_picture", "read"],
      ["docs_fail", "external"],
      ["docs_tell", "idempotent"],
      ["docs_hang", "external"],
      ["docs_break_off", "external"],
      ["docs_die", "external"],
      ["docs_taken_away", "external"],
    ]);
    expect(made["docs_taken_away"]?.mayNeedApproval).toBe(true);
  });

  it("are the same while the server is away: nothing is asked of it to make them", () => {
    const asked = vi.fn<NonNullable<McpServer["fetch"]>>();
    const away = tools({ url: "http://127.0.0.1:1/mcp", fetch: asked });
    const told = (made: Readonly<Record<string, Tool>>) => JSON.stringify(Object.values(made));
    expect(told(away)).toBe(told(tools({ url: server.url() })));
    expect(asked).not.toHaveBeenCalled();
  });

  it("have names that every provider takes, and no two the same", () => {
    const declared = { revision: 1, description: "x", input: z.object({}) };
    const { url } = { url: "https://mcp.example" };
    expect(
      Object.keys(mcpTools({ server: { url }, tools: { "files/read.v2": declared } })),
    ).toEqual(["files_read_v2"]);
    const twice = { "files/read": declared, "files.read": declared };
    expect(() => mcpTools({ server: { url }, tools: twice })).toThrow(
      "tools: two are named files_read",
    );
  });

  it.each<[string, string, () => unknown]>([
    ["a URL that is none", "server.url", () => tools({ url: "mcp.example" })],
    ["a URL of another kind", "server.url", () => tools({ url: "file:///etc/passwd" })],
    [
      "a field that nobody reads",
      "server: token: no such field",
      () => tools(Object.assign({ url: "https://mcp.example" }, { token: "x" })),
    ],
  ])("are refused for %s, naming the field", (_what, message, make) => {
    expect(make).toThrow(message);
  });
});

describe.each(["/mcp", "/mcp-json"])("[TOOL-09] a call, answered by %s", (path) => {
  const here = () => tools({ url: server.url(path) });

  it("answers with text, or with structured content where there is some", async () => {
    expect(await run(here()["docs_echo"], { value: "grüße" })).toEqual({
      kind: "settled",
      outcome: "success",
      output: { type: "text", value: "grüße" },
    });
    expect(await run(here()["docs_add"], { a: 2, b: 3 })).toMatchObject({
      outcome: "success",
      output: { type: "json", value: { sum: 5 } },
    });
  });

  it("of 5 MB passes the bounds of every result", async () => {
    const outcome = await run(
      here()["docs_big"],
      { bytes: 5 * 1024 * 1024 },
      { maxResultBytes: 2_000 },
    );
    expect(outcome).toMatchObject({
      outcome: "success",
      output: { type: "json", value: { truncatedToolResult: true } },
    });
    expect(JSON.stringify(outcome).length).toBeLessThan(4_000);
  });

  it("of more than 16 MiB is not read to its end", async () => {
    expect(await run(here()["docs_big"], { bytes: 17 * 1024 * 1024 })).toEqual(
      failure(expect.stringContaining("its answer was lost")),
    );
  });

  it("describes what is not text, without its bytes", async () => {
    expect(await run(here()["docs_picture"])).toMatchObject({
      outcome: "success",
      output: {
        type: "json",
        value: [
          { type: "text", text: "a cat" },
          { type: "image", mimeType: "image/png", bytes: 300_000 },
          { type: "resource_link", uri: "file:///cat.txt", name: "cat" },
          { type: "resource", resource: { uri: "file:///cat.bin", bytes: 3 } },
        ],
      },
    });
  });

  it("that the tool fails is a failure in its words, and never an unknown outcome", async () => {
    expect(await run(here()["docs_fail"])).toEqual(failure("there is no such page"));
  });

  it("of a tool that the server does not have any more says so", async () => {
    expect(await run(here()["docs_taken_away"])).toEqual({
      kind: "settled",
      outcome: "unavailable",
      output: {
        type: "error-text",
        value: expect.stringMatching(
          /^The MCP server \S+ does not have the tool taken_away any more\.$/,
        ),
      },
    });
  });

  it("brings the idempotency key and the credentials, which its answer never shows", async () => {
    const before = (await server.seen()).calls.length;
    expect(await run(here()["docs_tell"], { fails: false })).toMatchObject({
      outcome: "success",
      output: { value: "you sent [redacted]" },
    });
    expect(await run(here()["docs_tell"], { fails: true })).toEqual(failure("you sent [redacted]"));
    expect((await server.seen()).calls.slice(before)).toEqual(
      Array.from({ length: 2 }, () => ({ tool: "tell", key: "operation-1", authorization: KEY })),
    );
  });

  it("has a session of its own, which it ends", async () => {
    const { ended } = await server.seen();
    await run(here()["docs_echo"], { value: "x" });
    await vi.waitFor(async () => expect((await server.seen()).ended).toBeGreaterThan(ended));
  });

  it("that takes too long is given up at the server too", async () => {
    const { aborted } = await server.seen();
    expect(await run(here()["docs_hang"])).toEqual({ kind: "unknown", reason: "timeout" });
    await vi.waitFor(async () => expect((await server.seen()).aborted).toBe(aborted + 1));
  });

  it("is stopped by the run's own signal", async () => {
    const controller = new AbortController();
    const before = (await server.seen()).calls.length;
    const outcome = run(here()["docs_hang"], {}, { signal: controller.signal });
    await vi.waitFor(async () => expect((await server.seen()).calls.length).toBe(before + 1));
    controller.abort("abort");
    expect(await outcome).toEqual({ kind: "stopped" });
  });
});
