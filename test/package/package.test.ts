// The package as a stranger gets it: the packed tarball in a fresh Worker project that starts from the template, and a second Worker that
// reaches the deployment by a service binding alone.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { holdfastClient } from "../../shared/client/index.ts";
import { DESCRIPTION, VERSION } from "../../shared/version.ts";
import { installConsumer, type Consumer } from "./consumer.ts";

let consumer: Consumer;
let served: Miniflare;
let base: URL;

beforeAll(async () => {
  consumer = await installConsumer();
  await consumer.tool(
    "wrangler",
    "deploy",
    "--dry-run",
    "--outdir",
    join(consumer.folder, "out/app"),
  );
  const caller = [
    "--config",
    "caller/wrangler.json",
    "--outdir",
    join(consumer.folder, "out/caller"),
  ];
  await consumer.tool("wrangler", "deploy", "--dry-run", ...caller);
  served = serve(consumer.folder);
  base = await served.ready;
}, 180_000);

afterAll(async () => {
  await served.dispose();
  consumer.remove();
});

/** Both built Workers, the caller in front, bound as its configuration says. */
function serve(folder: string): Miniflare {
  const { services } = z
    .object({
      services: z.array(
        z.object({
          binding: z.string(),
          service: z.string(),
          entrypoint: z.string(),
          props: z.record(z.string(), z.json()).optional(),
        }),
      ),
    })
    .parse(JSON.parse(readFileSync(join(folder, "caller/wrangler.json"), "utf8")));
  const common = { modules: true, rootPath: folder, compatibilityDate: "2026-11-01" } as const;
  return new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          ...common,
          name: "caller",
          scriptPath: "out/caller/caller.js",
          serviceBindings: Object.fromEntries(
            services.map(({ binding, service, entrypoint, props }) => [
              binding,
              { name: service, entrypoint, ...(props === undefined ? {} : { props }) },
            ]),
          ),
        },
        {
          ...common,
          name: "my-agents",
          scriptPath: "out/app/index.js",
          bindings: { TABLE_NAME: "green", ...developmentVariables(folder) },
          durableObjects: { THREADS: { className: "ThreadObject", useSQLite: true } },
          routes: ["localhost/*"],
        },
      ],
    }),
  );
}

/** What the template's example of .dev.vars sets. */
function developmentVariables(folder: string): Record<string, string> {
  const lines = readFileSync(join(folder, ".dev.vars.example"), "utf8").split("\n");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([A-Z_]+)='(.*)'$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );
}

async function ask(what: string, thread: string): Promise<unknown> {
  const answer: unknown = await (await fetch(new URL(`/${what}?thread=${thread}`, base))).json();
  return answer;
}

