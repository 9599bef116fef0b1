// `node test/deployments/make-fixture.ts`: writes the storage of an earlier release anew, by that release's own code from this repository's
// history. What is committed is never edited by hand, and made again only for another release.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { UNIQUE_KEY } from "../server/server.ts";
import { buildBundle, ROOT } from "./build-bundle.ts";
import { eventually } from "./eventually.ts";
import { soleOperation, Site, waitingFor } from "./site.ts";
import { ASKED, FIXTURE, OWED, RELEASE, STORED } from "./stored-release.ts";

const DAY_MILLIS = 86_400_000;
/** A run lasts a year at most: one that has to wait for as long as there is this test began far in the future. */
const AHEAD_MILLIS = 70 * 365 * DAY_MILLIS;
/** What has to be due whenever this is read was owed some time before it was written. */
const BEHIND_MILLIS = -30 * DAY_MILLIS;

const work = mkdtempSync(join(tmpdir(), "holdfast-release-"));
const site = await Site.open();

/** The release's source, with the deployments of this suite in the place of what it had there. */
function checkOut(): string {
  const tree = join(work, "source");
  mkdirSync(tree);
  const archive = execFileSync(
    "git",
    ["archive", RELEASE, "shared", "durable-objects", "worker", "migrations", "tsconfig.json"],
    {
      cwd: ROOT,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  execFileSync("tar", ["-x", "-C", tree], { input: archive });
  for (const folder of ["test/deployments", "test/server"]) {
    cpSync(join(ROOT, folder), join(tree, folder), { recursive: true });
  }
  return tree;
}

async function build(
  root: string,
  name: string,
  ahead: number,
  hasCourier: boolean,
): Promise<void> {
  const define = { CLOCK_AHEAD_MILLIS: String(ahead), HAS_COURIER: String(hasCourier) };
  await buildBundle("release", name, work, { root, define });
}

/** Submits what the thread is to hold, and returns the ids. */
async function submitAll(threadId: typeof ASKED | typeof OWED): Promise<string[]> {
  const ids: string[] = [];
  for (const { key, input } of STORED[threadId]) {
    const { receipt } = await site
      .thread(threadId)
      .submit("courier", input, { idempotencyKey: key });
    ids.push(receipt.submissionId);
  }
  return ids;
}

async function write(): Promise<void> {
  await site.deploy(work, "ahead");
  const [settled = "", asking = ""] = await submitAll(ASKED);
  await site.thread(ASKED).settlement(settled);
  await waitingFor(site.thread(ASKED), asking, "approval");
  await soleOperation(site.thread(ASKED));
  await site.kill();

  await site.deploy(work, "behind");
  const [head = ""] = await submitAll(OWED);
  await waitingFor(site.thread(OWED), head, "approval");
  await site.kill();

  // Without its agent the second is looked at, and left, before anything of it is begun.
  await site.deploy(work, "courierless");
  await site.thread(OWED).abort(head);
  await eventually("the alarm of work without an agent", async () =>
    (await site.thread(OWED).explain()).alarm.reason === "binding" ? true : null,
  );
  await site.kill();
}

/** One file each, with its write-ahead log in it. */
function keep(): void {
  rmSync(FIXTURE, { recursive: true, force: true });
  const from = join(site.storage, UNIQUE_KEY);
  const into = join(FIXTURE, UNIQUE_KEY);
  mkdirSync(into, { recursive: true });
  for (const file of readdirSync(from).filter((name) => name.endsWith(".sqlite"))) {
    const database = new DatabaseSync(join(from, file));
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    cpSync(join(from, file), join(into, file));
    console.log(join(into, file));
  }
}

try {
  const tree = checkOut();
  await build(tree, "ahead", AHEAD_MILLIS, true);
  await build(tree, "behind", BEHIND_MILLIS, true);
  await build(tree, "courierless", BEHIND_MILLIS, false);
  await write();
  keep();
} finally {
  await site.close();
  rmSync(work, { recursive: true });
}
