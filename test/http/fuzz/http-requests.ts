// Requests over HTTP at random: for each operation of the document right ones, and right ones with one part wrong; and methods and paths
// that are no operation.
import * as fc from "fast-check";
import {
  bentValues,
  mapTexts,
  renderJson,
  rightValues,
  STRANGE_JSON,
} from "../../support/schema-values.ts";
import { AUTHORIZATION, BASE, type Sent } from "../http-client.ts";
import { NO_SUBMISSION } from "../routes.ts";
import type { ApiOperation, ApiParameter } from "./api-document.ts";
import { SCENES, TOKENS, type Scene, type SceneKind } from "./scenes.ts";
import { wordsOf } from "./words.ts";

type Fields = readonly (readonly [name: string, value: string])[];

type Body =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> };

/** A request before it is known what the thread is called. */
export interface HttpRequest {
  /** What is wrong with it; null: nothing. */
  readonly fault: string | null;
  readonly scene: SceneKind;
  readonly method: string;
  /** Segments as they are sent, tokens among them. */
  readonly segments: readonly string[];
  readonly query: string;
  readonly headers: Fields;
  readonly body: Body | null;
}

/** The thread that a path addresses, as the router reads it; null where it addresses none. */
export function threadOf(path: string): string | null {
  const segment = /^\/v1\/threads\/([^/]+)/.exec(new URL(`${BASE}${path}`).pathname)?.[1];
  if (segment === undefined) return null;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

export function render(request: HttpRequest, { tokens }: Scene): { path: string; sent: Sent } {
  const known = (text: string): string => tokens.get(text) ?? text;
  const { method, body } = request;
  const headers = Object.fromEntries(request.headers);
  return {
    path: request.segments.map(known).join("/") + mapQuery(request.query, known),
    sent: {
      method,
      headers: boundWait(request, headers),
      ...(body === null ? {} : { body: renderBody(body, known) }),
    },
  };
}

function mapQuery(query: string, known: (text: string) => string): string {
  return query.replaceAll(/(?<=[=])%40[a-z]+(?=&|$)/g, (token) => known(decodeURIComponent(token)));
}

function renderBody(body: Body, known: (text: string) => string): BodyInit {
  if (body.kind === "json") return renderJson(mapTexts(body.value, known));
  return body.kind === "text" ? body.text : body.bytes;
}

/** A wait takes its real time: only where it ends at once, as what it waits for settles at once, are seconds asked for. */
function boundWait(
  { fault, scene, segments, body }: HttpRequest,
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  const prefer = headers["prefer"];
  if (prefer === undefined || segments.includes(TOKENS.settled)) return { ...headers };
  const runsThrough = scene === "rest" && fault === null && body !== null && settlesAtOnce(body);
  return { ...headers, prefer: runsThrough ? prefer : prefer.replaceAll(/wait=\d+/g, "wait=0") };
}

function settlesAtOnce(body: Body): boolean {
  return body.kind === "json" && !/guarded|fail/.test(JSON.stringify(body.value));
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function fieldsOf(
  { parameters }: ApiOperation,
  place: ApiParameter["in"],
  kind: SceneKind,
): fc.Arbitrary<[string, string][]> {
  const fields = parameters
    .filter((parameter) => parameter.in === place)
    .map(({ name, isRequired, schema }) => {
      const values = rightValues(schema, wordsOf(kind))
        .map(asText)
        // Header values are bytes: what is not ASCII has no one spelling.
        .filter((text) => place !== "header" || /^[\x20-\x7e]*$/.test(text))
        .map((text): [string, string][] => [[name, text]]);
      return isRequired ? values : fc.oneof(fc.constant([]), values);
    });
  return fc.tuple(...fields).map((all) => all.flat());
}

function renderQuery(fields: Fields): string {
  if (fields.length === 0) return "";
  const search = new URLSearchParams(fields.map(([name, value]) => [name, value]));
  return `?${search.toString()}`;
}

/** Decisions need something to decide. */
function scenesFor({ operationId }: ApiOperation): readonly SceneKind[] {
  return operationId === "decideOperations" ? ["approval", "unknown"] : SCENES;
}

/** Requests that the document allows. */
export function rightRequests(operation: ApiOperation): fc.Arbitrary<HttpRequest> {
  return fc.constantFrom(...scenesFor(operation)).chain((scene) => {
    const { body, method } = operation;
    const bodies = body === null ? fc.constant(null) : rightBodies(body, scene);
    return fc
      .record({
        path: fieldsOf(operation, "path", scene),
        query: fieldsOf(operation, "query", scene),
        headers: fieldsOf(operation, "header", scene),
        body: bodies,
      })
      .map(({ path, query, headers, body: made }) => ({
        fault: null,
        scene,
        method,
        segments: fillPath(operation, new Map(path)),
        query: renderQuery(query),
        headers: [
          ["authorization", AUTHORIZATION],
          ...(made === null ? [] : ([["content-type", "application/json"]] as const)),
          ...headers,
        ],
        body: made,
      }));
  });
}

function rightBodies(
  { schema, isRequired }: NonNullable<ApiOperation["body"]>,
  scene: SceneKind,
): fc.Arbitrary<Body | null> {
  const values = rightValues(schema, wordsOf(scene)).map((value): Body => ({
    kind: "json",
    value,
  }));
  return isRequired ? values : fc.oneof({ weight: 3, arbitrary: values }, fc.constant(null));
}

function fillPath({ path }: ApiOperation, values: ReadonlyMap<string, string>): string[] {
  return path.split("/").map((segment) => {
    const value = values.get(/^\{(.+)\}$/.exec(segment)?.[1] ?? "");
    if (value === undefined) return segment;
    return value.startsWith("@") ? value : encodeURIComponent(value);
  });
}

const hostileSegments = fc.oneof(
  fc.constantFrom("%", "%2F", "%00", "..", ".", "%E0%A4%A", "*", ":thread", "%2e%2e", "%C3%A9"),
  fc.constantFrom("a".repeat(129), "a".repeat(257), "a".repeat(9_000), "%0d%0aX:1", "@thread%20"),
  fc.string({ maxLength: 40 }).map(encodeURIComponent),
  fc
    .string({ unit: "binary", maxLength: 20 })
    .map((text) => encodeURIComponent(text.toWellFormed())),
);

/** Of the right form, and of nothing that there is here. */
const nobodies: Readonly<Record<string, readonly string[]>> = {
  thread: ["fuzz-nobody-1", "fuzz-nobody-2", "~", "a:b"],
  submission: [NO_SUBMISSION, TOKENS.foreign, "sub-1-x", "sub-99999999999-aaaaaaaaaaaaaaaa"],
  agent: ["nobody", "constructor", "__proto__", "plain%2F"],
};

const headerText = fc.oneof(
  fc.string({ unit: "grapheme-ascii", maxLength: 300 }),
  fc.constantFrom("a".repeat(8_200), "x y", "{}", ","),
);

type Change = fc.Arbitrary<(request: HttpRequest) => HttpRequest>;

function setHeader(headers: Fields, name: string, value: string | null): Fields {
  const others = headers.filter(([other]) => other !== name);
  return value === null ? others : [...others, [name, value]];
}

/** Changes of one header, to each of the texts; null: left out. */
function headerChange(name: string, texts: fc.Arbitrary<string | null>): Change {
  return texts.map((text) => (request) => ({
    ...request,
    fault: `${name}: ${text?.slice(0, 60) ?? "missing"}`,
    headers: setHeader(request.headers, name, text),
  }));
}

const credentialChange = headerChange(
  "authorization",
  fc.oneof(
    fc.constantFrom(
      null,
      "",
      "Bearer",
      "Bearer ",
      "Basic aG9sZGZhc3QtZGV2",
      "Bearer holdfast-prod",
    ),
    headerText.map((text) => `Bearer ${text}`),
    headerText,
  ),
);

function pathChange(operation: ApiOperation): Change[] {
  return operation.parameters
    .filter((parameter) => parameter.in === "path")
    .map(({ name }) => {
      const at = operation.path.split("/").indexOf(`{${name}}`);
      const segments = fc.oneof(
        { weight: 2, arbitrary: hostileSegments },
        fc.constantFrom(...(nobodies[name] ?? ["nobody"])),
      );
      return segments.map((segment) => (request) => ({
        ...request,
        fault: `${name} in the path is ${segment.slice(0, 60)}`,
        segments: request.segments.map((other, index) => (index === at ? segment : other)),
      }));
    });
}

const queryText = fc.oneof(
  fc.constantFrom("-1", "1.5", "", " 1", "0x1", "1e3", "NaN", "9".repeat(16), "true", "%00", "%FF"),
  fc.string({ maxLength: 30 }).map(encodeURIComponent),
);

function queryChange({ parameters }: ApiOperation): Change {
  const known = parameters.filter((parameter) => parameter.in === "query").map(({ name }) => name);
  const add = (more: string) => (request: HttpRequest) => ({
    ...request,
    fault: `query ${more.slice(0, 80)}`,
    query: request.query === "" ? `?${more}` : `${request.query}&${more}`,
  });
  const names = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...known) },
    fc.constantFrom("extra", "__proto__", "constructor", ""),
  );
  return fc.oneof(
    fc.tuple(names, queryText).map(([name, text]) => add(`${name}=${text}`)),
    fc.tuple(names, queryText).map(([name, text]) => add(`${name}=${text}&${name}=1`)),
    fc.webQueryParameters().map(add),
  );
}

