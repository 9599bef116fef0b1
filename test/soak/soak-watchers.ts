// Watchers of the soak test: one per thread, which reads its whole log from the event stream over as many connections as it takes, and one for
// every followed submission. What a stream gives is a suffix without a gap, from whatever cursor, through every kill.
import { setTimeout as sleep } from "node:timers/promises";
import type { DeltaEvent, ThreadEvent } from "../../shared/wire/events.ts";
import type { Random } from "../server/seeded.ts";
import { ApiRefusal, ThreadApi } from "../server/thread-api.ts";
import { readEvents } from "./event-stream.ts";
import type { SoakJob, SoakThread, SoakWorld } from "./soak-world.ts";

const RECONNECT_MILLIS = 25;

/** Returns when the soak test is over, or the thread is retired and all of it was seen. */
export async function watchThread(
  world: SoakWorld,
  thread: SoakThread,
  random: Random,
): Promise<void> {
  const { name, watched } = thread;
  while (!world.over.signal.aborted) {
    // Now and then from further back: what comes again must be what was there.
    const after = random() < 0.2 ? Math.floor(random() * watched.length) : watched.length;
    let next = after + 1;
    const texts = new OpenTexts();
    await connect(world, name, `after=${after}`, (event) => {
      texts.take(event, (what) => world.report(`${name}: ${what}`));
      if (event.event === "gap")
        world.report(`${name}: a gap after ${after}: ${event.data.reason}`);
      if (event.event !== "record") return false;
      const { sequence } = event.data;
      if (sequence !== next) world.report(`${name}: ${sequence} came where ${next} was due`);
      next = sequence + 1;
      const line = JSON.stringify(event.data);
      const known = watched[sequence - 1];
      if (known === undefined) watched[sequence - 1] = line;
      else if (known !== line)
        world.report(`${name}: record ${sequence} came again, and is another`);
      else world.count("records that came again");
      return false;
    });
    if (thread.isRetired && thread.open.size === 0) {
      const rest = await world.persistently((api) => api.records(name, watched.length));
      if (rest.length === 0) return;
    }
  }
}

/** Follows one submission to its settlement, which must be the one that its waiter got. */
export async function followJob(
  world: SoakWorld,
  job: SoakJob,
  submissionId: string,
): Promise<void> {
  let after = 0;
  const seen: { settled: string | null } = { settled: null };
  while (seen.settled === null && !world.over.signal.aborted) {
    await connect(world, job.thread, `submission=${submissionId}&after=${after}`, (event) => {
      if (event.event === "settled") {
        seen.settled = JSON.stringify(event.data.settlement);
        return true;
      }
      if (event.event !== "record") return false;
      const isOwn = "submissionId" in event.data && event.data.submissionId === submissionId;
      if (!isOwn || event.data.sequence <= after) {
        world.report(`${job.plan.key}: record ${event.data.sequence} came after ${after}`);
      }
      after = event.data.sequence;
      return false;
    });
  }
  world.count("submissions followed to their end");
  const { settlement } = await world.persistently((api) =>
    api.submission(job.thread, submissionId),
  );
  if (seen.settled === null || seen.settled === JSON.stringify(settlement)) return;
  world.report(`${job.plan.key}: its stream settled as ${seen.settled}`);
}

/** One connection, until it ends, breaks, or the event says so. */
async function connect(
  world: SoakWorld,
  thread: string,
  query: string,
  isLast: (event: ThreadEvent) => boolean,
): Promise<void> {
  const { signal } = world.over;
  try {
    const api = new ThreadApi(world.server.baseUrl);
    const stream = await api.events(thread, query, signal);
    world.count("streams opened");
    for await (const event of readEvents(stream)) {
      world.count("events");
      if (isLast(event)) return;
    }
  } catch (error) {
    if (error instanceof ApiRefusal) world.report(error.message);
    // A schema or form that does not fit is a fault; a connection that broke is what kills do.
    else if (error instanceof TypeError || signal.aborted) world.count("streams cut");
    else world.report(`${thread}: ${String(error)}`);
  }
  await sleep(RECONNECT_MILLIS);
}

/** The open text of turns as a client holds it: it never has a hole. */
class OpenTexts {
  readonly #lengths = new Map<string, number>();

  take({ event, data }: ThreadEvent, report: (what: string) => void): void {
    if (event !== "delta" && event !== "resync") return;
    const key = keyOf(data);
    const length = this.#lengths.get(key) ?? 0;
    if (data.offset > length)
      report(`text of ${key} comes at ${data.offset}, and ends at ${length}`);
    this.#lengths.set(key, data.offset + data.text.length);
  }
}

function keyOf({ submissionId, turn, kind }: DeltaEvent): string {
  return `${submissionId}, turn ${turn}, ${kind}`;
}
