// Google's generateContent, as streamed: each chunk holds parts of the one candidate; the last says why it ended and what it cost.
import { BROKE_OFF, FILTERED, LOST, NO_LAST_THOUGHT, pieces } from "./wire.ts";
import type { Frame, Json, RecordedStream } from "./wire.ts";

const USAGE = {
  promptTokenCount: 40,
  cachedContentTokenCount: 24,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 5,
  totalTokenCount: 52,
};
const OF_MODEL = { modelVersion: "gemini-3-flash", responseId: "resp-1" };

function chunk(parts: readonly Json[], rest: Json = {}): Json {
  const content = { role: "model", parts };
  return { candidates: [{ content, index: 0, ...rest }], usageMetadata: USAGE, ...OF_MODEL };
}

function text(...texts: readonly string[]): Json[] {
  return texts.map((value) => chunk([{ text: value }]));
}

function closed(finishReason = "STOP", rest: Json = {}): Json {
  return chunk([{ text: "" }], { finishReason, ...rest });
}

function thought(...texts: readonly string[]): Json[] {
  return texts.map((value) => chunk([{ text: value, thought: true }]));
}

function call(id: string | null, args: Json, thoughtSignature?: string): Json {
  const functionCall = { name: "weather", args, ...(id === null ? {} : { id }) };
  return chunk([{ functionCall, ...(thoughtSignature === undefined ? {} : { thoughtSignature }) }]);
}

const OSLO = { city: "Oslo" };

const GROUNDING = {
  webSearchQueries: ["weather oslo"],
  searchEntryPoint: { renderedContent: "<div>weather oslo</div>" },
  groundingChunks: [
    { web: { uri: "https://yr.example/oslo", title: "yr.example" } },
    { web: { uri: "https://smhi.example", title: "smhi.example" } },
  ],
  groundingSupports: [
    { segment: { startIndex: 0, endIndex: 8, text: "It rains" }, groundingChunkIndices: [0, 1] },
  ],
};

/** Arguments as they are streamed when the request asks for it: values by path, strings in pieces. */
function streamedCall(note: string): Json[] {
  const partial = (partialArg: Json, more: Json = {}): Json =>
    chunk([{ functionCall: { partialArgs: [partialArg], willContinue: true, ...more } }]);
  return [
    chunk([
      {
        functionCall: { id: "fn_1", name: "weather", willContinue: true },
        thoughtSignature: "proof-of-thought",
      },
    ]),
    partial({ jsonPath: "$.city", stringValue: "Tromsø" }),
    ...pieces(note, 3).map((stringValue) =>
      partial({ jsonPath: "$.note", stringValue, willContinue: true }),
    ),
    partial({ jsonPath: "$.note", stringValue: "" }),
    chunk([{ functionCall: {} }]),
  ];
}