/** Headers that say something of the request which it must not change by. */
const OTHER_HEADERS: Fields = [
  ["accept", "text/html"],
  ["accept-encoding", "br;q=2"],
  ["content-encoding", "gzip"],
  ["cookie", "__proto__=1"],
  ["cf-access-jwt-assertion", "a.b.c"],
  ["x-http-method-override", "DELETE"],
  ["x-forwarded-host", "evil.example"],
  ["x-request-id", "mine"],
  ["range", "bytes=0-0"],
  ["if-none-match", "*"],
  ["origin", "null"],
  ["expect", "100-continue"],
  ["last-event-id", "-1"],
];

function headersChange({ parameters }: ApiOperation): Change {
  const known = parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name);
  return fc.oneof(
    ...known.map((name) => headerChange(name, fc.oneof(headerText, fc.constant(null)))),
    fc
      .constantFrom(...OTHER_HEADERS)
      .chain(([name, text]) => headerChange(name, fc.constant(text))),
  );
}

function bodyChange(fault: string, bodies: fc.Arbitrary<Body | null>): Change {
  return bodies.map((body) => (request) => ({ ...request, fault, body }));
}

function bodyChanges(
  { schema }: NonNullable<ApiOperation["body"]>,
  scene: SceneKind,
): fc.Arbitrary<(request: HttpRequest) => HttpRequest> {
  const text = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constantFrom("", " ", "{", "{}{}", "null", "NaN", "\ufeff{}", '{"a":}', "[1,]"),
  );
  const bent: Change = bentValues(schema, wordsOf(scene), STRANGE_JSON).map(
    ({ value, how }) =>
      (request) => ({ ...request, fault: how, body: { kind: "json", value } }),
  );
  return fc.oneof(
    { weight: 8, arbitrary: bent },
    {
      weight: 2,
      arbitrary: bodyChange(
        "any JSON",
        fc.jsonValue().map((value): Body => ({ kind: "json", value })),
      ),
    },
    bodyChange(
      "any text",
      text.map((each): Body => ({ kind: "text", text: each })),
    ),
    bodyChange(
      "any bytes",
      fc.uint8Array({ maxLength: 200 }).map((bytes): Body => ({
        kind: "bytes",
        bytes: new Uint8Array(bytes),
      })),
    ),
    bodyChange("no body", fc.constant(null)),
    headerChange(
      "content-type",
      fc.oneof(
        fc.constantFrom("text/plain", "application/jsonx", "multipart/form-data", null, ""),
        fc.constantFrom("application/json; charset=utf-16", "APPLICATION/JSON ; a=b"),
        headerText,
      ),
    ),
    headerChange("content-length", fc.constantFrom("0", "abc", "-1", "99999999", "1", "1e3")),
  );
}

