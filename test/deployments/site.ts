// One place where deployments follow each other: a storage folder, a server that is killed between them, and the outside that they call.
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holdfastClient, type ThreadHandle } from "../../shared/client/index.ts";
import type { Operation } from "../../shared/wire/operations.ts";
import type { ThreadRecord } from "../../shared/wire/records.ts";
import type { SubmissionView, WaitReason } from "../../shared/wire/submission.ts";
import { API_KEY, Server } from "../server/server.ts";
import { Stub } from "../server/stub.ts";
import type { Arrival } from "../server/stub-wire.ts";
import { DEADLINE_MILLIS, eventually } from "./eventually.ts";
import { ShownSchema, type Shown, type ToolName } from "./job.ts";

export class Site {
  readonly #folder = mkdtempSync(join(tmpdir(), "holdfast-deployments-"));
  readonly #stub: Stub;
  readonly #server: Server;
  readonly #held = new Map<string, () => void>();
  /** Every call of every deployment so far. */
  readonly arrivals: Arrival[] = [];
  /** A server has a process group of its own, and would outlive a suite that is broken off. */
  readonly #killNow = (): void => this.#server.killNow();

  private constructor(stub: Stub, stubPort: number) {
    this.#stub = stub;
    this.#server = new Server(this.#folder, "none.js", stubPort);
    process.on("exit", this.#killNow);
    stub.onArrival = (arrival) => {
      this.arrivals.push(arrival);
      const reached = this.#held.get(`${arrival.job} ${arrival.step}`);
      if (reached === undefined) stub.reply(arrival);
      else reached();
    };
  }

  static async open(): Promise<Site> {
    const stub = new Stub();
    return new Site(stub, await stub.port());
  }

  get storage(): string {
    return this.#server.storage;
  }

  /** Starts a built deployment on the storage. Its records name it. Sends no request. */
  async deploy(bundles: string, name: string): Promise<void> {
    copyFileSync(join(bundles, `${name}.js`), join(this.#folder, `${name}.js`));
    await this.#server.start({ bundle: `${name}.js`, versionId: name });
  }

  /** SIGKILL. What was held at the stub never gets its answer. */
  async kill(): Promise<void> {
    await this.#server.kill();
    this.#held.clear();
  }

  async close(): Promise<void> {
    await this.#server.kill();
    this.#stub.stop();
    process.off("exit", this.#killNow);
    rmSync(this.#folder, { recursive: true });
  }

  /** Repeats nothing by itself: a refusal is an answer here. */
  thread(threadId: string): ThreadHandle {
    return holdfastClient({
      baseUrl: this.#server.baseUrl,
      token: API_KEY,
      retry: { maxRetries: 0 },
    }).thread(threadId);
  }

  /** A call that gets no answer until the kill. Resolves when it has arrived. */
  hold(job: string, step: Arrival["step"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(`${job} ${step}`, resolve);
    return promise;
  }

  /** How often the tool was called for that job, by the stub's own count. */
  callsOf(job: string, tool: ToolName): number {
    return this.arrivals.filter((call) => call.job === job && call.step === tool).length;
  }

  /** Lines of the server's log, over all deployments, that hold these words. */
  logLines(...words: readonly string[]): string[] {
    const { logFile } = this.#server;
    if (!existsSync(logFile)) return [];
    return readFileSync(logFile, "utf8")
      .split("\n")
      .filter((line) => words.every((word) => line.includes(word)));
  }
}

export async function recordsOf(thread: ThreadHandle): Promise<ThreadRecord[]> {
  const records: ThreadRecord[] = [];
  for await (const record of thread.records()) records.push(record);
  return records;
}

/** The submission once it waits so. */
export function waitingFor(
  thread: ThreadHandle,
  submissionId: string,
  reason: WaitReason,
): Promise<SubmissionView> {
  return eventually(`${submissionId} waits for ${reason}`, async () => {
    const view = await thread.submission(submissionId);
    return view.wait?.reason === reason ? view : null;
  });
}

/** The one operation of the thread. */
export async function soleOperation(thread: ThreadHandle): Promise<Operation> {
  const [operation, ...others] = await thread.operations();
  if (operation === undefined || others.length > 0) throw new Error("one operation was expected");
  return operation;
}

/** What the last model call of a completed submission had. */
export async function shownTo(thread: ThreadHandle, submissionId: string): Promise<Shown> {
  const signal = AbortSignal.timeout(DEADLINE_MILLIS);
  const settlement = await thread.settlement(submissionId, { signal });
  if (settlement.outcome !== "completed") throw new Error(JSON.stringify(settlement));
  return ShownSchema.parse(JSON.parse(String(settlement.output)));
}

/** Of each model turn of the log: the agent's revision and the deployment. */
export function turnsOf(records: readonly ThreadRecord[]): string[] {
  return records.flatMap((record) =>
    record.type === "ModelResponded"
      ? [`revision ${record.payload.revision} by ${record.deploymentId}`]
      : [],
  );
}
