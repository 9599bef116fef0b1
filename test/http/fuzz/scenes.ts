// The threads that random requests are about: one at rest, one that waits for an approval, one with an unknown outcome, one that runs. A
// thread that an accepted request moved on is replaced by another like it, so that there is always one of each.
import { env, runInDurableObject } from "cloudflare:test";
import { z } from "zod";
import { must } from "../../../shared/assert.ts";
import { canonicalJson } from "../../../shared/canonical-json.ts";
import { expectSound } from "../../support/expect-sound.ts";
import { ThreadDriver } from "../../support/thread-driver.ts";
import { NO_OPERATION, NO_SUBMISSION } from "../routes.ts";

export const SCENES = ["rest", "approval", "unknown", "running"] as const;
export type SceneKind = (typeof SCENES)[number];

/** Small enough that requests meet them. */
export const FUZZ_LIMITS = { maxQueueDepth: 3, maxInputBytes: 8_192 } as const;

/** Ids are far shorter; no object is made to look for longer ones. */
const MAX_NAME_CHARACTERS = 512;

const NO_DIGEST = "0".repeat(64);

/** Requests about one thread before another takes its place, so that none grows long. */
const REQUESTS_PER_THREAD = 100;

/** Texts that stand for what only exists once the requests are sent: they shrink and print well. */
export const TOKENS = {
  thread: "@thread",
  settled: "@settled",
  owed: "@owed",
  queued: "@queued",
  foreign: "@foreign",
  operation: "@operation",
  digest: "@digest",
} as const;

export interface Scene {
  readonly kind: SceneKind;
  readonly thread: ThreadDriver;
  /** What each token stands for here. */
  readonly tokens: ReadonlyMap<string, string>;
  requests: number;
}

const objects = z.custom<DurableObjectNamespace>().parse(env.THREADS);

export class Stage {
  readonly #scenes = new Map<SceneKind, Scene>();
  #foreign: string | null = null;
  /** Threads that the history checker looked over, once they had served. */
  checked = 0;

  async scene(kind: SceneKind): Promise<Scene> {
    const known = this.#scenes.get(kind);
    if (known !== undefined && known.requests < REQUESTS_PER_THREAD) {
      known.requests += 1;
      return known;
    }
    if (known !== undefined) await this.#retire(known);
    const scene = await this.#prepare(kind);
    this.#scenes.set(kind, scene);
    return scene;
  }

  /** Replaces the thread where it is not what its scene says any more. */
  async #moved(scene: Scene, operation: string): Promise<void> {
    // What is admitted behind a run that stands at its gate waits; everything else may end that run.
    if (scene.kind === "running") {
      if (operation !== "submit") await this.#retire(scene);
      return;
    }
    await scene.thread.quiet();
    const { state } = await scene.thread.view();
    const operations = await scene.thread.operations();
    const isAsItWas =
      scene.kind === "rest"
        ? state === "idle"
        : operations.some(({ operationId }) => operationId === scene.tokens.get(TOKENS.operation));
    if (!isAsItWas) await this.#retire(scene);
  }

  /** Every row that the object of a thread ever changed, its alarm and what was rolled back included, and its tables: whatever is written,
   * it is another text. Null where no thread is meant. */
  async fingerprint(tenant: string, threadId: string | null): Promise<string | null> {
    if (threadId === null || threadId.length > MAX_NAME_CHARACTERS) return null;
    return runInDurableObject(objectOf(tenant, threadId), async (_instance, { storage }) => {
      const [counts] = storage.sql
        .exec(
          "SELECT total_changes() AS changes, count(*) AS tables, group_concat(sql) AS definitions FROM sqlite_master",
        )
        .toArray();
      return JSON.stringify({ ...counts, alarm: await storage.getAlarm() });
    });
  }

  /** After an accepted change of a thread: lets what it started come to rest. */
  async changed(
    scene: Scene,
    operation: string,
    tenant: string,
    threadId: string | null,
    before: string | null,
  ): Promise<void> {
    if (threadId === null || (await this.fingerprint(tenant, threadId)) === before) return;
    if (threadId === scene.thread.threadId && tenant === "dev") {
      await this.#moved(scene, operation);
    } else {
      await settleObject(tenant, threadId);
    }
  }

  async close(): Promise<void> {
    for (const scene of this.#scenes.values()) await this.#retire(scene);
  }

  async #retire(scene: Scene): Promise<void> {
    this.#scenes.delete(scene.kind);
    await scene.thread.openGate(gateOf(scene.thread));
    await expectSound(scene.thread);
    this.checked += 1;
  }

  async #prepare(kind: SceneKind): Promise<Scene> {
    const thread = new ThreadDriver(`fuzz-${kind}`);
    const tokens = new Map<string, string>([
      [TOKENS.thread, thread.threadId],
      [TOKENS.settled, await settle(thread)],
      [TOKENS.foreign, (this.#foreign ??= await settle(new ThreadDriver("fuzz-foreign")))],
      [TOKENS.owed, NO_SUBMISSION],
      [TOKENS.queued, NO_SUBMISSION],
      [TOKENS.operation, NO_OPERATION],
      [TOKENS.digest, NO_DIGEST],
    ]);
    if (kind === "rest") return { kind, thread, tokens, requests: 1 };
    tokens.set(TOKENS.owed, await owe(thread, kind));
    const { receipt } = await thread.submit([{ text: "behind" }]);
    tokens.set(TOKENS.queued, receipt.submissionId);
    if (kind !== "running") {
      await thread.quiet();
      const operation = must((await thread.operations())[0], "something waits for a decision");
      tokens.set(TOKENS.operation, operation.operationId);
      tokens.set(TOKENS.digest, operation.argumentsDigest);
    }
    return { kind, thread, tokens, requests: 1 };
  }
}

function objectOf(tenant: string, threadId: string): DurableObjectStub {
  return objects.getByName(canonicalJson([tenant, threadId]));
}

/** Waits for the pass that runs, if one does. */
async function settleObject(tenant: string, threadId: string): Promise<void> {
  await runInDurableObject(objectOf(tenant, threadId), (instance) =>
    "alarm" in instance && typeof instance.alarm === "function" ? instance.alarm() : undefined,
  );
}

function gateOf(thread: ThreadDriver): string {
  return `${thread.threadId}-gate`;
}

async function settle(thread: ThreadDriver): Promise<string> {
  const { receipt } = await thread.submit([{ calls: [{ tool: "look" }] }, { text: "ok" }]);
  await thread.settlement(receipt.submissionId);
  return receipt.submissionId;
}

/** Submits what will wait as the scene says, and waits for that. */
async function owe(thread: ThreadDriver, kind: Exclude<SceneKind, "rest">): Promise<string> {
  const gate = gateOf(thread);
  const calls = {
    approval: [{ tool: "guarded" }],
    // A call past its timeout may have happened.
    unknown: [{ tool: "hasty_act", input: { behave: "deaf-gate", gate } }],
    running: [{ tool: "act", input: { behave: "gate", gate } }],
  } as const;
  const { receipt } = await thread.submit([{ calls: [...calls[kind]] }, { text: "ok" }]);
  const { submissionId } = receipt;
  if (kind === "approval") await thread.waitingFor(submissionId, "approval");
  if (kind === "unknown") await thread.waitingFor(submissionId, "unknown-outcome");
  if (kind === "running") await thread.arrival(gate);
  return submissionId;
}
