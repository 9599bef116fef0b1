// What a model is told of the shape of its arguments and answers.
import type { JSONSchema7 } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { closeSchema, isStrictSchema } from "../../../durable-objects/model/close-schema.ts";
import { jsonSchemaOf } from "../../../shared/define/json-schema.ts";

function closed(schema: z.ZodType) {
  return closeSchema(jsonSchemaOf(schema, "output"));
}

describe("[RUN-16] a schema as models get it", () => {
  it("has no object that is left open, however deep", () => {
    const inner = z.object({ a: z.string() });
    const schema = closed(
      z.object({
        list: z.array(inner),
        pair: z.tuple([inner, z.string()]),
        either: z.union([inner, z.null()]),
        kinds: z.discriminatedUnion("k", [z.object({ k: z.literal(1) })]),
        table: z.record(z.string(), inner),
        empty: z.object({}),
      }),
    );
    const objects = JSON.stringify(schema).match(/"properties":/g) ?? [];
    const ends = JSON.stringify(schema).match(/"additionalProperties":false/g) ?? [];
    expect(objects).toHaveLength(7);
    expect(ends).toHaveLength(7);
    expect(schema.properties?.["table"]).toMatchObject({
      additionalProperties: { type: "object" },
    });
  });

  it("is closed in the definitions of a recursive one", () => {
    const Tree: z.ZodType = z.object({
      name: z.string(),
      get children() {
        return z.array(Tree);
      },
    });
    expect(JSON.stringify(closed(z.object({ tree: Tree })))).toMatch(
      /"additionalProperties":false/,
    );
  });

  it("stays open where the author said so, and in an intersection", () => {
    expect(closed(z.looseObject({ a: z.string() })).additionalProperties).toEqual({});
    expect(closed(z.object({ a: z.string() }).catchall(z.int()))).toMatchObject({
      additionalProperties: { type: "integer" },
    });
    const part = { type: "object", properties: { a: { type: "integer" } } } as const;
    const both: JSONSchema7 = { ...part, allOf: [part, part] };
    expect(closeSchema(both)).toBe(both);
  });

  it("is a copy: what callers and digests see stays as it was", () => {
    const schema = jsonSchemaOf(z.object({ a: z.object({ b: z.int() }) }), "output");
    const before = JSON.stringify(schema);
    closeSchema(schema);
    expect(JSON.stringify(schema)).toBe(before);
  });
});

describe("[RUN-16] OpenAI's strict mode", () => {
  const strict = (schema: z.ZodType) =>
    isStrictSchema(closeSchema(jsonSchemaOf(schema, "a schema")));

  it.each([
    ["fields that have to be there", z.object({ a: z.string(), b: z.array(z.int()) })],
    ["what may be null", z.object({ a: z.string().nullable() })],
    ["objects in objects", z.object({ a: z.object({ b: z.enum(["x"]) }) })],
    [
      "a union whose members are told apart",
      z.object({
        a: z.discriminatedUnion("kind", [
          z.object({ kind: z.literal("x"), n: z.int() }),
          z.object({ kind: z.literal("y") }),
        ]),
      }),
    ],
  ])("takes %s", (_what, schema) => {
    expect(strict(schema)).toBe(true);
  });

  it.each([
    ["an optional field", z.object({ a: z.string().optional() })],
    ["one far inside", z.object({ a: z.array(z.object({ b: z.string().optional() })) })],
    ["a record", z.object({ a: z.record(z.string(), z.string()) })],
    ["an object that is open", z.looseObject({ a: z.string() })],
    ["a tuple", z.object({ a: z.tuple([z.string(), z.int()]) })],
    ["anything", z.object({ a: z.any() })],
    ["a root that is no object", z.string()],
    ["a list", z.array(z.string())],
    ["a union", z.union([z.string(), z.int()])],
  ])("does not take %s, which is then sent without it", (_what, schema) => {
    expect(strict(schema)).toBe(false);
  });
});
