// The operations of the API as its own OpenAPI document describes them, and whether an answer is one that it promises.
import { expect } from "vitest";
import { z } from "zod";
import { Schema, SchemaNodeSchema } from "../../support/schema-values.ts";
import { sendBare } from "../http-client.ts";

const AnswersSchema = z.record(
  z.string(),
  z.object({
    description: z.string(),
    content: z.record(z.string(), z.object({ schema: SchemaNodeSchema })),
  }),
);

const OperationSchema = z.object({
  operationId: z.string(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.enum(["path", "query", "header"]),
        required: z.boolean(),
        schema: SchemaNodeSchema,
      }),
    )
    .default([]),
  requestBody: z
    .object({
      required: z.boolean(),
      content: z.strictObject({ "application/json": z.object({ schema: SchemaNodeSchema }) }),
    })
    .optional(),
  responses: AnswersSchema,
});

const DocumentSchema = z.object({
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
  paths: z.record(z.string(), z.record(z.string(), OperationSchema)),
});

export interface ApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly isRequired: boolean;
  readonly schema: Schema;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly method: string;
  /** With its parameters in braces. */
  readonly path: string;
  readonly parameters: readonly ApiParameter[];
  readonly body: { readonly isRequired: boolean; readonly schema: Schema } | null;
  /** By status. */
  readonly answers: ReadonlyMap<number, DocumentedAnswer>;
}

interface DocumentedAnswer {
  readonly description: string;
  readonly mediaTypes: readonly string[];
  /** Null for what is no JSON. */
  readonly schema: z.ZodType | null;
}

export async function readApiDocument(): Promise<ApiOperation[]> {
  const document = DocumentSchema.parse((await sendBare("/openapi.json")).json);
  const { schemas } = document.components;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): ApiOperation => {
      const body = operation.requestBody;
      return {
        operationId: operation.operationId,
        method: method.toUpperCase(),
        path,
        parameters: operation.parameters.map(({ name, in: place, required, schema }) => ({
          name,
          in: place,
          isRequired: required,
          schema: new Schema(schema, schemas, name),
        })),
        body:
          body === undefined
            ? null
            : {
                isRequired: body.required,
                schema: new Schema(body.content["application/json"].schema, schemas),
              },
        answers: readAnswers(operation.responses, schemas),
      };
    }),
  );
}

function readAnswers(
  responses: z.infer<typeof AnswersSchema>,
  schemas: Readonly<Record<string, unknown>>,
): Map<number, DocumentedAnswer> {
  return new Map(
    Object.entries(responses).map(([status, { description, content }]) => {
      const json = content["application/json"] ?? content["application/problem+json"];
      return [
        Number(status),
        {
          description,
          mediaTypes: Object.keys(content),
          schema: json === undefined ? null : compileSchema(json.schema, schemas),
        },
      ];
    }),
  );
}

/** By zod's own reading of JSON Schema, which knows nothing of the schemas that the document was made from. */
function compileSchema(schema: object, schemas: Readonly<Record<string, unknown>>): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")));
}

/** Expects an answer that the document promises for this operation: its status, its media type, its body, the code of its problem. */
export function expectDocumented(
  { operationId, answers }: ApiOperation,
  status: number,
  contentType: string,
  json: unknown,
): void {
  const documented = answers.get(status);
  if (documented === undefined)
    throw new Error(`${operationId} does not say that it answers ${status}`);
  expect(documented.mediaTypes).toContain(contentType.split(";")[0]);
  if (documented.schema !== null) documented.schema.parse(json);
  if (status < 400) return;
  const { code } = z.object({ code: z.string() }).parse(json);
  expect(documented.description.split(/[ ,]+/)).toContain(code);
}
