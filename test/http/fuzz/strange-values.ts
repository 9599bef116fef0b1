// Values that RPC carries and JSON does not, and values that no call carries: the caller's own runtime refuses to send those.
import { RpcTarget } from "cloudflare:workers";
import * as fc from "fast-check";

class Instance {
  readonly threadId = "x";
}
class Target extends RpcTarget {}

/** Made only when it is sent: it would not survive what is done to a request until then. */
export class Strange {
  readonly name: string;
  readonly make: () => unknown;
  /** It arrives, in this form or another. */
  readonly isSendable: boolean;

  constructor(name: string, isSendable: boolean, make: () => unknown) {
    this.name = name;
    this.isSendable = isSendable;
    this.make = make;
  }

  [fc.toStringMethod](): string {
    return `Strange(${this.name})`;
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function cyclicObject(): unknown {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic["self"] = cyclic;
  return cyclic;
}

function cyclicArray(): unknown {
  const cyclic: unknown[] = [1];
  cyclic.push(cyclic);
  return cyclic;
}

function sparseArray(): unknown {
  const sparse: unknown[] = [];
  sparse.length = 4_000_000_000;
  return sparse;
}

const SENDABLE: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  NaN: () => Number.NaN,
  Infinity: () => -Infinity,
  function: () => () => 1,
  class: () => Instance,
  Date: () => new Date(0),
  "invalid Date": () => new Date(Number.NaN),
  Map: () => new Map([["threadId", "x"]]),
  Set: () => new Set([1]),
  RegExp: () => /x/,
  bigint: () => 1n,
  bytes: () => new Uint8Array(3),
  buffer: () => new ArrayBuffer(3),
  Error: () => new TypeError("x"),
  "boxed text": () => Object("x"),
  "cyclic object": cyclicObject,
  "cyclic array": cyclicArray,
  "sparse array": sparseArray,
  "wide array": () => Array.from({ length: 70_000 }, () => 1),
  "many values": () => Array.from({ length: 400 }, () => Array.from({ length: 200 }, () => 1)),
  "3,000 levels": () => nested(3_000),
  "a getter": () => ({
    get a() {
      return 1;
    },
  }),
  "a thenable": () => JSON.parse('{"then":1}'),
  "a method": () => ({ toJSON: () => 1 }),
  "a text of a million characters": () => "x".repeat(1_000_000),
  RpcTarget: () => new Target(),
  Headers: () => new Headers(),
  Request: () => new Request("http://x.invalid"),
};

const UNSENDABLE: Readonly<Record<string, () => unknown>> = {
  symbol: () => Symbol("x"),
  "an instance": () => new Instance(),
  "an object without a prototype": () => Object.create(null),
  promise: () => Promise.resolve(1),
  URL: () => new URL("http://x.invalid"),
  WeakMap: () => new WeakMap(),
  "a throwing getter": () => ({
    get a() {
      throw new Error("x");
    },
  }),
};

const STRANGE = [
  ...Object.entries(SENDABLE).map(([name, make]) => new Strange(name, true, make)),
  ...Object.entries(UNSENDABLE).map(([name, make]) => new Strange(name, false, make)),
];

export const strangeValues: fc.Arbitrary<Strange> = fc.constantFrom(...STRANGE);
export const STRANGE_RPC: readonly (() => Strange)[] = STRANGE.map((value) => () => value);

/** The value with what its strange parts stand for, and whether a call can carry it. */
export function makeStrange(value: unknown): {
  readonly value: unknown;
  readonly isSendable: boolean;
} {
  let isSendable = true;
  const make = (part: unknown): unknown => {
    if (part instanceof Strange) {
      isSendable &&= part.isSendable;
      return part.make();
    }
    if (Array.isArray(part)) return part.map(make);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, child]) => [name, make(child)]));
  };
  return { value: make(value), isSendable };
}
