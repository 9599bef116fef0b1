// Ids round trip and refuse foreign texts; errors cross the wire as data.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { assert, InvariantViolation, must } from "../../../shared/assert.ts";
import { ERROR_CODES, isErrorCode } from "../../../shared/errors/codes.ts";
import {
  HoldfastError,
  schemaFaultsOf,
  WireErrorSchema,
} from "../../../shared/errors/holdfast-error.ts";
import {
  operationIdOf,
  parseOperationId,
  PrincipalSchema,
  PrintableIdSchema,
  queueSequenceOf,
  runIdOf,
  submissionIdOf,
  ThreadIdSchema,
  unknownOperationIdOf,
} from "../../../shared/ids.ts";
import { unwrap } from "../../../shared/wire/rpc.ts";

const token = fc.string({
  unit: fc.constantFrom("a", "k", "z", "2", "7"),
  minLength: 16,
  maxLength: 16,
});
const queue = fc.integer({ min: 1, max: 9_999_999_999 });

describe("derived ids", () => {
  it("a submission id carries its queue sequence", () => {
    fc.assert(
      fc.property(queue, token, (sequence, word) => {
        expect(queueSequenceOf(submissionIdOf(sequence, word))).toBe(sequence);
      }),
    );
  });

  it("[TOOL-10] an operation id names its submission, its call and its loss", () => {
    const turn = fc.integer({ min: 1, max: 999_999 });
    const index = fc.integer({ min: 0, max: 9_999 });
    const dispatch = fc.integer({ min: 1, max: 99_999 });
    fc.assert(
      fc.property(queue, token, turn, index, dispatch, (sequence, word, t, c, d) => {
        const submissionId = submissionIdOf(sequence, word);
        const callId = operationIdOf(runIdOf(submissionId), t, c);
        const id = unknownOperationIdOf(callId, d);
        expect(parseOperationId(id)).toEqual({ submissionId, callId, dispatch: d });
        expect(id === callId).toBe(d === 1);
      }),
    );
  });

  it.each([
    "",
    "sub-0-aaaaaaaaaaaaaaaa",
    "sub-01-aaaaaaaaaaaaaaaa",
    "sub-1-aaaaaaaaaaaaaaa",
    "sub-1-aaaaaaaaaaaaaaaaa",
    "sub-1-AAAAAAAAAAAAAAAA",
    "sub-1-aaaaaaaaaaaaaaa1",
    "sub-12345678901-aaaaaaaaaaaaaaaa",
    "run-1-aaaaaaaaaaaaaaaa",
    "sub-1-aaaaaaaaaaaaaaaa\n",
    " sub-1-aaaaaaaaaaaaaaaa",
  ])("%j is no submission id of ours", (text) => {
    expect(queueSequenceOf(text)).toBeNull();
  });

  const RUN = "run-1-aaaaaaaaaaaaaaaa";

  it.each([
    "",
    RUN,
    `${RUN}.t0.c0`,
    `${RUN}.t1.c`,
    `${RUN}.t01.c0`,
    `${RUN}.t1.c01`,
    `${RUN}.t1.c0.d0`,
    `${RUN}.t1.c0.d1`,
    `${RUN}.t1.c0.d02`,
    `${RUN}.t1.c0.x`,
    `${RUN}.t1.c0\n`,
    "sub-1-aaaaaaaaaaaaaaaa.t1.c0",
    "run-0-aaaaaaaaaaaaaaaa.t1.c0",
  ])("%j is no operation id of ours", (text) => {
    expect(parseOperationId(text)).toBeNull();
  });
});

