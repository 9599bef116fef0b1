// Server-sent events as the standard says, read by other code than the product's, and held against their schema.
import { ThreadEventSchema, type ThreadEvent } from "../../shared/wire/events.ts";

/** Ends with the stream; rejects where it breaks off. */
export async function* readEvents(stream: ReadableStream): AsyncGenerator<ThreadEvent> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let unread = "";
  for await (const chunk of stream) {
    unread += decoder.decode(chunk, { stream: true });
    for (let end = unread.indexOf("\n\n"); end >= 0; end = unread.indexOf("\n\n")) {
      const event = parseBlock(unread.slice(0, end));
      unread = unread.slice(end + 2);
      if (event !== null) yield event;
    }
  }
}

function parseBlock(block: string): ThreadEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ""));
  }
  const data = fields.get("data");
  if (data === undefined) return null;
  const event = ThreadEventSchema.parse({ event: fields.get("event"), data: JSON.parse(data) });
  if (event.event === "record" && fields.get("id") !== String(event.data.sequence)) {
    throw new Error(`record ${event.data.sequence} has the id ${fields.get("id")}`);
  }
  return event;
}
