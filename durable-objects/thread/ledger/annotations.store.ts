// SQL for the notes on unknown outcomes of settled runs: a column of the submission's own row.
import { z } from "zod";
import type { Database } from "../../platform/database.ts";
import { positionOf } from "../position.ts";

/** A note on the unknown outcome of a settled run. */
const AnnotationSchema = z.object({
  operationId: z.string(),
  decisionDigest: z.string(),
  sequence: z.int(),
});
export type Annotation = z.infer<typeof AnnotationSchema>;

export class AnnotationsStore {
  readonly #database: Database;
  readonly #thread: number;

  constructor(database: Database, thread: number) {
    this.#database = database;
    this.#thread = thread;
  }

  of(queueSequence: number): Annotation[] {
    const text = this.#database.row<{ annotations: string | null }>(
      "SELECT annotations FROM submissions WHERE position = ?",
      positionOf(this.#thread, queueSequence),
    )?.annotations;
    return text === null || text === undefined
      ? []
      : z.array(AnnotationSchema).parse(JSON.parse(text));
  }

  add(queueSequence: number, annotation: Annotation): void {
    this.#database.run(
      "UPDATE submissions SET annotations = ? WHERE position = ?",
      JSON.stringify([...this.of(queueSequence), annotation]),
      positionOf(this.#thread, queueSequence),
    );
  }
}
