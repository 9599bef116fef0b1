// What a workerd process holds once its garbage is gone: the JavaScript heap of its Worker, as V8 counts it, and the whole process, as the
// system does.
import { execFileSync } from "node:child_process";
import { z } from "zod";
import type { Client } from "./client.ts";
import { openInspector, type Inspector } from "./inspector.ts";

export interface Memory {
  readonly heapKb: number;
  readonly residentKb: number;
}

export interface Inspected {
  readonly client: Client;
  readonly inspector: URL;
  readonly pid: number;
}

/** A first collection runs finalizers, whose garbage goes with a later one. */
const COLLECTIONS = 3;
const UsageSchema = z.object({ usedSize: z.number() });

export async function readMemory({ client, inspector, pid }: Inspected): Promise<Memory> {
  const session = await openInspector(inspector);
  try {
    // An inspected isolate keeps what was logged: that is not the Worker's.
    await session.call("Runtime.discardConsoleEntries");
    for (let count = 0; count < COLLECTIONS; count += 1) await collectGarbage(session, client);
    const { usedSize } = UsageSchema.parse(await session.call("Runtime.getHeapUsage"));
    return { heapKb: usedSize / 1_000, residentKb: readResidentKb(pid) };
  } finally {
    session.close();
  }
}

/** The isolate collects as a task of its own, which workerd comes to while it serves requests: they go on until it has. */
async function collectGarbage(session: Inspector, client: Client): Promise<void> {
  const collected = session.call("HeapProfiler.collectGarbage").then(() => true);
  const served = () => client.send("GET", "/healthz").then(() => false);
  while (!(await Promise.race([collected, served()])));
}

function readResidentKb(pid: number): number {
  const kib = Number(execFileSync("ps", ["-o", "rss=", "-p", `${pid}`], { encoding: "utf8" }));
  if (!(kib > 0)) throw new Error(`ps does not know process ${pid}`);
  return kib * 1.024;
}
