// A thread's whole log as lines of JSON, a page at a time: nothing is read before the client took what came before it (OBS-05).
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import type { RecordPage } from "../../shared/wire/progress.ts";

/**
 * The records past `after`, one a line, as far as the log went when it was first read. Resumable: the last whole line's `sequence` is the next
 * `after`. The first page is read before this resolves, so that what refuses it is thrown and not streamed; what stops a later one breaks the
 * stream off, and never ends it as if it were whole.
 */
export async function exportLog(
  after: number,
  readPage: (after: number) => Promise<RecordPage>,
): Promise<ReadableStream<Uint8Array>> {
  const first = await readPage(after);
  const encoder = new TextEncoder();
  let page: RecordPage | null = first;
  let next = after;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        page ??= await readPage(next);
        if (page.records.length > 0) controller.enqueue(encoder.encode(renderLines(page)));
        else if (next < first.tail) throw missing(next + 1);
        next = page.next;
        page = null;
        if (next >= first.tail) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

function renderLines({ records }: RecordPage): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

function missing(sequence: number): HoldfastError {
  return new HoldfastError("Defect", `Record ${sequence} is not there.`);
}
