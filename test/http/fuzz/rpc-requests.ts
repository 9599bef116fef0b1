// Requests over RPC at random: for each operation right ones from its schema, and ones with one part wrong, the caller included.
import * as fc from "fast-check";
import { z } from "zod";
import { CallerSchema } from "../../../shared/wire/access.ts";
import { RequestSchemas, type ThreadOperation } from "../../../shared/wire/requests.ts";
import { bentValues, rightValues, Schema, SchemaNodeSchema } from "../../support/schema-values.ts";
import { TESTER } from "../../support/thread-driver.ts";
import { SCENES, type SceneKind } from "./scenes.ts";
import { STRANGE_RPC, strangeValues } from "./strange-values.ts";
import { wordsOf } from "./words.ts";

export interface RpcRequest {
  /** What is wrong with it; null: nothing. */
  readonly fault: string | null;
  readonly scene: SceneKind;
  /** What the binding or the Worker says of who calls. */
  readonly caller: unknown;
  readonly request: unknown;
}

/** The fault of one whom nobody is: refused, whatever is asked. */
export const NO_CALLER = "no caller";

function schemaOf(type: z.ZodType): Schema {
  const { $defs = {}, ...node } = z.toJSONSchema(type, { io: "input", unrepresentable: "any" });
  return new Schema(SchemaNodeSchema.parse(node), $defs);
}

export const OPERATIONS = z
  .array(z.custom<ThreadOperation>((name) => typeof name === "string" && name in RequestSchemas))
  // A scene that is deleted has nothing left to be asked for: test/objects/deletion.test.ts has deletion.
  .parse(Object.keys(RequestSchemas).filter((name) => name !== "deleteThread"));

const SCHEMAS = new Map(
  OPERATIONS.map((operation) => [operation, schemaOf(RequestSchemas[operation])]),
);
const CALLER = schemaOf(CallerSchema);

function requestSchema(operation: ThreadOperation): Schema {
  const schema = SCHEMAS.get(operation);
  if (schema === undefined) throw new Error(`no schema of ${operation}`);
  return schema;
}

/** Decisions need something to decide. */
function scenesFor(operation: ThreadOperation): fc.Arbitrary<SceneKind> {
  const scenes: readonly SceneKind[] =
    operation === "decideOperations" ? ["approval", "unknown"] : SCENES;
  return fc.constantFrom(...scenes);
}

export function rightRpc(operation: ThreadOperation): fc.Arbitrary<RpcRequest> {
  return scenesFor(operation).chain((scene) =>
    rightValues(requestSchema(operation), wordsOf(scene)).map((request) => ({
      fault: null,
      scene,
      caller: TESTER,
      request,
    })),
  );
}

/** Callers who are none, as a binding's configuration may say them: objects. */
const MALFORMED: readonly object[] = [
  {},
  [],
  { tenant: "dev" },
  { ...TESTER, tenant: "" },
  { ...TESTER, tenant: 1 },
  { ...TESTER, tenant: "a".repeat(129) },
  { ...TESTER, principal: "" },
  { ...TESTER, principal: "a\u0000" },
  { ...TESTER, principal: "a".repeat(257) },
  { ...TESTER, permissions: "admin" },
  { ...TESTER, permissions: null },
  { ...TESTER, permissions: ["nothing"] },
  { ...TESTER, permissions: Array.from({ length: 33 }, () => "admin") },
  { ...TESTER, permissions: { 0: "admin", length: 1 } },
  { ...TESTER, more: 1 },
  JSON.parse(`{"__proto__":${JSON.stringify(TESTER)}}`),
];

export const malformedProps: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom(...MALFORMED),
  bentValues(CALLER, wordsOf("rest"), [])
    .map(({ value }) => value)
    .filter((value) => typeof value === "object" && value !== null)
    .filter((value) => !CallerSchema.safeParse(value).success),
);

/** Callers who may do less, or are others: refused for what they ask, or for where they ask it. */
const OTHERS = [
  { ...TESTER, permissions: [] },
  { ...TESTER, permissions: ["threads:read"] },
  { ...TESTER, permissions: ["threads:write", "threads:approve"] },
  { ...TESTER, tenant: "other" },
  { ...TESTER, tenant: 'dev","x' },
  { ...TESTER, principal: "\ud800" },
];

const NOBODIES = ["fuzz-nobody-1", "~", "a:b", "..", "", "a/b", "a".repeat(129), "\ud800", "é"];

export function wrongRpc(operation: ThreadOperation): fc.Arbitrary<RpcRequest> {
  const schema = requestSchema(operation);
  return rightRpc(operation).chain((right) =>
    fc.oneof(
      {
        weight: 8,
        arbitrary: bentValues(schema, wordsOf(right.scene), STRANGE_RPC).map(({ value, how }) => ({
          ...right,
          fault: how,
          request: value,
        })),
      },
      {
        weight: 2,
        arbitrary: fc
          .oneof(strangeValues, fc.jsonValue())
          .map((request) => ({ ...right, fault: "another request", request })),
      },
      {
        weight: 1,
        arbitrary: malformedProps.map((caller) => ({ ...right, fault: NO_CALLER, caller })),
      },
      {
        weight: 1,
        arbitrary: fc
          .constantFrom(...OTHERS)
          .map((caller) => ({ ...right, fault: "another caller", caller })),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(...NOBODIES).map((threadId) => ({
          ...right,
          fault: "another thread",
          request: { ...z.looseObject({}).parse(right.request), threadId },
        })),
      },
    ),
  );
}

/** Of an object itself, whose callers are the Worker's: whoever they are, they are well-formed. */
export function rightObjectRpc(operation: ThreadOperation): fc.Arbitrary<RpcRequest> {
  return scenesFor(operation).chain((scene) =>
    fc.record({
      fault: fc.constant(null),
      scene: fc.constant(scene),
      caller: rightValues(CALLER, wordsOf(scene, true)),
      request: rightValues(requestSchema(operation), wordsOf(scene, true)),
    }),
  );
}

export function wrongObjectRpc(operation: ThreadOperation): fc.Arbitrary<RpcRequest> {
  const callers = fc.oneof(
    { weight: 3, arbitrary: malformedProps },
    fc.constantFrom(undefined, null, 1, "tester", true),
    strangeValues.filter(({ isSendable }) => isSendable),
  );
  return fc
    .tuple(rightObjectRpc(operation), callers)
    .map(([right, caller]) => ({ ...right, fault: NO_CALLER, caller }));
}
