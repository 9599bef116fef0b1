// A thread with a long past, made by the runtime's own stores in one transaction: settled runs as they would have been written, without the
// runs. And what one statement of it hands to the runtime at once.
import { canonicalJson } from "../../shared/canonical-json.ts";
import { runIdOf, submissionIdOf } from "../../shared/ids.ts";
import type { RecordDraft } from "../../shared/wire/records.ts";
import { NO_RUN_USAGE } from "../../shared/wire/usage.ts";
import { Database } from "../../durable-objects/platform/database.ts";
import { digestText } from "../../durable-objects/platform/digest.ts";
import { JournalStore } from "../../durable-objects/thread/journal/journal.store.ts";
import { LedgerStore } from "../../durable-objects/thread/ledger/ledger.store.ts";
import { input, responded, started } from "../core/support/builders.ts";
import { meter, type StorageCost } from "./storage-meter.ts";
import { TESTER, ThreadDriver } from "./thread-driver.ts";
import { world } from "./world.ts";

/** The number that an object's only thread has. */
const NUMBER = 1;
/** A run that answers at once: two rows of two. */
const RECORDS_PER_RUN = 4;

/** The past of a thread: how many settled runs, and about how many bytes each holds beside its envelope. */
export interface Past {
  readonly runs: number;
  readonly bytes: number;
}

/** A thread that was created by one real run, then has its past; its object has read none of it. */
export async function threadWithPast({ runs, bytes }: Past): Promise<ThreadDriver> {
  const thread = new ThreadDriver("long");
  await thread.run([{ text: "opens the thread" }]);
  await thread.quiet();
  const text = "past ".repeat(Math.ceil(bytes / 2 / 5));
  await thread.inObject((storage) => {
    const database = new Database(storage);
    const journal = new JournalStore(database, NUMBER, "test");
    const ledger = new LedgerStore(database, NUMBER);
    database.transact(() => {
      for (let run = 0; run < runs; run += 1) appendRun(journal, ledger, text);
    });
  });
  // The instance that was open knows another end of the log.
  await thread.evict();
  await thread.view();
  return thread;
}

function appendRun(journal: JournalStore, ledger: LedgerStore, text: string): void {
  const queueSequence = ledger.queue().nextSequence;
  const submissionId = submissionIdOf(queueSequence, world.ports.ids.token());
  const first = journal.tail().sequence + 1;
  const value = { plan: [], note: text };
  ledger.insert({
    queueSequence,
    submissionId,
    principal: TESTER.principal,
    idempotencyKey: `past-${queueSequence}`,
    commandDigest: digestText(submissionId),
    agentId: "plain",
    input: canonicalJson(value),
    allowances: null,
    metadata: null,
    host: null,
    acceptedAt: world.now,
  });
  const usage = { ...NO_RUN_USAGE, turns: 1 };
  const ended: RecordDraft = {
    type: "SubmissionSettled",
    submissionId,
    runId: runIdOf(submissionId),
    payload: { outcome: "completed", finishReason: "stop", usage },
  };
  const append = (...drafts: RecordDraft[]) =>
    journal.append(
      queueSequence,
      1,
      drafts.map((draft) => ownedBy(submissionId, draft)),
      world.now,
    );
  append(input(value), started({ historyFrom: first }));
  append(responded(1, { text }), ended);
  ledger.settle(queueSequence, "completed", first + RECORDS_PER_RUN - 1, first, usage);
}

function ownedBy(submissionId: string, draft: RecordDraft): RecordDraft {
  return "runId" in draft ? { ...draft, submissionId, runId: runIdOf(submissionId) } : draft;
}

/** What `run` costs the thread, and the most text of records that one of its statements gave: all of it ASCII, so that a character is a byte. */
export async function meterLoads(
  thread: ThreadDriver,
  run: () => Promise<unknown>,
): Promise<StorageCost & { readonly largestLoad: number }> {
  let largestLoad = 0;
  const restore = await new ThreadDriver("loads").inObject(({ sql }) => {
    const prototype = Reflect.getPrototypeOf(sql) ?? sql;
    // oxlint-disable-next-line typescript/unbound-method -- called with its own `this` below
    const { exec } = sql;
    Reflect.set(prototype, "exec", function (this: SqlStorage, ...args: Parameters<typeof exec>) {
      const cursor = exec.apply(this, args);
      const toArray = cursor.toArray.bind(cursor);
      const value = () => {
        const rows = toArray();
        largestLoad = Math.max(largestLoad, textOf(rows));
        return rows;
      };
      return Object.defineProperty(cursor, "toArray", { value });
    });
    return () => Reflect.set(prototype, "exec", exec);
  });
  try {
    return { ...(await meter(thread, run)), largestLoad };
  } finally {
    restore();
  }
}

function textOf(rows: readonly Record<string, SqlStorageValue>[]): number {
  return rows.reduce(
    (sum, { records }) => sum + (typeof records === "string" ? records.length : 0),
    0,
  );
}
