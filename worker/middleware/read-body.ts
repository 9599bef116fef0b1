// A request's JSON body: its size is bounded before it is read, its depth before it is walked, its shape by a schema.
import type { Context } from "hono";
import type { z } from "zod";
import { decodeRequest, type RequestWording } from "../../shared/decode-request.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { MAX_BODY_BYTES } from "../../shared/limits.ts";
import type { AppEnv } from "../app-env.ts";

const BODY: RequestWording = {
  what: "The body",
  misshapen: "The body does not have the shape of this request.",
};

/** The decoded body. Throws `UnsupportedMediaType`, `BodyTooLarge`, or `MalformedRequest` with JSON Pointers. */
export async function readBody<Schema extends z.ZodType>(
  context: Context<AppEnv>,
  schema: Schema,
): Promise<z.output<Schema>> {
  return decodeRequest(schema, parseJson(await readBounded(context)), BODY);
}

/** The same, where everything in the body may be left out: no body is an empty object. */
export async function readOptionalBody<Schema extends z.ZodType>(
  context: Context<AppEnv>,
  schema: Schema,
): Promise<z.output<Schema>> {
  return context.req.raw.body === null ? schema.parse({}) : readBody(context, schema);
}

async function readBounded(context: Context<AppEnv>): Promise<string> {
  const type = context.req.header("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new HoldfastError("UnsupportedMediaType", "Send the body as application/json.");
  }
  const declared = Number(context.req.header("content-length") ?? 0);
  if (declared > MAX_BODY_BYTES) throw tooLarge();
  const { body } = context.req.raw;
  if (body === null) return "";
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  // A declared length is one that the platform holds the body to.
  if (declared > 0) return decodeWhole(decoder, await context.req.raw.arrayBuffer());
  let bytes = 0;
  let text = "";
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > MAX_BODY_BYTES) throw tooLarge();
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw notUtf8(error);
  }
}

function decodeWhole(decoder: TextDecoder, bytes: ArrayBuffer): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw notUtf8(cause);
  }
}

function notUtf8(cause: unknown): HoldfastError {
  return new HoldfastError("MalformedRequest", "The body is not UTF-8 text. Encode it as UTF-8.", {
    cause,
  });
}

function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch (cause) {
    throw new HoldfastError("MalformedRequest", "The body is not JSON. Send one JSON object.", {
      cause,
    });
  }
}

function tooLarge(): HoldfastError {
  return new HoldfastError("BodyTooLarge", `A body is at most ${MAX_BODY_BYTES} bytes.`);
}
