// The rules that hold over the source as a whole, each with a planted mistake that shows that the check bites.
import { describe, expect, it } from "vitest";
import {
  findBadImports,
  findText,
  importsOf,
  readSources,
  type SourceFile,
} from "./source-files.ts";

const SOURCES = readSources("shared", "durable-objects", "worker");

function planted(path: string, text: string): SourceFile[] {
  return [{ path, text }];
}

it("there is source to look at", () => {
  expect(SOURCES.length).toBeGreaterThan(80);
  expect(SOURCES.flatMap(importsOf).length).toBeGreaterThan(200);
});

describe("imports", () => {
  it("go from worker to durable-objects to shared, and features never know the thread", () => {
    expect(findBadImports(SOURCES)).toEqual([]);
  });

  it("name files that exist", () => {
    const known = new Set([...SOURCES, ...readSources("migrations")].map((file) => file.path));
    const missing = SOURCES.flatMap((file) =>
      importsOf(file).flatMap(({ target }) =>
        target === null || known.has(target) ? [] : [`${file.path} → ${target}`],
      ),
    );
    expect(missing).toEqual([]);
  });

  it.each([
    ["shared/a.ts", 'import { x } from "../durable-objects/b.ts";'],
    ["shared/a.ts", 'import type { X } from "../worker/b.ts";'],
    ["shared/a.ts", 'import { createHash } from "node:crypto";'],
    ["shared/a.ts", 'import { APICallError } from "@ai-sdk/provider";'],
    ["shared/a.ts", 'import { createMCPClient } from "@ai-sdk/mcp";'],
    ["shared/define/a.ts", 'import { mcpTools } from "../mcp/b.ts";'],
    ["worker/a.ts", 'import { mcpTools } from "../shared/mcp/b.ts";'],
    ["shared/a.ts", 'export * from "../durable-objects/b.ts";'],
    ["shared/define/a.ts", 'await import("../../worker/b.ts");'],
    ["durable-objects/a.ts", 'import { x } from "../worker/b.ts";'],
    ["durable-objects/context/a.ts", 'import type { X } from "../thread/b.ts";'],
    ["durable-objects/scheduler/a.ts", 'import {\n  x,\n} from "../thread/run/b.ts";'],
    ["durable-objects/clients/a.ts", 'import { x, type Y } from "../thread/b.ts";'],
  ])("the check finds a planted one: %s: %s", (path, text) => {
    expect(findBadImports(planted(path, text))).toHaveLength(1);
  });

  it.each([
    ["worker/a.ts", 'import { x } from "../durable-objects/thread/b.ts";'],
    ["durable-objects/thread/a.ts", 'import { x } from "../context/b.ts";'],
    ["durable-objects/clients/a.ts", 'import { type X } from "../thread/b.ts";'],
    ["durable-objects/deployment.ts", 'import type { X } from "./thread/b.ts";'],
    ["shared/a.ts", 'import type { JSONSchema7 } from "@ai-sdk/provider";'],
    ["shared/testing/a.ts", 'import { APICallError } from "@ai-sdk/provider";'],
    ["shared/mcp/a.ts", 'import { createMCPClient } from "@ai-sdk/mcp";'],
    ["shared/mcp/a.ts", 'import { b } from "./b.ts";'],
    ["shared/a.ts", '// import { x } from "../worker/b.ts";\nconst a = "https://x";'],
  ])("the check lets a good one through: %s: %s", (path, text) => {
    expect(findBadImports(planted(path, text))).toEqual([]);
  });
});

describe("SQL", () => {
  const SQL = /\b(?:SELECT|INSERT|UPDATE)\s+[A-Z(*a-z]|CREATE TABLE|DELETE FROM/;
  const mayHoldSql = (path: string): boolean => path.endsWith(".store.ts");

  it("stands in stores only", () => {
    expect(findText(SOURCES, SQL, mayHoldSql)).toEqual([]);
  });

  it("the check finds a planted statement, and no word of a comment", () => {
    const path = "durable-objects/thread/a.ts";
    const finds = (text: string) => findText(planted(path, text), SQL, mayHoldSql).length;
    expect(finds('run("SELECT x FROM t")')).toBe(1);
    expect(finds("run(`DELETE FROM t`)")).toBe(1);
    expect(finds("// SELECT x FROM t")).toBe(0);
  });
});

describe("the alarm slot", () => {
  const ALARM = /\b(?:setAlarm|deleteAlarm)\b/;
  const owns = (path: string): boolean => path === "durable-objects/scheduler/alarm-slot.ts";

  it("[ALM-01] is written in one file", () => {
    expect(findText(SOURCES, ALARM, owns)).toEqual([]);
    expect(findText(SOURCES, ALARM, () => false).map((found) => found.path)).toEqual([
      "durable-objects/scheduler/alarm-slot.ts",
    ]);
  });

  it("[ALM-01] the check finds a planted writer", () => {
    const file = planted("durable-objects/thread/a.ts", "storage.setAlarm(1);");
    expect(findText(file, ALARM, owns)).toHaveLength(1);
  });
});

describe("every source file", () => {
  it("has at most 300 lines", () => {
    const long = SOURCES.filter(({ text }) => text.trimEnd().split("\n").length > 300);
    expect(long.map((file) => file.path)).toEqual([]);
  });

  it("begins with a comment that says its job", () => {
    const silent = SOURCES.filter(({ text }) => !/^\/\/ \S+ \S+/.test(text));
    expect(silent.map((file) => file.path)).toEqual([]);
  });

  const LOOPHOLE =
    /:\s*any\b|\bas any\b|<any>|\bas unknown as\b|@ts-(?:ignore|expect-error|nocheck)/;

  it("is typed without loopholes", () => {
    // The directives are comments, so the whole text is looked at.
    const found = SOURCES.filter(
      ({ text }) =>
        /@ts-(?:ignore|expect-error|nocheck)/.test(text) ||
        findText(planted("a.ts", text), LOOPHOLE, () => false).length > 0,
    );
    expect(found.map((file) => file.path)).toEqual([]);
  });

  it("the check finds planted loopholes", () => {
    for (const text of ["let a: any;", "f(x as any)", "g<any>()", "x as unknown as Y"]) {
      expect(findText(planted("a.ts", text), LOOPHOLE, () => false)).toHaveLength(1);
    }
  });
});
