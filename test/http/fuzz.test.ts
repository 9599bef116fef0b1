// Requests at random over every operation of the OpenAPI document: whatever comes, the answer is one that the document promises, and what
// is refused writes nothing. The seed is in the name of the test: put it in SEED to send the same requests again.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ThreadDriver } from "../support/thread-driver.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { EventReader } from "../support/event-reader.ts";
import { expectDocumented, readApiDocument, type ApiOperation } from "./fuzz/api-document.ts";
import {
  render,
  rightRequests,
  strayRequests,
  threadOf,
  wrongRequests,
  type HttpRequest,
} from "./fuzz/http-requests.ts";
import { isWrite, runSlots, slotOf, Tally } from "./fuzz/run.ts";
import { FUZZ_LIMITS, Stage } from "./fuzz/scenes.ts";
import { FUZZ, FUZZ_TIMEOUT_MILLIS } from "./fuzz/settings.ts";
import {
  BASE,
  expectProblem,
  fetchBare,
  readAnswer,
  sendBare,
  type Answer,
  type Sent,
} from "./http-client.ts";

/** Half of what a run sends; the other half goes over RPC. */
const REQUESTS = Math.ceil(FUZZ.requests / 2);

/** What a request that the document allows is never told. */
const FORM_CODES = new Set([
  "MalformedRequest",
  "InvalidIdentifier",
  "IdempotencyKeyMissing",
  "UnsupportedMediaType",
  "BodyTooLarge",
  "Unauthenticated",
  "PermissionMissing",
  "RouteNotFound",
]);

/** What the runtime logs as its own failure. */
const failures = vi.spyOn(console, "error");
/** One line for each credential that is refused. */
const warnings = vi.spyOn(console, "warn").mockImplementation(() => undefined);
beforeAll(() => {
  testOptions.limits = FUZZ_LIMITS;
});
afterAll(() => {
  resetOptions();
  failures.mockRestore();
  warnings.mockRestore();
});

/** The answer; of a stream of events only the first is read. */
async function read(response: Response): Promise<Answer> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  if (!isStream || response.body === null) return readAnswer(response);
  const events = new EventReader(response.body);
  expect(await events.next()).not.toBeNull();
  await events.cancel();
  return { status: response.status, headers: response.headers, text: "", json: null };
}

/** Expects JSON with a good status, or a problem of the caller's making. */
function expectWellAnswered(answer: Answer, { fault, method }: HttpRequest): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  if (method === "HEAD") {
    expect(answer.text).toBe("");
  } else if (answer.status < 300) {
    expect(answer.headers.get("content-type")).toMatch(
      /^(application\/(json|x-ndjson)|text\/event-stream; charset=utf-8|text\/html; charset=UTF-8)$/,
    );
  } else {
    const { status, code, outcome } = expectProblem(answer);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(outcome).toBe("not-applied");
    if (fault === null) expect(FORM_CODES).not.toContain(code);
  }
}

class HttpFuzz {
  readonly tally = new Tally();
  readonly stage = new Stage();

  async ask(operation: ApiOperation | null, request: HttpRequest): Promise<void> {
    const scene = await this.stage.scene(request.scene);
    const { path, sent } = render(request, scene);
    const name = operation?.operationId ?? "none";
    const threadId = threadOf(path);
    const before = await this.stage.fingerprint("dev", threadId);
    const answer = await read(await fetchBare(path, sent));
    try {
      expectWellAnswered(answer, request);
      // A path that a URL changes leads to another operation, or to none.
      const isItself = new URL(`${BASE}${path}`).pathname === path.split("?")[0];
      const isRouted = !answer.text.includes('"code":"RouteNotFound"');
      if (operation !== null && isItself && isRouted) {
        const type = answer.headers.get("content-type") ?? "";
        expectDocumented(operation, answer.status, type, answer.json);
      }
      const isAccepted = answer.status < 400;
      this.tally.add(name, String(answer.status), isAccepted);
      if (isAccepted && isWrite(name)) {
        await this.stage.changed(scene, name, "dev", threadId, before);
        if (name === "submit") await this.#expectReplay(path, sent, threadId);
      } else {
        expect(await this.stage.fingerprint("dev", threadId)).toBe(before);
        if (isAccepted) this.tally.readsWithoutWrite += 1;
        else this.tally.refusedWithoutWrite += 1;
      }
    } catch (cause) {
      const said = `${answer.status} ${answer.text.slice(0, 600)}`;
      throw new Error(`${sent.method} ${path.slice(0, 300)}: ${said}`, { cause });
    }
  }

  /** The same submission again is no other one (THR-02). */
  async #expectReplay(path: string, sent: Sent, threadId: string | null): Promise<void> {
    const before = await this.stage.fingerprint("dev", threadId);
    const { status, headers } = await sendBare(path, sent);
    expect({ status, replayed: headers.get("idempotency-replayed") }).toEqual({
      status: 200,
      replayed: "true",
    });
    expect(await this.stage.fingerprint("dev", threadId)).toBe(before);
  }
}

describe("what shows a write", () => {
  it.each<[string, (storage: DurableObjectStorage) => void | Promise<void>]>([
    ["a row", ({ sql }) => void sql.exec("UPDATE threads SET charge = charge")],
    [
      "a row that is rolled back",
      (storage) => {
        expect(() =>
          storage.transactionSync(() => {
            storage.sql.exec("UPDATE threads SET charge = 7");
            throw new Error("back");
          }),
        ).toThrow("back");
      },
    ],
    ["a table", ({ sql }) => void sql.exec("CREATE TABLE more (number INTEGER)")],
    ["an alarm", (storage) => storage.setAlarm(Date.parse("2040-01-01T00:00:00.000Z"))],
  ])("[QUA-01] sees %s, and no read", async (_what, write) => {
    const thread = new ThreadDriver("fuzz-write");
    await thread.run([{ text: "ok" }]);
    const stage = new Stage();
    const before = await stage.fingerprint("dev", thread.threadId);
    await thread.records();
    expect(await stage.fingerprint("dev", thread.threadId)).toBe(before);
    await thread.inObject(write);
    expect(await stage.fingerprint("dev", thread.threadId)).not.toBe(before);
  });
});

describe("requests at random over HTTP", () => {
  it(
    `[QUA-01, UX-05, API-01] are answered as the document says, and write nothing when refused (seed ${FUZZ.seed})`,
    { timeout: FUZZ_TIMEOUT_MILLIS },
    async ({ task }) => {
      // A scene that is deleted has nothing left to be asked for: test/objects/deletion.test.ts has deletion.
      const operations = (await readApiDocument()).filter(
        ({ operationId }) => operationId !== "deleteThread",
      );
      const fuzz = new HttpFuzz();
      const slots = operations.flatMap((operation) => [
        slotOf(rightRequests(operation), (request) => fuzz.ask(operation, request)),
        slotOf(wrongRequests(operation), (request) => fuzz.ask(operation, request)),
      ]);
      const stray = slotOf(strayRequests(operations), (request) => fuzz.ask(null, request));
      try {
        await runSlots([...slots, stray, stray], REQUESTS, FUZZ.seed);
        await fuzz.stage.close();
      } finally {
        task.meta.fuzz = fuzz.tally.report("HTTP", fuzz.stage.checked);
      }
      fuzz.tally.expectBoth(operations.map(({ operationId }) => operationId));
      expect(failures).not.toHaveBeenCalled();
    },
  );
});
