// What a recorded stream is: the events of one answer as its provider sends them, what it is there to show, and how the call has to end.
import type { SharedV4ProviderOptions } from "@ai-sdk/provider";
import { canonicalJson, type JsonValue } from "../../../../shared/canonical-json.ts";
import type { ModelFault } from "../../../../durable-objects/model/classify-failure.ts";

/** What has to be shown of every provider; the columns of the table. */
export const CASES = [
  "text",
  "reasoning",
  "redacted reasoning",
  "parallel calls",
  "fragmented arguments",
  "text and call",
  "provider tool",
  "sources",
  "refusal",
  "content filter",
  "cut by length",
  "ends midway",
  "connection lost",
  "error event",
  "usage",
  "empty",
] as const;
export type Case = (typeof CASES)[number];

export type Json = Readonly<Record<string, unknown>>;

/** One event of a stream, as JSON on the wire; a string is sent as it is. */
export type Frame = Json | string;

export interface RecordedStream {
  readonly name: string;
  readonly covers: readonly Case[];
  readonly frames: readonly Frame[];
  /** How the connection ends: in order, or torn. */
  readonly isTorn?: true;
  /** Tools of the provider that the request declares. */
  readonly providerTools?: readonly string[];
  /** How the call has to fail; without it, it has to be an answer. */
  readonly fault?: { readonly isTransient: boolean; readonly reason?: ModelFault["reason"] };
  /** Where we legitimately differ from the AI SDK, and why. */
  readonly differs?: {
    /** Of the input of calls that is no JSON object, as it is kept. */
    readonly inputs?: string;
    /** Of whether calling again may help. */
    readonly retry?: string;
    /** Of the request that gives it back. */
    readonly request?: string;
  };
}

export interface Provider {
  readonly name: string;
  readonly modelId: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly dialect: Dialect;
  readonly streams: readonly RecordedStream[];
  /** Cells of the table that this provider cannot have, and why. */
  readonly notApplicable: Partial<Readonly<Record<Case, string>>>;
  readonly providerOptions?: SharedV4ProviderOptions;
}

/** The API that is spoken: how it frames events, what it refuses, and how it says so. */
export interface Dialect {
  readonly frame: (frame: Frame) => string;
  /** Reads the issued stream and a later request; says what the real API would refuse, or null. */
  readonly refuse: (request: unknown, issued: readonly Frame[]) => string | null;
  readonly errorBody: (message: string) => unknown;
  /** The answer to a second request. */
  readonly goodbye: readonly Frame[];
}

/** An SSE event that names its type, as OpenAI and Anthropic send them. */
export function typedEvent(frame: Frame): string {
  if (typeof frame === "string") return frame;
  return `event: ${String(frame["type"])}\ndata: ${JSON.stringify(frame)}\n\n`;
}

export function dataEvent(frame: Frame): string {
  return `data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`;
}

/** JSON in which the order of fields does not matter. */
export function canonicalText(value: unknown): string {
  const json: JsonValue = JSON.parse(JSON.stringify(value ?? null));
  return canonicalJson(json);
}

/** Pieces of a text of `size` UTF-16 units: cuts inside escapes and between surrogates included. */
export function pieces(text: string, size: number): string[] {
  const result: string[] = [];
  for (let at = 0; at < text.length; at += size) result.push(text.slice(at, at + size));
  return result;
}

/** Arguments with an escape, a character of several bytes and one outside the basic plane; an escape is cut by every odd size. */
export const ODD_ARGUMENTS = String.raw`{"city":"Troms\u00f8","note":"Ærlig: 北 \"🌧\"","days":[1,2]}`;
export const ODD_INPUT = { city: "Tromsø", note: 'Ærlig: 北 "🌧"', days: [1, 2] };

export const BROKE_OFF = { reason: "broke-off", isTransient: true } as const;
export const FILTERED = { reason: "content-filter", isTransient: false } as const;
export const LOST = { reason: "connection", isTransient: true } as const;

export const TAKEN = { retry: "the request was taken, and nothing in the error blames it" };

/** Providers refuse a message that ends in a thought; the AI SDK gives it back. */
export const NO_LAST_THOUGHT = "a thought at the end of a cut answer is not given back";

export const KEPT_MALFORMED = {
  inputs: "the arguments that are no object are kept for the record",
  request: "the model reads its own malformed arguments; the AI SDK gives it an empty object",
};

/** The AI SDK's client drops the message too, but merges what stands around it. */
export const NO_EMPTY_MESSAGE = "an answer of nothing but the provider's marks is no message";
