// The README as a newcomer follows it: its commands exist, its requests work as they stand, and what it says of bindings, variables and files is
// so.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { freePort } from "../../../scripts/demo/free-port.ts";
import { ROOT } from "../../architecture/source-files.ts";

const run = promisify(execFile);
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const README = read("README.md");
const DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].concat(
  ["http", "client", "access", "limits", "testing", "models", "budgets", "traces", "mcp"].map(
    (name) => `docs/${name}.md`,
  ),
);
const ScriptsSchema = z.object({ scripts: z.record(z.string(), z.string()) });
const scripts = ["package.json", "template/package.json"].flatMap((path) =>
  Object.keys(ScriptsSchema.parse(JSON.parse(read(path))).scripts),
);

/** JSON with comments and trailing commas, as wrangler reads it. */
function parseJsonc(text: string): unknown {
  const plain = text
    .replace(
      /("(?:\\.|[^"\\])*")|\/\/[^\n]*/g,
      (_match, string: string | undefined) => string ?? "",
    )
    .replace(/,(\s*[}\]])/g, "$1");
  const value: unknown = JSON.parse(plain);
  return value;
}

const BindingsSchema = z.object({
  env: z.object({
    production: z.object({
      durable_objects: z.object({ bindings: z.array(z.object({ name: z.string() })) }),
      ratelimits: z.array(z.object({ name: z.string() })),
      version_metadata: z.object({ binding: z.string() }),
    }),
  }),
});

describe("[UX-03] what the README says", () => {
  it("names commands that there are", () => {
    const named = DOCUMENTS.flatMap((path) => [
      ...read(path).matchAll(/npm (?:run ([a-z:]+)|(start|test))\b/g),
    ]).map(([, script, short]) => script ?? short ?? "");
    expect(named.length).toBeGreaterThan(10);
    expect([...new Set(named)].filter((name) => !scripts.includes(name))).toEqual([]);
  });

  it("links to files that there are", () => {
    const broken = DOCUMENTS.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map(([, target = ""]) => join(dirname(path), target))
        .filter((target) => !existsSync(join(ROOT, target))),
    );
    expect(broken).toEqual([]);
  });

  it("says what every binding of a deployment costs", () => {
    const { production } = BindingsSchema.parse(parseJsonc(read("wrangler.jsonc"))).env;
    const bindings = [
      ...production.durable_objects.bindings.map(({ name }) => name),
      ...production.ratelimits.map(({ name }) => name),
      production.version_metadata.binding,
    ];
    const costs = /\| binding \| what it costs \|([\s\S]*?)\n\n/.exec(README)?.[1] ?? "";
    for (const binding of bindings) expect(costs).toContain(`\`${binding}\``);
  });

  it("has every variable in .dev.vars.example", () => {
    const example = read(".dev.vars.example");
    const variables = read("worker/env.ts").match(/\bHOLDFAST_[A-Z_]+(?=:)/g) ?? [];
    expect(variables.length).toBeGreaterThan(4);
    for (const variable of [...variables, "HOLDFAST_MODEL"]) {
      expect(example).toMatch(new RegExp(`^#? ?${variable}=`, "m"));
    }
  });

  it("reaches the first success within two screens", () => {
    const lines = README.split("\n");
    const first = lines.findIndex((line) => line.includes("/v1/threads/mine/submissions"));
    expect(first).toBeGreaterThan(0);
    // A screen of a code host shows about forty lines.
    expect(first).toBeLessThan(80);
  });
});

describe("[UX-03] npm start", () => {
  let server: ChildProcess;
  let base: string;
  const storage = mkdtempSync(join(tmpdir(), "holdfast-readme-"));

  beforeAll(async () => {
    const port = await freePort();
    base = `http://127.0.0.1:${port}`;
    server = spawn("node", ["scripts/start.ts", "--persist-to", storage], {
      cwd: ROOT,
      detached: true,
      stdio: "ignore",
      env: {
        ...process.env,
        PATH: `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}`,
        PORT: `${port}`,
      },
    });
    await vi.waitUntil(async () => (await curl(`curl -s ${base}/healthz`)).includes("ok"), {
      timeout: 60_000,
      interval: 200,
    });
  }, 90_000);

  afterAll(() => {
    if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL");
    rmSync(storage, { recursive: true, force: true });
  });

  /** What the command prints; nothing while the server does not answer. A stream is read for a moment. */
  async function curl(command: string): Promise<string> {
    try {
      return (await run("sh", ["-c", command])).stdout;
    } catch (error) {
      return z.object({ stdout: z.string() }).parse(error).stdout;
    }
  }

  it("answers the README's own requests as they stand", async () => {
    const commands = [...README.matchAll(/```sh\n(curl [\s\S]*?)```/g)].map(([, text = ""]) =>
      text.replaceAll("http://127.0.0.1:8787", base).replace("curl -N", "curl -sN --max-time 2"),
    );
    expect(commands).toHaveLength(6);
    const [submit = "", events = "", explain = "", decide = "", verify = "", trace = ""] = commands;
    expect(JSON.parse(await curl(submit))).toMatchObject({
      replayed: false,
      submission: { state: "settled", settlement: { outcome: "completed" } },
    });
    expect(JSON.parse(await curl(submit))).toMatchObject({ replayed: true });
    expect(await curl(events)).toMatch(/^event: state\n[\s\S]*event: record\nid: 1\n/);
    expect(JSON.parse(await curl(explain))).toMatchObject({ state: "idle" });
    // Its operation id is a placeholder.
    expect(JSON.parse(await curl(decide))).toMatchObject({ code: "OperationNotFound" });
    // [REC-09]
    expect(JSON.parse(await curl(verify))).toMatchObject({ tail: 5, fault: null });
    // [TRC-01] The store hears of a span after its end.
    await vi.waitUntil(async () => (await curl(trace)).includes('"invoke_agent travel-planner"'), {
      timeout: 10_000,
    });
    const env = { ...process.env, PORT: new URL(base).port };
    const tree = await run("node", ["scripts/trace.ts", "mine"], { cwd: ROOT, env });
    expect(tree.stdout).toMatch(/invoke_agent travel-planner .*settled, completed\n.* chat/);
  });

  it("[UX-05, RUN-10] takes an abort without a body, however the client leaves it out", async () => {
    const headers = "-H 'Authorization: Bearer holdfast-dev'";
    const path = `${base}/v1/threads/mine/submissions`;
    const list: unknown = JSON.parse(await curl(`curl -s ${path} ${headers}`));
    const { submissions } = z
      .object({ submissions: z.array(z.object({ submissionId: z.string() })) })
      .parse(list);
    const abort = `${path}/${submissions[0]?.submissionId}/abort`;
    for (const body of [
      "",
      "-d ''",
      "-H 'Content-Length: 0'",
      "-H 'Content-Type: application/json'",
    ]) {
      const answer = await curl(`curl -s -X POST ${abort} ${headers} ${body}`);
      expect(JSON.parse(answer)).toMatchObject({ effect: "already-settled" });
    }
    const text = `curl -s -X POST ${abort} ${headers} -H 'Content-Type: text/plain' -d hello`;
    expect(JSON.parse(await curl(text))).toMatchObject({ code: "UnsupportedMediaType" });
    const missing = `curl -s -X POST ${path} ${headers} -H 'Idempotency-Key: none'`;
    expect(JSON.parse(await curl(missing))).toMatchObject({ code: "MalformedRequest" });
  });

  it("serves the reference page", async () => {
    expect(await curl(`curl -s ${base}/docs`)).toContain("<h1>Holdfast HTTP API</h1>");
  });
});