describe("[THR-12] bounds before routing", () => {
  it.each([
    ["a", true],
    ["A-z0.9_~:-", true],
    ["x".repeat(128), true],
    ["x".repeat(129), false],
    ["", false],
    ["a b", false],
    ["a/b", false],
    ["ä", false],
    ["a\n", false],
    ["a%20", false],
  ])("thread id %j: %s", (text, accepted) => {
    expect(ThreadIdSchema.safeParse(text).success).toBe(accepted);
  });

  it.each([
    ["!", true],
    ["~", true],
    ["a/b?c#d", true],
    ["x".repeat(256), true],
    ["x".repeat(257), false],
    ["", false],
    ["a b", false],
    ["\u007f", false],
    ["\u001f", false],
    ["é", false],
    ["a\n", false],
  ])("agent id, submission id or key %j: %s", (text, accepted) => {
    expect(PrintableIdSchema.safeParse(text).success).toBe(accepted);
  });

  it.each([
    ["ann@example.com", true],
    ["Ann Müller 漢", true],
    ["x".repeat(256), true],
    ["x".repeat(257), false],
    ["", false],
    ["a\u0000", false],
    ["a\nb", false],
    ["a\u0085", false],
  ])("principal %j: %s", (text, accepted) => {
    expect(PrincipalSchema.safeParse(text).success).toBe(accepted);
  });
});

describe("errors", () => {
  for (const [code, facts] of Object.entries(ERROR_CODES)) {
    it(`${code} keeps its status and retryability across the wire`, () => {
      if (!isErrorCode(code)) throw new Error("a code of the table is a code");
      const sent = new HoldfastError(code, "what to do", { fields: { limit: "x", n: 1 } });
      const wire = WireErrorSchema.parse(JSON.parse(JSON.stringify(sent.toWire())));
      const got = HoldfastError.fromWire(wire);
      expect(got).toBeInstanceOf(HoldfastError);
      expect(got.toWire()).toEqual(sent.toWire());
      expect([got.status, got.retryable]).toEqual([facts.status, facts.retryable]);
      expect(got.message).toBe(`${code}: what to do`);
    });
  }

  it("keep their schema faults", () => {
    const errors = [{ pointer: "/a", message: "wrong" }];
    const sent = new HoldfastError("InvalidInput", "d", { errors });
    expect(HoldfastError.fromWire(sent.toWire()).errors).toEqual(errors);
  });

  it("[THR-06] of an admission limit carry the limit's own status", () => {
    const fields = { status: 507, retryable: false };
    const error = new HoldfastError("AdmissionLimitExceeded", "d", { fields });
    expect([error.status, error.retryable]).toEqual([507, false]);
  });

  it("of a code that is not known are defects, names of Object's own included", () => {
    for (const code of ["FromTheFuture", "toString", "__proto__", "constructor"]) {
      expect(isErrorCode(code)).toBe(false);
      expect(HoldfastError.fromWire({ code, detail: "d", fields: {} }).code).toBe("Defect");
    }
  });

  it("never send their cause", () => {
    const error = new HoldfastError("Defect", "d", { cause: new Error("secret") });
    expect(JSON.stringify(error.toWire())).not.toContain("secret");
    expect(error.cause).toBeInstanceOf(Error);
  });

  it("unwrap to the value or the peer's error", () => {
    expect(unwrap({ ok: true, value: 1 })).toBe(1);
    const error = new HoldfastError("ThreadNotFound", "d").toWire();
    expect(() => unwrap({ ok: false, error })).toThrow(HoldfastError);
  });

  it("[THR-04] name the place by JSON Pointer, and are bounded", () => {
    const schema = z.object({ "a/b~c": z.array(z.int()) });
    const { error } = schema.safeParse({ "a/b~c": [1, "secret"] });
    if (error === undefined) throw new Error("the value does not fit");
    const [fault] = schemaFaultsOf(error, "/input");
    expect(fault?.pointer).toBe("/input/a~1b~0c/1");
    expect(fault?.message).not.toContain("secret");
    const many = z.array(z.int()).safeParse(Array(200).fill("x")).error;
    expect(schemaFaultsOf(must(many, "faults"))).toHaveLength(64);
  });
});

describe("our own invariants", () => {
  it("break loudly and by a class of their own", () => {
    expect(() => assert(false, "a claim")).toThrow(InvariantViolation);
    expect(() => must(null, "a claim")).toThrow("a claim");
    expect(must(0, "zero is there")).toBe(0);
  });
});
