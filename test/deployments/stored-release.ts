// The threads that an earlier release left on the disk, as `make-fixture.ts` wrote them and `storage.test.ts` expects them.
import { join } from "node:path";
import type { Job } from "./job.ts";

/** The last release with three thread migrations, and its storage. */
export const RELEASE = "6c2f0e2";
export const RELEASE_MIGRATIONS = 3;
export const FIXTURE = join(import.meta.dirname, "fixture", RELEASE);

/** A settled run, one that waits for approval, and one behind it that was never begun. */
export const ASKED = "asked";
/** Never begun, and due: its alarm is long past. */
export const OWED = "owed";

interface StoredSubmission {
  readonly key: string;
  readonly input: Job;
}

/** What was submitted to them, in this order. */
export const STORED: Readonly<Record<typeof ASKED | typeof OWED, readonly StoredSubmission[]>> = {
  [ASKED]: [
    { key: "settled", input: { job: "settled", turns: [["act"], ["look_up", "note"]] } },
    { key: "asking", input: { job: "asking", turns: [["guarded"]] } },
    { key: "queued", input: { job: "queued", turns: [["act"]] } },
  ],
  [OWED]: [
    { key: "aborted", input: { job: "aborted", turns: [["guarded"]] } },
    { key: "owed", input: { job: "owed", turns: [["act"]] } },
  ],
};