/** Requests with one part wrong, or as good as wrong. */
export function wrongRequests(operation: ApiOperation): fc.Arbitrary<HttpRequest> {
  return rightRequests(operation).chain((request) => {
    const paths = pathChange(operation);
    const { body } = operation;
    const hasQuery = operation.parameters.some((parameter) => parameter.in === "query");
    const changes: fc.WeightedArbitrary<(request: HttpRequest) => HttpRequest>[] = [
      { weight: 2, arbitrary: credentialChange },
      ...paths.map((arbitrary) => ({ weight: 3, arbitrary })),
      ...(paths.length > 0 || body !== null
        ? [{ weight: 1, arbitrary: headersChange(operation) }]
        : []),
      ...(hasQuery ? [{ weight: 6, arbitrary: queryChange(operation) }] : []),
      ...(body === null ? [] : [{ weight: 10, arbitrary: bodyChanges(body, request.scene) }]),
    ];
    return fc.oneof(...changes).map((change) => change(request));
  });
}

/** Not DELETE, which ends a scene: `test/objects/deletion.test.ts` has it. */
const METHODS = ["GET", "POST", "PUT", "PATCH", "OPTIONS", "HEAD", "PROPFIND"] as const;

/** Methods and paths that no operation has. */
export function strayRequests(operations: readonly ApiOperation[]): fc.Arbitrary<HttpRequest> {
  const ways = operations.map(({ method, path }) => `${method} ${path}`);
  const known = fc
    .tuple(fc.constantFrom(...operations), fc.constantFrom(...METHODS))
    .filter(([{ path }, method]) => !ways.includes(`${method} ${path}`))
    .map(([{ path }, method]) => ({
      method,
      path: path
        .replace("{thread}", TOKENS.thread)
        .replace("{submission}", TOKENS.settled)
        .replace("{agent}", "plain"),
    }));
  const segment = fc.oneof(
    hostileSegments,
    fc.constantFrom(
      "v1",
      "v2",
      "threads",
      "agents",
      "errors",
      "docs",
      "healthz",
      "",
      "openapi.json",
    ),
  );
  const unknown = fc.record({
    method: fc.constantFrom(...METHODS),
    path: fc.array(segment, { minLength: 1, maxLength: 6 }).map((parts) => `/${parts.join("/")}`),
  });
  return fc
    .record({
      way: fc.oneof(known, unknown),
      scene: fc.constantFrom(...SCENES),
      hasCredential: fc.boolean(),
      body: fc.json(),
    })
    .map(({ way: { method, path }, scene, hasCredential, body }) => ({
      fault: "no operation",
      scene,
      method,
      segments: path.split("/"),
      query: "",
      headers: [
        ["content-type", "application/json"],
        ...(hasCredential ? ([["authorization", AUTHORIZATION]] as const) : []),
      ],
      body: method === "GET" || method === "HEAD" ? null : { kind: "text", text: body },
    }));
}
