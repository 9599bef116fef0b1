// The embedded model, its samples, and how a model is found.
import type { JSONSchema7, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { environment } from "../support/environment.ts";
import { defineAgent } from "../../../shared/define/agent.ts";
import { jsonSchemaOf } from "../../../shared/define/json-schema.ts";
import { callModel } from "../../../durable-objects/model/call-model.ts";
import { ModelNotConfigured } from "../../../durable-objects/model/classify-failure.ts";
import { localModel, type LocalScript } from "../../../durable-objects/model/local-model.ts";
import {
  chooseModel,
  identifyModel,
  resolveModel,
} from "../../../durable-objects/model/resolve-model.ts";
import { sampleJson } from "../../../durable-objects/model/sample-json.ts";
import { finish, streaming } from "../support/models.ts";

const PROMPT: LanguageModelV4Prompt = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "Hello there" }] },
];

function answer(script: LocalScript | null, schema?: JSONSchema7) {
  return callModel({
    model: localModel("assistant", script),
    options: {
      prompt: PROMPT,
      ...(schema === undefined ? {} : { responseFormat: { type: "json", schema } }),
    },
    signal: new AbortController().signal,
    idleTimeoutMillis: 1_000,
  });
}

describe("[GW-03] the local model", () => {
  it("answers the same prompt the same, and says that it is the local model", async () => {
    const first = await answer(null);
    expect(first).toEqual(await answer(null));
    expect(JSON.stringify(first)).toContain("local model");
    expect(first).toMatchObject({ kind: "responded", response: { finishReason: "stop" } });
  });

  it("answers with a sample where an output schema is asked for", async () => {
    const schema = z.object({ city: z.string(), days: z.int().min(1) });
    const outcome = await answer(null, jsonSchemaOf(schema, "output"));
    if (outcome.kind !== "responded") throw new Error(outcome.kind);
    const [part] = outcome.response.content;
    expect(part?.type === "text" && schema.safeParse(JSON.parse(part.text)).success).toBe(true);
  });

  it("plays its script, text or calls", async () => {
    expect(await answer(() => ({ text: "two  words" }))).toMatchObject({
      response: { content: [{ text: "two  words" }] },
    });
    const calls = [
      { tool: "act", input: { n: 1 } },
      { tool: "act", input: {} },
    ];
    expect(await answer(() => ({ calls }))).toMatchObject({
      response: {
        finishReason: "tool-calls",
        callFaults: [],
        content: [
          { toolCallId: "call-1-0", toolName: "act", input: { n: 1 } },
          { toolCallId: "call-1-1", toolName: "act", input: {} },
        ],
      },
    });
  });
});

describe("a sample of a schema", () => {
  const SCHEMAS: Record<string, z.ZodType> = {
    string: z.string(),
    "long enough string": z.string().min(3).max(8),
    integer: z.int(),
    "bounded integer": z.int().min(7).max(9),
    "positive number": z.number().positive(),
    boolean: z.boolean(),
    null: z.null(),
    enum: z.enum(["b", "a"]),
    literal: z.literal(4),
    "default value": z.string().default("x"),
    nullable: z.string().nullable(),
    array: z.array(z.int()),
    "long array": z.array(z.boolean()).min(3),
    union: z.union([z.object({ a: z.string() }), z.int()]),
    "discriminated union": z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), n: z.int() }),
      z.object({ kind: z.literal("b") }),
    ]),
    object: z.object({ a: z.string(), b: z.object({ c: z.array(z.string()) }) }),
    "strict object": z.strictObject({ a: z.int(), b: z.string().optional() }),
    record: z.record(z.string(), z.int()),
    "any JSON": z.unknown(),
  };

  for (const [name, schema] of Object.entries(SCHEMAS)) {
    it(`[GW-03] fits its schema: ${name}`, () => {
      const sample = sampleJson(jsonSchemaOf(schema, name), "some free text");
      expect(schema.safeParse(sample).error).toBeUndefined();
    });
  }
});

describe("[GW-03] finding a model", () => {
  const agent = defineAgent({
    id: "a",
    revision: 1,
    description: "d",
    input: z.string(),
    instructions: "i",
    model: (env) => `local/${String(Reflect.get(env, "NAME"))}`,
  });

  it("HOLDFAST_MODEL comes before the agent's own choice, unless it is empty", () => {
    expect(chooseModel(agent, environment({ NAME: "x" }))).toBe("local/x");
    expect(chooseModel(agent, environment({ NAME: "x", HOLDFAST_MODEL: "local/y" }))).toBe(
      "local/y",
    );
    expect(chooseModel(agent, environment({ NAME: "x", HOLDFAST_MODEL: "" }))).toBe("local/x");
  });

  it("an id names its provider and model; a model names itself", () => {
    expect(identifyModel("workers-ai/@cf/meta/llama")).toEqual({
      provider: "workers-ai",
      name: "@cf/meta/llama",
    });
    expect(identifyModel(streaming([]))).toEqual({ provider: "test", name: "model" });
  });

  it("makes local models, registered ones, and hands back one that is given", () => {
    const made = streaming([finish()]);
    expect(resolveModel("local/x", {}, environment()).modelId).toBe("x");
    expect(resolveModel("my/model", { "my/model": { create: () => made } }, environment())).toBe(
      made,
    );
    expect(resolveModel(made, {}, environment())).toBe(made);
  });

  it.each(["elsewhere/gpt", "local", "local/", "openai", "", "toString", "__proto__"])(
    "refuses %j with advice",
    (id) => {
      expect(() => resolveModel(id, {}, environment())).toThrow(ModelNotConfigured);
      expect(() => resolveModel(id, {}, environment())).toThrow(/HOLDFAST_MODEL/);
    },
  );
});
