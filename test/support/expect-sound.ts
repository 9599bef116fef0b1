// Every scenario ends here: the history checker over all that the thread and the world hold.
import { expect } from "vitest";
import type { Evidence } from "../../shared/testing/evidence.ts";
import type { ThreadDriver } from "./thread-driver.ts";

/** Lets the running pass end, then expects no broken promise. */
export async function expectSound(
  thread: ThreadDriver,
  evidence: Partial<Evidence> = {},
): Promise<void> {
  const readTools = new Set(["look", "hasty_look"]);
  expect(await thread.violations({ readTools, ...evidence })).toEqual([]);
}
