// Every scenario ends here: the history checker over all that the thread and the world hold.
import { expect } from "vitest";
import { checkHistory, type Evidence } from "./history-checker.ts";
import type { ThreadDriver } from "./thread-driver.ts";
import { world } from "./world.ts";

/** Lets the running pass end, then expects no broken promise. */
export async function expectSound(
  thread: ThreadDriver,
  evidence: Partial<Evidence> = {},
): Promise<void> {
  await thread.quiet();
  const dump = await thread.dump();
  expect(
    checkHistory(dump, {
      receipts: [],
      executions: world.executions,
      acknowledgedTail: 0,
      isQuiet: true,
      readTools: new Set(["look", "hasty_look"]),
      ...evidence,
    }),
  ).toEqual([]);
}
