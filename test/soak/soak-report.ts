// What the soak test prints: the lives of the server, and everything that was counted.
import type { Ending } from "./soak-check.ts";
import type { Life } from "./soak-kills.ts";
import type { SoakWorld } from "./soak-world.ts";

const MIB = 1_024 * 1_024;

export function printSoak(world: SoakWorld, lives: readonly Life[], ending: Ending): void {
  let before = { turnsAtEnd: 0, storageBytesAtEnd: 0 };
  console.table(
    lives.map((life, index) => {
      const isLast = index === lives.length - 1;
      const at = isLast
        ? { turnsAtEnd: world.counted("turns"), storageBytesAtEnd: ending.storageBytes }
        : life;
      const turns = at.turnsAtEnd - before.turnsAtEnd;
      const grown = at.storageBytesAtEnd - before.storageBytesAtEnd;
      before = at;
      return {
        "started at, s": life.startedAtSeconds.toFixed(0),
        "RSS after start, MiB": life.rssAfterStartMiB.toFixed(1),
        "RSS at its end, MiB": life.rssAtEndMiB.toFixed(1),
        "settled turns": at.turnsAtEnd,
        "storage, MiB": (at.storageBytesAtEnd / MIB).toFixed(2),
        "bytes per new turn": turns === 0 ? "-" : Math.round(grown / turns),
      };
    }),
  );
  const counts = [...world.counts].toSorted(([one], [other]) => one.localeCompare(other));
  for (const [what, count] of counts) console.log(`${what}: ${count}`);
  console.log(
    [
      `${ending.records} records on ${ending.threads} threads, ${ending.unknown} unknown outcomes`,
      `storage: ${(ending.storageBytes / MIB).toFixed(2)} MiB, ${Math.round(ending.storageBytes / Math.max(1, world.counted("turns")))} bytes per settled turn`,
      `history checker: ${ending.violations} violations`,
    ].join("\n"),
  );
}
