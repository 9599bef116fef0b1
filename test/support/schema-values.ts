// Values from a JSON Schema: right ones, and right ones with one thing wrong. It knows the keywords that this API's requests use, and
// refuses a schema with others, so that none is passed over in silence.
import * as fc from "fast-check";
import { z } from "zod";

export interface SchemaNode {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly minItems?: number;
  readonly maxItems?: number;
}

const KEYWORDS = new Set(
  [
    "$ref $schema $defs type enum const pattern minLength maxLength minimum maximum".split(" "),
    "properties required additionalProperties items minItems maxItems".split(" "),
    "description example default title".split(" "),
  ].flat(),
);

export const SchemaNodeSchema = z.custom<SchemaNode>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

/** Words of the application: what takes the place of `any` value of the schema, where a field or schema of these names means something. */
export type Words = (
  names: readonly string[],
  schema: SchemaNode,
  any: fc.Arbitrary<unknown>,
) => fc.Arbitrary<unknown>;

/** JSON text that `JSON.stringify` would not write. */
export class Raw {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  [fc.toStringMethod](): string {
    return `Raw(${this.text.slice(0, 60)})`;
  }
}

/** One schema of a document, with what its references lead to. */
export class Schema {
  readonly node: SchemaNode;
  /** Of the reference that led here, or of the field. */
  readonly name: string;
  readonly #components: Readonly<Record<string, unknown>>;

  constructor(node: SchemaNode, components: Readonly<Record<string, unknown>>, name = "") {
    const target = /\/([^/]+)$/.exec(node.$ref ?? "")?.[1];
    const resolved =
      target === undefined ? node : SchemaNodeSchema.parse(components[target] ?? null);
    const unknown = Object.keys(resolved).filter((keyword) => !KEYWORDS.has(keyword));
    if (unknown.length > 0) throw new Error(`no values for ${unknown.join()} of ${name}`);
    this.node = resolved;
    this.name = target ?? name;
    this.#components = components;
  }

  #child(node: SchemaNode, name: string): Schema {
    return new Schema(node, this.#components, name);
  }

  get properties(): readonly (readonly [name: string, schema: Schema, isRequired: boolean])[] {
    const { properties = {}, required = [] } = this.node;
    return Object.entries(properties).map(([name, node]) => [
      name,
      this.#child(node, name),
      required.includes(name),
    ]);
  }

  get items(): Schema {
    return this.#child(this.node.items ?? {}, `${this.name}[]`);
  }

  /** Anything that JSON can say. */
  get isFree(): boolean {
    return this.node.type === undefined || typeof this.node.type !== "string";
  }
}

/** Values that the schema allows, in the words of the application where it has some. */
export function rightValues(
  schema: Schema,
  words: Words,
  field = schema.name,
): fc.Arbitrary<unknown> {
  return words([field, schema.name], schema.node, schemaValues(schema, words));
}

function schemaValues(schema: Schema, words: Words): fc.Arbitrary<unknown> {
  const { node } = schema;
  if (node.enum !== undefined) return fc.constantFrom(...node.enum);
  if (node.const !== undefined) return fc.constant(node.const);
  switch (node.type) {
    case "string":
      return stringValues(node);
    case "integer":
      return fc.oneof(
        fc.integer({ min: node.minimum ?? 0, max: Math.min(node.maximum ?? 300, 300) }),
        fc.constantFrom(...atBounds(node)),
      );
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case "boolean":
      return fc.boolean();
    case "array":
      return fc.array(rightValues(schema.items, words), {
        minLength: node.minItems ?? 0,
        maxLength: Math.min(node.maxItems ?? 3, 3),
      });
    case "object":
      return objectValues(schema, words);
    case undefined:
    default:
      return fc
        .jsonValue({ maxDepth: 2 })
        .filter((value) => !JSON.stringify(value).includes("__proto__"));
  }
}

function stringValues(node: SchemaNode): fc.Arbitrary<string> {
  if (node.pattern !== undefined) {
    const pattern = new RegExp(node.pattern);
    // What must not follow is no part of what is generated: it is filtered out.
    const generated = new RegExp(node.pattern.replace(/\(\?![^)]*\)/, ""));
    return fc.stringMatching(generated, { maxLength: 300 }).filter((text) => pattern.test(text));
  }
  const bounds = { minLength: node.minLength ?? 0, maxLength: Math.min(node.maxLength ?? 40, 40) };
  return fc.oneof(
    fc.string(bounds),
    fc.string({ ...bounds, unit: "grapheme", maxLength: Math.ceil(bounds.maxLength / 4) }),
    fc.constantFrom("x", ...longest(node).filter(({ length }) => length <= (node.maxLength ?? 0))),
  );
}

