// What the Worker under test told anybody: lines of its log, answers to requests, and what the platform traced of it. Each is looked
// through for secrets as it comes, and only what was found is kept.
import { env } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { z } from "zod";
import { SECRET_OR_CONTENT_PATTERN, SECRET_PATTERN } from "./secrets.ts";

export interface Told {
  /** How much was looked through. */
  readonly lines: number;
  readonly answers: number;
  readonly traced: number;
  /** Where a secret was, and the text around it. */
  readonly leaks: readonly string[];
}

const inLogs = new RegExp(SECRET_OR_CONTENT_PATTERN);
const inAnswers = new RegExp(SECRET_PATTERN);

let lines = 0;
let answers = 0;
let leaks: string[] = [];

const LEVELS = ["debug", "info", "log", "warn", "error"] as const;
const recorded = new WeakSet<Console>();

/** Looks through every line from now on, and lets it pass, but for those that say how a run went: there are thousands, and the test runtime
 * does not get over a line of an object that aborts in the middle of it. May be called again: the test runtime changes its console. */
export function recordConsole(): void {
  if (recorded.has(console)) return;
  recorded.add(console);
  for (const level of LEVELS) {
    const write = console[level];
    console[level] = (...parts: unknown[]): void => {
      lines += 1;
      look(`log (${level})`, inLogs, parts.map(textOf).join(" "));
      if (!isOfRecord(parts[0])) write.apply(console, parts);
    };
  }
}

/** A line about a committed record, which alone names its place in the log, or about the commit that comes next. */
function isOfRecord(line: unknown): boolean {
  return (
    typeof line === "string" &&
    /^\{"level".*("sequence":\d|"event":"(binding-missing|recovery-fault)")/.test(line)
  );
}

/** Looks through an answer: its headers, and its text, which may hold content but no secret. */
export function recordAnswer(headers: Headers, text: string): void {
  answers += 1;
  look("answer", inAnswers, `${JSON.stringify([...headers])} ${text}`);
}

function look(where: string, pattern: RegExp, text: string): void {
  const found = pattern.exec(text);
  if (found === null) return;
  const from = Math.max(0, found.index - 80);
  leaks.push(`${where}: ${text.slice(from, found.index + found[0].length + 80)}`);
}

function textOf(part: unknown): string {
  if (typeof part === "string") return part;
  if (part instanceof Error) return `${part.message} ${part.stack}`;
  return JSON.stringify(part) ?? "";
}

const tail = z
  .custom<{ take(): Promise<{ traced: number; leaks: string[]; markers: string[] }> }>()
  .parse(Reflect.get(env, "TRACES"));
const worker = z.custom<Pick<Fetcher, "fetch">>().parse(Reflect.get(exports, "default"));
let markers = 0;

/** What was told since the last call. Waits until the tail has seen what was traced until now. */
export async function takeTold(): Promise<Told> {
  markers += 1;
  const marker = `/told-${markers}`;
  let traced = 0;
  const told = leaks;
  const counted = { lines, answers };
  [leaks, lines, answers] = [[], 0, 0];
  const asked = await worker.fetch(`http://127.0.0.1${marker}`);
  await asked.arrayBuffer();
  await vi.waitUntil(
    async () => {
      const seen = await tail.take();
      traced += seen.traced;
      told.push(...seen.leaks);
      return seen.markers.includes(marker);
    },
    { timeout: 10_000, interval: 2 },
  );
  return { ...counted, traced, leaks: told };
}

/** Expects that something was traced, and that nothing that was told since the last look holds a secret. */
export async function expectNothingTold(): Promise<void> {
  const { traced, leaks } = await takeTold();
  expect(leaks).toEqual([]);
  expect(traced).toBeGreaterThan(0);
}