describe("the tarball", () => {
  it("[UX-08] holds built files and the template, and neither sources nor tests", () => {
    expect(consumer.packed).toContain("dist/worker/holdfast.js");
    expect(consumer.packed).toContain("dist/worker/holdfast.d.ts");
    expect(consumer.packed).toContain("dist/migrations/thread/bundle.js");
    expect(consumer.packed).toContain("template/wrangler.jsonc");
    const strange = consumer.packed.filter((path) => !/^(?:dist|template)\//.test(path));
    expect(strange.toSorted()).toEqual(["LICENSE", "README.md", "package.json"]);
    expect(consumer.packed.filter((path) => /\.sql$|test\/|worker\/agents/.test(path))).toEqual([]);
  });

  it("[UX-08] compiles in a strict project, with the environment's own types in `execute`", async () => {
    await consumer.tool("wrangler", "types", "--include-runtime=false");
    await consumer.tool("tsc", "--noEmit");
    // A variable that the configuration does not have does not compile.
    await expect(
      consumer.tool("sh", "-c", "sed -i s/TABLE_NAME/TABEL_NAME/ src/index.ts && tsc --noEmit"),
    ).rejects.toThrow(/TABEL_NAME/);
    await consumer.tool("sh", "-c", "sed -i s/TABEL_NAME/TABLE_NAME/ src/index.ts");
  });

  it("[GW-01] routes to AI Gateway in plain Node", async () => {
    const script = `
      import { gatewayProvider, gatewayRest } from "holdfast/gateway";
      const common = { accountId: "a", gatewayId: "g", apiToken: "t" };
      const made = [gatewayProvider({ ...common, provider: "openai" }), gatewayRest({ ...common, protocol: "messages" })];
      const refused = await made[0].fetch("https://elsewhere.example").catch(({ name }) => name);
      console.log(JSON.stringify([...made.map(({ baseURL, headers }) => ({ baseURL, headers })), refused]));`;
    const printed = await consumer.tool("node", "--input-type=module", "--eval", script);
    expect(JSON.parse(printed)).toEqual([
      { baseURL: "https://gateway.ai.cloudflare.com/v1/a/g/openai", headers: {} },
      {
        baseURL: "https://api.cloudflare.com/client/v4/accounts/a/ai/v1",
        headers: { "cf-aig-gateway-id": "g" },
      },
      "GatewayRefusal",
    ]);
  });

  it("[TOOL-09] has the tools of an MCP server as an entry of its own, which the built Worker does not carry", async () => {
    const script = `
      import { mcpTools } from "holdfast/mcp";
      import { z } from "zod";
      const server = { url: "https://mcp.example.com/mcp" };
      const search = { revision: 1, description: "Searches.", input: z.object({ query: z.string() }) };
      const made = mcpTools({ server, prefix: "docs_", tools: { search } });
      console.log(JSON.stringify(Object.values(made).map(({ name, effect }) => [name, effect])));`;
    const printed = await consumer.tool("node", "--input-type=module", "--eval", script);
    expect(JSON.parse(printed)).toEqual([["docs_search", "external"]]);
    const built = readFileSync(join(consumer.folder, "out/app/index.js"), "utf8");
    expect(built).not.toContain("MCPClientError");
  });

  it("[UX-08] mints keys by the template's own script", async () => {
    const minted = await consumer.tool("npm", "run", "--silent", "keys", "--", "create");
    expect(minted).toMatch(/hf_[\w-]{43}[\s\S]*"sha256":"[0-9a-f]{64}"/);
  });

  it("says the version that it is", () => {
    const manifest: unknown = JSON.parse(
      readFileSync(join(consumer.folder, "node_modules/holdfast/package.json"), "utf8"),
    );
    expect(manifest).toMatchObject({ version: VERSION, description: DESCRIPTION });
  });
});

describe("a fresh Worker with the package", () => {
  it("[UX-08] runs its agent over HTTP", async () => {
    const client = holdfastClient({
      baseUrl: "http://localhost",
      token: "holdfast-dev",
      fetch: async (request) => {
        const { method, headers } = request;
        const body = method === "GET" ? undefined : await request.text();
        const answer = await served.dispatchFetch(request.url, {
          method,
          headers: Object.fromEntries(headers),
          ...(body === undefined ? {} : { body }),
        });
        return new Response(await answer.text(), {
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
        });
      },
    });
    const { settlement } = await client.thread("by-http").run("game-master", { wish: "a five" });
    expect(settlement).toMatchObject({ outcome: "completed" });
    expect((await client.agents()).map(({ id }) => id)).toEqual(["game-master"]);
  });
});

describe("a second Worker", () => {
  it("[API-04] runs an agent by a service binding, with the types of the agent", async () => {
    expect(await ask("run", "by-rpc")).toMatchObject({
      receipt: { threadId: "by-rpc", agentId: "game-master" },
      outcome: "completed",
      said: expect.stringContaining("local model"),
    });
  });

  it("[API-04] follows a submission to its settlement", async () => {
    const { events } = z.object({ events: z.array(z.string()) }).parse(await ask("events", "seen"));
    expect(events.at(0)).toBe("state");
    expect(events.at(-1)).toBe("settled");
    expect(events).toContain("record");
  });

  it("[API-04, OBS-07] ends its wait on the other side when it gives up", async () => {
    const { answer, waitedMillis } = z
      .object({ answer: z.looseObject({ ok: z.boolean() }), waitedMillis: z.number() })
      .parse(await ask("cancel", "waited"));
    expect(answer).toMatchObject({ ok: true });
    expect(waitedMillis).toBeLessThan(60_000);
  });

  it("[API-04] is refused where its binding names no caller", async () => {
    expect(await ask("refused", "by-rpc")).toEqual({ code: "Unauthenticated" });
  });
});
