// Where the time of one turn goes: samples of the Worker's isolate while submissions run one after the other, by the folder of the function on
// top. The client, the runtime's own threads and the disk are not in it.
import { readFileSync } from "node:fs";
import { z } from "zod";
import { openInspector } from "../harness/inspector.ts";
import type { Server } from "../harness/server.ts";
import { writeTask } from "../workers/scripted-model.ts";

const TURNS = 400;
const WARM_UP = 100;
const SAMPLE_MICROS = 100;

const FrameSchema = z.object({
  functionName: z.string(),
  url: z.string(),
  lineNumber: z.int(),
});
const ProfileSchema = z.object({
  nodes: z.array(z.object({ id: z.int(), callFrame: FrameSchema })),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.number()),
});
type Profile = z.infer<typeof ProfileSchema>;

export interface ProfileLine {
  readonly where: string;
  readonly microsPerTurn: number;
}

/** @param script the built Worker, not minified: its bundler says which file each part came from */
export async function profileTurn(
  { client, inspectorUrl }: Server,
  script: string,
): Promise<ProfileLine[]> {
  const submit = (n: number) =>
    client.submit({
      thread: `profile-${Math.floor(n / 5)}`,
      agent: "one-turn",
      task: writeTask({ steps: 0, deltas: 1 }),
      wait: 20,
    });
  for (let n = 0; n < WARM_UP; n += 1) await submit(n);
  const session = await openInspector(await inspectorUrl());
  try {
    await session.call("Profiler.enable");
    await session.call("Profiler.setSamplingInterval", { interval: SAMPLE_MICROS });
    await session.call("Profiler.start");
    for (let n = 0; n < TURNS; n += 1) await submit(WARM_UP + n);
    const stopped = z.object({ profile: ProfileSchema }).parse(await session.call("Profiler.stop"));
    return sum(stopped.profile, readFileSync(script, "utf8").split("\n"));
  } finally {
    session.close();
  }
}

function sum({ nodes, samples, timeDeltas }: Profile, source: readonly string[]): ProfileLine[] {
  const places = placesOf(source);
  const where = new Map(
    nodes.map(({ id, callFrame }) => [id, placeOf(callFrame, places)] as const),
  );
  const micros = new Map<string, number>();
  for (const [index, sample] of samples.entries()) {
    const place = where.get(sample) ?? "?";
    micros.set(place, (micros.get(place) ?? 0) + (timeDeltas[index] ?? 0));
  }
  return [...micros]
    .map(([place, total]) => ({ where: place, microsPerTurn: total / TURNS }))
    .toSorted((left, right) => right.microsPerTurn - left.microsPerTurn);
}

/** For each line of the bundle, the folder of the file that it came from: esbuild names the file above its part. */
function placesOf(source: readonly string[]): string[] {
  let place = "bundle";
  return source.map((line) => {
    const file = /^\/\/ (\S+\.[cm]?[jt]s)$/.exec(line)?.[1];
    if (file !== undefined) place = folderOf(file);
    return place;
  });
}

function folderOf(file: string): string {
  const path = file.replace(/^(?:\.\.\/)+/, "");
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  if (library !== undefined) return library;
  return path
    .split("/")
    .slice(0, path.startsWith("durable-objects/thread/") ? 3 : 2)
    .join("/");
}

function placeOf(
  { functionName, url, lineNumber }: z.infer<typeof FrameSchema>,
  places: readonly string[],
): string {
  if (functionName.startsWith("(")) return functionName;
  // Its modules have lines of their own, which are not the bundle's.
  if (url === "" || /^(?:node|cloudflare)-internal:/.test(url))
    return "the runtime's own functions";
  return places[lineNumber] ?? "bundle";
}