export const GOOGLE_STREAMS: readonly RecordedStream[] = [
  {
    name: "plain text",
    covers: ["text", "usage"],
    frames: [...text("Regn ", "i Tromsø 🌧", "."), closed()],
  },
  {
    name: "thought, then text signed by an empty part",
    covers: ["reasoning"],
    frames: [
      ...thought("First the coast. ", "Then the fjord."),
      ...text("Rain."),
      chunk([{ text: "", thoughtSignature: "proof-of-thought" }], { finishReason: "STOP" }),
    ],
  },
  {
    name: "thought, then a signed call",
    covers: ["reasoning"],
    frames: [...thought("I look."), call("fn_1", OSLO, "proof-of-thought"), closed()],
  },
  {
    name: "a signature by itself",
    covers: ["reasoning"],
    frames: [
      call("fn_1", OSLO, "proof-of-thought"),
      chunk([{ text: "", thoughtSignature: "proof-of-more" }], { finishReason: "STOP" }),
    ],
  },
  {
    name: "two calls of which the first is signed",
    covers: ["parallel calls"],
    frames: [call("fn_1", OSLO, "proof-of-thought"), call("fn_2", { city: "Bergen" }), closed()],
  },
  {
    name: "two calls without ids",
    covers: ["parallel calls"],
    frames: [call(null, OSLO, "proof-of-thought"), call(null, { city: "Bergen" }), closed()],
  },
  {
    name: "arguments in fragments",
    covers: ["fragmented arguments"],
    frames: [...streamedCall('Ærlig: 北 "🌧"'), closed()],
  },
  {
    name: "text, then a call without arguments",
    covers: ["text and call"],
    frames: [
      ...text("I look."),
      chunk([
        {
          functionCall: { name: "weather", args: {}, id: "fn_1" },
          thoughtSignature: "proof-of-thought",
        },
      ]),
      closed(),
    ],
  },
  {
    name: "grounded by search",
    covers: ["sources"],
    providerTools: ["google.google_search"],
    frames: [...text("It ", "rains."), closed("STOP", { groundingMetadata: GROUNDING })],
  },
  {
    name: "code execution",
    covers: ["provider tool"],
    providerTools: ["google.code_execution"],
    frames: [
      ...text("I count."),
      chunk([{ executableCode: { language: "PYTHON", code: "print(6 * 7)" } }]),
      chunk([{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "42\n" } }]),
      ...text("It is 42."),
      closed(),
    ],
  },
  {
    name: "search as a tool of the server, then a call",
    covers: ["provider tool"],
    providerTools: ["google.google_search"],
    frames: [
      chunk([
        {
          toolCall: { toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["oslo"] }, id: "srv_1" },
          thoughtSignature: "proof-of-search",
        },
      ]),
      chunk([
        {
          toolResponse: {
            toolType: "GOOGLE_SEARCH_WEB",
            response: { search_suggestions: "<div>oslo</div>" },
            id: "srv_1",
          },
          thoughtSignature: "proof-of-result",
        },
      ]),
      call("fn_1", OSLO, "proof-of-thought"),
      closed(),
    ],
  },
  {
    name: "picture between texts",
    covers: ["text"],
    frames: [
      ...text("Look: "),
      chunk([
        {
          inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" },
          thoughtSignature: "proof-of-picture",
        },
      ]),
      ...text("Rain."),
      closed(),
    ],
  },
  {
    name: "answer stopped for safety",
    covers: ["refusal", "content filter"],
    frames: [
      ...text("The"),
      closed("SAFETY", {
        safetyRatings: [
          { category: "HARM_CATEGORY_DANGEROUS_CONTENT", probability: "HIGH", blocked: true },
        ],
      }),
    ],
    fault: FILTERED,
  },
  {
    name: "prompt that is blocked",
    covers: ["content filter"],
    frames: [
      { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: USAGE, ...OF_MODEL },
    ],
    fault: FILTERED,
  },
  {
    name: "text cut by length",
    covers: ["cut by length"],
    frames: [...text("The rain"), closed("MAX_TOKENS")],
  },
  {
    name: "call cut by length",
    covers: ["cut by length"],
    frames: [...streamedCall("never ends").slice(0, 3), closed("MAX_TOKENS")],
  },
  {
    name: "thought cut by length",
    covers: ["cut by length"],
    frames: [...thought("So long"), closed("MAX_TOKENS")],
    differs: { request: NO_LAST_THOUGHT },
  },
  {
    name: "call that is malformed",
    covers: ["error event"],
    frames: [
      closed("MALFORMED_FUNCTION_CALL", { finishMessage: "Malformed function call: weather(" }),
    ],
    fault: BROKE_OFF,
  },
  {
    name: "stream that ends midway",
    covers: ["ends midway"],
    frames: text("The rain", " in"),
    fault: BROKE_OFF,
  },
  {
    name: "connection torn midway",
    covers: ["connection lost"],
    frames: text("The rain", " in"),
    isTorn: true,
    fault: LOST,
  },
  {
    name: "error object after output",
    covers: ["error event"],
    frames: [
      ...text("The"),
      { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } },
    ],
    fault: { isTransient: true },
  },
  {
    name: "error object before any output",
    covers: ["error event"],
    frames: [{ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }],
    fault: { isTransient: true },
  },
  {
    name: "empty answer",
    covers: ["empty"],
    frames: [closed()],
  },
];

export const GOOGLE_GOODBYE: readonly Frame[] = [...text("Bye."), closed()];
