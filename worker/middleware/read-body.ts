// A request's body as text: its media type is checked, and its size bounded, before it is read. What it holds is for the route's schema.
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { BODY_DEADLINE_MILLIS, MAX_BODY_BYTES } from "../../shared/limits.ts";
import { raceTimer } from "../../shared/race-timer.ts";
import type { AppEnv } from "../app-env.ts";

/** Leaves the text where the route's validator looks for it; an empty body is none, whatever type it was given. Throws `UnsupportedMediaType`,
 * `BodyTooLarge`, `MalformedRequest`. */
export const readBody = createMiddleware<AppEnv>(async (context, next) => {
  const { raw } = context.req;
  if (raw.body === null) return next();
  const type = context.req.header("content-type");
  const isJson = /^application\/json\s*(;|$)/i.test(type ?? "");
  // Servers hand over an empty stream where a request has no body.
  const mayBeEmpty = isJson || !Number(context.req.header("content-length"));
  if (!isJson && !mayBeEmpty) throw unsupported();
  const text = await readWithin(context);
  if (text === "") {
    const headers = new Headers(raw.headers);
    headers.delete("content-type");
    context.req.raw = new Request(raw.url, { method: raw.method, headers });
    return next();
  }
  if (!isJson) throw unsupported();
  Object.assign(context.req.bodyCache, { text: Promise.resolve(text) });
  return next();
});

function unsupported(): HoldfastError {
  return new HoldfastError("UnsupportedMediaType", "Send the body as application/json.");
}

/** A body that trickles in for ever is given up (SEC-04). */
function readWithin(context: Context<AppEnv>): Promise<string> {
  return raceTimer(readBounded(context), BODY_DEADLINE_MILLIS, () => {
    throw new HoldfastError("MalformedRequest", "The body did not arrive in time.");
  });
}

async function readBounded(context: Context<AppEnv>): Promise<string> {
  const declared = Number(context.req.header("content-length") ?? 0);
  if (declared > MAX_BODY_BYTES) throw tooLarge();
  const { body } = context.req.raw;
  if (body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  try {
    // A declared length is one that the platform holds the body to.
    if (declared > 0) return decoder.decode(await context.req.raw.arrayBuffer());
    let bytes = 0;
    let text = "";
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BODY_BYTES) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw new HoldfastError("MalformedRequest", "The body is not UTF-8 text. Encode it as UTF-8.", {
      cause,
    });
  }
}

function tooLarge(): HoldfastError {
  return new HoldfastError("BodyTooLarge", `A body is at most ${MAX_BODY_BYTES} bytes.`);
}