function objectValues(schema: Schema, words: Words): fc.Arbitrary<Record<string, unknown>> {
  const fields = schema.properties.map(([name, child, isRequired]) => {
    const values = rightValues(child, words, name).map((value): [string, unknown][] => [
      [name, value],
    ]);
    return isRequired ? values : fc.oneof(fc.constant([]), values);
  });
  return fc.tuple(...fields).map((entries) => Object.fromEntries(entries.flat()));
}

/** Far enough where there is no bound. */
const MANY = 999_999_999_999_999;

function atBounds({ minimum = 0, maximum = MANY }: SchemaNode): number[] {
  return [minimum, maximum];
}

/** Texts as long as the schema allows, and one longer. */
function longest({ maxLength, pattern }: SchemaNode): string[] {
  const most = maxLength ?? Number(/\{\d+,(\d+)\}\)?\$$/.exec(pattern ?? "")?.[1] ?? 0);
  return most === 0 ? [] : ["a".repeat(most), "a".repeat(most + 1)];
}

interface Spot {
  readonly path: readonly (string | number)[];
  readonly schema: Schema | null;
  readonly value: unknown;
}

function spotsOf(schema: Schema | null, value: unknown, path: Spot["path"] = []): Spot[] {
  const here = { path, schema, value };
  if (Array.isArray(value)) {
    const items = schema === null || schema.isFree ? null : schema.items;
    return [here, ...value.flatMap((item, index) => spotsOf(items, item, [...path, index]))];
  }
  if (typeof value !== "object" || value === null) return [here];
  const children = schema === null || schema.isFree ? [] : schema.properties;
  return [
    here,
    ...Object.entries(value).flatMap(([name, child]) =>
      spotsOf(children.find(([known]) => known === name)?.[1] ?? null, child, [...path, name]),
    ),
  ];
}

/** A value, and what of it was changed. */
export interface Bent {
  readonly value: unknown;
  readonly how: string;
}

/** Right values with one thing changed somewhere in them; the change is mostly wrong, and sometimes at the very bound. `strange` are values
 * that only this transport can carry. */
export function bentValues(
  schema: Schema,
  words: Words,
  strange: readonly (() => unknown)[],
): fc.Arbitrary<Bent> {
  return fc
    .record({ value: rightValues(schema, words), spot: anyIndex, change: anyIndex })
    .map(({ value, spot, change }) => {
      const spots = spotsOf(schema, value);
      const at = pick(spots, spot);
      const [how, made] = pick(changesOf(at, strange), change);
      return { value: replaceAt(value, at.path, made()), how: `${how} at /${at.path.join("/")}` };
    });
}

/** As likely as every other. */
const anyIndex = fc.noBias(fc.nat());

function pick<T>(choices: readonly T[], index: number): T {
  const choice = choices[index % choices.length];
  if (choice === undefined) throw new Error("nothing to choose from");
  return choice;
}

type Change = readonly [how: string, make: () => unknown];

const OTHER_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  -0,
  2 ** 53,
  1e308,
  "",
  " ",
  "\0",
  "\ud800",
  "é\n",
  "__proto__",
  [],
  {},
  [[]],
  { a: 1 },
];
const OTHER_FIELDS = [
  "extra",
  "__proto__",
  "constructor",
  "toString",
  "then",
  "",
  "\udfff",
] as const;
const DEPTHS = [60, 64, 65, 68, 69, 200] as const;
const WIDTHS = [4_096, 4_097] as const;
const LENGTHS = [300, 9_000, 300_000] as const;

