// Requests to the Worker under test as a client over the network makes them, and what every refusal must look like.
import { exports } from "cloudflare:workers";
import { expect } from "vitest";
import { z } from "zod";
import type { JsonValue } from "../../shared/canonical-json.ts";
import { ERROR_CODES } from "../../shared/errors/codes.ts";
import type { Dump, ThreadDriver } from "../support/thread-driver.ts";
import type { PlannedTurn } from "../support/scripted-model.ts";
import { recordAnswer } from "../support/told.ts";

export const BASE = "http://127.0.0.1";
export const AUTHORIZATION = "Bearer holdfast-dev";

const worker = z.custom<Pick<Fetcher, "fetch">>().parse(Reflect.get(exports, "default"));

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  readonly base?: string;
}

/** An answer, read. `json` is null when the body is not JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

/** Sends the request as it is: no credential and no key that the caller did not give. */
export async function sendBare(path: string, sent: Sent = {}): Promise<Answer> {
  return readAnswer(await fetchBare(path, sent));
}

/** The same, without reading the answer. */
export function fetchBare(path: string, sent: Sent = {}): Promise<Response> {
  const { method = "GET", headers = {}, body, base = BASE } = sent;
  const request = new Request(`${base}${path}`, {
    method,
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body }),
  });
  return worker.fetch(request);
}

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  recordAnswer(response.headers, text);
  return { status: response.status, headers: response.headers, text, json: parseJson(text) };
}

/** Sends the request with the tests' credential. */
export function send(path: string, sent: Sent = {}): Promise<Answer> {
  return sendBare(path, { ...sent, headers: { authorization: AUTHORIZATION, ...sent.headers } });
}

/** Posts JSON with the tests' credential. */
export function post(
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return send(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** The body of a submission. */
export function command(
  plan: readonly PlannedTurn[],
  agent = "plain",
): { agent: string; input: JsonValue } {
  const input: JsonValue = JSON.parse(JSON.stringify({ plan }));
  return { agent, input };
}

export function submit(
  threadId: string,
  key: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return post(`/v1/threads/${threadId}/submissions`, body, { "idempotency-key": key, ...headers });
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

const ProblemSchema = z.looseObject({
  type: z.string().min(1),
  title: z.string().min(1),
  status: z.int(),
  detail: z.string().min(1),
  code: z.string(),
  requestId: z.uuid(),
  retryable: z.boolean(),
  outcome: z.enum(["not-applied", "applied", "unknown"]),
  errors: z.array(z.strictObject({ pointer: z.string(), message: z.string().min(1) })).optional(),
});
export type Problem = z.infer<typeof ProblemSchema>;

/** Expects an RFC 9457 problem of the closed table, whose body and headers agree, with no trace of the code's inside. */
export function expectProblem(answer: Answer): Problem {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  const problem = ProblemSchema.parse(answer.json);
  expect(Object.keys(ERROR_CODES)).toContain(problem.code);
  expect(problem.status).toBe(answer.status);
  expect(answer.headers.get("x-request-id")).toBe(problem.requestId);
  expect(answer.text).not.toMatch(/\bat \w+.*:\d+:\d+|node_modules|\.ts:\d+|ZodError|TypeError/);
  return problem;
}

/** Expects this refusal, and that it was refused before anything was done. */
export function expectRefusal(answer: Answer, status: number, code: string): Problem {
  const problem = expectProblem(answer);
  expect({ status: answer.status, code: problem.code }).toEqual({ status, code });
  expect(problem.outcome).toBe("not-applied");
  return problem;
}

/** What the object of a thread that was never written holds: no table and no alarm. */
export const NEVER_WRITTEN: Dump = {
  records: [],
  batches: [],
  submissions: [],
  thread: null,
  due: null,
  alarm: null,
};

/** Expects that the object's file has no table at all: not of the thread, not of migrations. */
export async function expectEmptyFile(thread: ThreadDriver): Promise<void> {
  expect(await thread.dump()).toEqual(NEVER_WRITTEN);
  const tables = await thread.inObject((storage) =>
    storage.sql
      .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'")
      .toArray(),
  );
  expect(tables).toEqual([]);
}