function changesOf({ schema, value }: Spot, strange: readonly (() => unknown)[]): Change[] {
  const node = schema?.node ?? {};
  return [
    ...OTHER_VALUES.map((other): Change => [`${JSON.stringify(other)} instead`, () => other]),
    ...strange.map((make, index): Change => [`strange value ${index}`, make]),
    ...DEPTHS.map((depth): Change => [`nested ${depth} deep`, () => nest(value, depth)]),
    ...WIDTHS.map((width): Change => [
      `${width} entries`,
      () => Array.from({ length: width }, () => 1),
    ]),
    ...LENGTHS.map((length): Change => [`${length} characters`, () => "x".repeat(length)]),
    ...longest(node).map((text): Change => [`${text.length} characters`, () => text]),
    ...boundsOf(node).map((number): Change => [`${number}`, () => number]),
    ...(typeof value === "string" ? textChanges(value) : []),
    ...(Array.isArray(value) ? listChanges(value, node) : []),
    ...(isObject(value) ? fieldChanges(value) : []),
  ];
}

function boundsOf({ type, minimum, maximum }: SchemaNode): number[] {
  if (type !== "integer") return [];
  return [minimum ?? 0, (minimum ?? 0) - 1, maximum ?? 0, (maximum ?? 0) + 1];
}

function textChanges(value: string): Change[] {
  return ["\n", " ", "\0", "é", "\ud83d"].map((more): Change => [
    `${JSON.stringify(more)} behind`,
    () => value + more,
  ]);
}

function listChanges(value: readonly unknown[], { minItems, maxItems }: SchemaNode): Change[] {
  const bounds = [minItems, maxItems].filter((bound) => bound !== undefined);
  return bounds
    .flatMap((bound) => [Math.max(0, bound - 1), bound, bound + 1])
    .map((length): Change => [
      `${length} items`,
      () => Array.from({ length }, (_, index) => value[index % Math.max(1, value.length)]),
    ]);
}

function fieldChanges(value: Readonly<Record<string, unknown>>): Change[] {
  const entries = Object.entries(value);
  return [
    ...entries.map(([name]): Change => [
      `${name} dropped`,
      () => Object.fromEntries(entries.filter(([other]) => other !== name)),
    ]),
    ...OTHER_FIELDS.map((name): Change => [
      `${JSON.stringify(name)} added`,
      // Defined and not assigned: `__proto__` becomes a field of its own.
      () => Object.fromEntries([...entries, [name, { a: 1 }]]),
    ]),
    [
      "4097 fields added",
      () => ({ ...value, ...Object.fromEntries(WIDE_FIELDS.map((name) => [name, 1])) }),
    ],
  ];
}

const WIDE_FIELDS = Array.from({ length: 4_097 }, (_, index) => `k${index}`);

function nest(value: unknown, depth: number): unknown {
  let nested = value;
  for (let level = 0; level < depth; level += 1)
    nested = level % 2 === 0 ? [nested] : { a: nested };
  return nested;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function replaceAt(value: unknown, path: Spot["path"], made: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return made;
  if (Array.isArray(value)) {
    return value.map((item, index): unknown =>
      index === key ? replaceAt(item, rest, made) : item,
    );
  }
  if (!isObject(value)) throw new Error("the path leads nowhere");
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      name === key ? replaceAt(child, rest, made) : child,
    ]),
  );
}

/** JSON text; unlike `JSON.stringify` it writes `Raw` parts as they are. */
export function renderJson(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (Array.isArray(value)) return `[${value.map(renderJson).join()}]`;
  if (isObject(value)) {
    return `{${Object.entries(value)
      .map(([name, child]) => `${JSON.stringify(name)}:${renderJson(child)}`)
      .join()}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** Values that JSON text can hold, and that programs seldom write. */
export const STRANGE_JSON: readonly (() => unknown)[] = [
  () => new Raw("NaN"),
  () => new Raw("1e999"),
  () => new Raw("-0"),
  () => new Raw("1E400"),
  () => new Raw(`0.${"1".repeat(400)}`),
  () => new Raw("9".repeat(400)),
  () => new Raw('"\\ud800"'),
  () => new Raw('"\\u0000"'),
  () => new Raw('{"a":1,"a":2}'),
  () => new Raw('{"__proto__":{"a":1}}'),
  () => new Raw(`${"[".repeat(10_000)}1${"]".repeat(10_000)}`),
  () => new Raw(`${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`),
  () => new Raw(""),
];

/** Calls `replace` for every text in the value, names of fields left out. */
export function mapTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return replace(value);
  if (value instanceof Raw || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, mapTexts(child, replace)]),
  );
}
