// Who may do what: credentials, the development key, permissions, tenants; and that no answer tells a secret.
import { env } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { ThreadClient, type ThreadNamespace } from "../../durable-objects/clients/thread-client.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import {
  API_OPERATIONS,
  isGranted,
  PermissionSchema,
  type Caller,
  type Permission,
} from "../../shared/wire/access.ts";
import { SubmitResultSchema } from "../../shared/wire/submission.ts";
import { verifyKey } from "../../worker/auth/verify-key.ts";
import { parseEnv } from "../../worker/env.ts";
import { ThreadOperations } from "../../worker/operations/thread-operations.ts";
import { TESTER, ThreadDriver } from "../support/thread-driver.ts";
import { KEY_TEXT, keyOf, sendTo, sha256 } from "./deployments.ts";
import {
  command,
  expectEmptyFile,
  expectProblem,
  expectRefusal,
  send,
  sendBare,
  submit,
  type Answer,
  type Sent,
} from "./http-client.ts";
import { NO_OPERATION, NO_SUBMISSION, rightRequest, ROUTES, type Route } from "./routes.ts";

const namespace = z.custom<ThreadNamespace>().parse(env.THREADS);

/** A right request of the route, with the tests' own key. */
function requestOf(route: Route, threadId: string, submissionId: string): [string, Sent] {
  const { headers, ...sent } = rightRequest(route, submissionId);
  return [
    route.path(threadId, submissionId),
    { ...sent, headers: { ...headers, authorization: `Bearer ${KEY_TEXT}` } },
  ];
}

describe("credentials", () => {
  it("[UX-04] says how to send a credential to one who sent none", async () => {
    const answer = await sendBare("/v1/threads/x/explain");
    const problem = expectRefusal(answer, 401, "Unauthenticated");
    expect(problem.detail).toContain("Authorization: Bearer");
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });

  it("[SEC-01, UX-04] says how to configure keys where none is configured", async () => {
    const answer = await sendTo({}, "/v1/threads/x/explain", { base: "http://127.0.0.1" });
    const problem = expectRefusal(answer, 401, "Unauthenticated");
    expect(problem.detail).toContain("HOLDFAST_API_KEYS");
    expect(problem.detail).toContain("npm run keys -- create");
  });

  it("[SEC-01] refuses a key that is not known, and says nothing of those that are", async () => {
    const answer = await send("/v1/threads/x/explain", {
      headers: { authorization: "Bearer holdfast-prod" },
    });
    expectRefusal(answer, 401, "Unauthenticated");
    expect(answer.text).not.toContain("holdfast-prod");
    expect(answer.text).not.toMatch(/[0-9a-f]{64}/);
    expect(answer.text).not.toContain("tester");
  });

  it.each([
    ["http://holdfast.example"],
    ["https://holdfast.example"],
    ["http://127.0.0.1.holdfast.example"],
    ["http://localhost.holdfast.example"],
    ["http://127.holdfast.example"],
    ["http://0.0.0.0"],
    ["http://10.0.0.1"],
    ["http://128.0.0.1"],
    ["http://[::2]"],
  ])("[SEC-01] refuses the development key at %s, and says why", async (base) => {
    const thread = new ThreadDriver("auth-host");
    for (const route of ROUTES) {
      const { headers, ...sent } = rightRequest(route, NO_SUBMISSION);
      const keys = [keyOf(["admin"], { sha256: sha256("holdfast-dev") })];
      const answer = await sendTo({ keys }, route.path(thread.threadId, NO_SUBMISSION), {
        ...sent,
        base,
        headers: { ...headers, host: "127.0.0.1", "x-forwarded-host": "127.0.0.1" },
      });
      expect(expectRefusal(answer, 401, "Unauthenticated").detail).toContain("loopback");
    }
    await expectEmptyFile(thread);
  });

  it.each(["http://127.0.0.1", "http://127.1.2.3:8787", "http://localhost:8787", "http://[::1]"])(
    "[SEC-01] takes the development key at %s",
    async (base) => {
      expectRefusal(await send("/v1/threads/none/explain", { base }), 404, "ThreadNotFound");
    },
  );

  it("[SEC-01] takes another key at any host", async () => {
    const headers = { authorization: `Bearer ${KEY_TEXT}` };
    const keys = [keyOf(["threads:read"])];
    const answer = await sendTo({ keys }, "/v1/threads/none/explain", { headers });
    expectRefusal(answer, 404, "ThreadNotFound");
  });

  it("[SEC-01] finds the principal by the digest of the key alone", () => {
    const keys = [
      keyOf(["admin"], { id: "one", sha256: sha256("one"), principal: "ann" }),
      keyOf(["threads:read"], { id: "two", sha256: sha256("two"), principal: "bob" }),
    ];
    expect(verifyKey(keys, "two", "holdfast.example")).toEqual({
      kind: "verified",
      credential: {
        id: "two",
        caller: { tenant: "dev", principal: "bob", permissions: ["threads:read"] },
      },
    });
    for (const wrong of ["three", sha256("one"), "one ", "On\u0435", ""]) {
      expect(verifyKey(keys, wrong, "holdfast.example").kind).toBe("refused");
    }
  });
});

/** What each route needs. */
const NEEDS: Readonly<Record<string, Permission>> = {
  "GET thread": "threads:read",
  "POST submissions": "threads:write",
  "GET submissions": "threads:read",
  "GET submission": "threads:read",
  "GET settlement": "threads:read",
  "POST abort": "threads:write",
  "GET records": "threads:read",
  "GET events": "threads:read",
  "GET operations": "threads:read",
  "POST decide": "threads:approve",
  "GET explain": "threads:read",
  "GET usage": "threads:read",
  "GET verify": "threads:read",
  "GET export": "threads:read",
  "POST repair": "threads:operate",
  "DELETE thread": "threads:write",
};

describe("permissions", () => {
  it.each([...ROUTES])(
    "[SEC-05, UX-04] $name names the permission that is missing, and does nothing without it",
    async (route) => {
      const needed = NEEDS[route.name] ?? "admin";
      const others = PermissionSchema.options.filter(
        (permission) => permission !== needed && permission !== "admin",
      );
      const thread = new ThreadDriver("auth-permission");
      const answer = await sendTo(
        { keys: [keyOf(others)] },
        ...requestOf(route, thread.threadId, NO_SUBMISSION),
      );
      const problem = expectRefusal(answer, 403, "PermissionMissing");
      expect(problem["permission"]).toBe(needed);
      expect(problem.detail).toContain(needed);
      await expectEmptyFile(thread);
    },
  );

  it.each([...ROUTES])(
    "[SEC-05] $name works with its permission alone, and with admin",
    async (route) => {
      for (const permission of [NEEDS[route.name] ?? "admin", "admin" as const]) {
        const thread = new ThreadDriver("auth-enough");
        const answer = await sendTo(
          { keys: [keyOf([permission])] },
          ...requestOf(route, thread.threadId, NO_SUBMISSION),
        );
        const isSubmit = route.name === "POST submissions";
        if (isSubmit) expect(answer.status).toBe(202);
        else expectRefusal(answer, 404, "ThreadNotFound");
      }
    },
  );

  it("[SEC-05] asks for threads:operate where a decision is about an unknown outcome", async () => {
    const caller: Caller = {
      ...TESTER,
      permissions: ["threads:approve", "threads:write", "threads:read"],
    };
    const thread = new ThreadDriver("auth-decide");
    const operations = new ThreadOperations(parseEnv(env), caller);
    for (const decision of [
      "completed",
      "failed",
      "never-started",
      "safe-to-retry",
      "abort",
    ] as const) {
      const made = {
        operationId: NO_OPERATION,
        decision,
        reason: "guess",
        ...(decision === "completed" ? { result: 1 } : {}),
      };
      const refusal = operations.call("decideOperations", {
        threadId: thread.threadId,
        request: { decisions: [made] },
      });
      await expect(refusal).rejects.toThrow(HoldfastError);
      await expect(refusal).rejects.toMatchObject({
        code: "PermissionMissing",
        fields: { permission: "threads:operate" },
      });
    }
    await expectEmptyFile(thread);
  });

  it("[SEC-05] grants an operation its own permission and admin, and no other", () => {
    for (const needed of Object.values(API_OPERATIONS)) {
      for (const permission of PermissionSchema.options) {
        const expected = needed === null || permission === needed || permission === "admin";
        expect(isGranted([permission], needed)).toBe(expected);
      }
      expect(isGranted([], needed)).toBe(needed === null);
    }
  });

  it("[UX-05] never says of work that it admitted that nothing was applied", async () => {
    const thread = new ThreadDriver("auth-wait");
    // May submit, may not read: the wait needs what the submission does not.
    const answer = await sendTo(
      { keys: [keyOf(["threads:write"])] },
      `/v1/threads/${thread.threadId}/submissions`,
      {
        method: "POST",
        headers: {
          authorization: `Bearer ${KEY_TEXT}`,
          "content-type": "application/json",
          "idempotency-key": "k",
          prefer: "wait=20",
        },
        body: JSON.stringify(command([{ text: "ok" }])),
      },
    );
    const { submissions } = await thread.dump();
    if (answer.status === 403) expect(submissions).toEqual([]);
    else {
      expect(answer.status).toBe(202);
      expect(submissions).toHaveLength(1);
    }
  });
});

describe("tenants", () => {
  it("[SEC-02] cannot reach each other's thread of the same id", async () => {
    const thread = new ThreadDriver("auth-tenant");
    const mine = SubmitResultSchema.parse(
      (await submit(thread.threadId, "k", command([{ text: "mine" }]))).json,
    ).receipt;
    await thread.settlement(mine.submissionId);
    await thread.quiet();
    const before = await thread.dump();
    const theirs = new ThreadClient(namespace, { ...TESTER, tenant: "other" });
    const { threadId } = thread;
    const { submissionId } = mine;
    const notFound = { code: "ThreadNotFound" };
    await expect(theirs.call("explain", { threadId })).rejects.toMatchObject(notFound);
    await expect(theirs.call("readPage", { threadId })).rejects.toMatchObject(notFound);
    await expect(theirs.call("getSubmission", { threadId, submissionId })).rejects.toMatchObject(
      notFound,
    );
    await expect(theirs.call("abort", { threadId, submissionId })).rejects.toMatchObject(notFound);
    const { receipt, replayed } = await theirs.call("submit", {
      threadId,
      idempotencyKey: "k",
      request: command([{ text: "theirs" }]),
    });
    expect(replayed).toBe(false);
    expect(receipt.submissionId).not.toBe(submissionId);
    await expect(theirs.call("getSubmission", { threadId, submissionId })).rejects.toMatchObject({
      code: "SubmissionNotFound",
    });
    const settled = { threadId, submissionId: receipt.submissionId, timeoutMillis: 10_000 };
    expect(await theirs.call("awaitSettlementRecord", settled)).toMatchObject({ output: "theirs" });
    expect(await thread.dump()).toEqual(before);
  });

  it("[SEC-02, SEC-03] get another tenant's thread over no route, whatever they may do in their own", async () => {
    const thread = new ThreadDriver("auth-tenant");
    const { receipt } = await thread.submit([{ calls: [{ tool: "guarded" }] }, { text: "ok" }]);
    await thread.waitingFor(receipt.submissionId, "approval");
    await thread.quiet();
    const before = await thread.dump();
    for (const route of ROUTES.filter(({ name }) => name !== "POST submissions")) {
      const answer = await sendTo(
        { keys: [keyOf(["admin"], { tenant: "other-by-http" })] },
        ...requestOf(route, thread.threadId, receipt.submissionId),
      );
      expectRefusal(answer, 404, "ThreadNotFound");
      expect(answer.text).not.toContain(receipt.submissionId);
    }
    expect(await thread.dump()).toEqual(before);
  });

  it.each([
    [
      ["a", 'b","c'],
      ['a","b', "c"],
    ],
    [
      ["a/b", "c"],
      ["a", "b/c"],
    ],
    [
      ["a", "1"],
      ["a1", ""],
    ],
  ])("[SEC-02] have no two names for one object: %j and %j", async (one, two) => {
    const names: string[] = [];
    const spy: ThreadNamespace = {
      getByName: (name) => {
        names.push(name);
        return namespace.getByName("spied");
      },
    };
    for (const [tenant = "", threadId = ""] of [one, two]) {
      const client = new ThreadClient(spy, { ...TESTER, tenant });
      await expect(client.call("explain", { threadId })).rejects.toThrow(HoldfastError);
    }
    expect(new Set(names).size).toBe(2);
  });
});

describe("secrets", () => {
  it("[SEC-04, RUN-12] are in no answer: not the key, its digest, a stack or what a provider said", async () => {
    const thread = new ThreadDriver("auth-answers");
    const plans = [
      command([{ fail: { how: "http", status: 400 } }]),
      command([{ calls: [{ tool: "act", input: { behave: "hostile" } }] }, { text: "ok" }]),
    ];
    const answers: Answer[] = [];
    for (const [index, plan] of plans.entries()) {
      answers.push(await submit(thread.threadId, `k${index}`, plan, { prefer: "wait=20" }));
      expect(answers.at(-1)?.status).toBe(202);
    }
    for (const route of ROUTES) {
      answers.push(
        await sendBare(route.path(thread.threadId, "none"), rightRequest(route, "none")),
      );
      answers.push(await sendBare(route.path(thread.threadId, "none")));
    }
    for (const answer of answers) {
      const said = `${answer.text}${JSON.stringify([...answer.headers])}`;
      expect(said).not.toContain("holdfast-dev");
      expect(said).not.toContain(sha256("holdfast-dev"));
      expect(said).not.toMatch(/secret|trap|node_modules|\bat \w+ \(/);
    }
  });

  it("[SEC-01] are in no line of the log: it names a credential by its id", async () => {
    const warn = vi.spyOn(console, "warn");
    try {
      const key = keyOf(["threads:write"], { id: "key-of-ann" });
      const path = "/v1/threads/x/explain";
      const headers = { authorization: `Bearer ${KEY_TEXT}` };
      const known = expectProblem(await sendTo({ keys: [key] }, path, { headers }));
      const wrong = { authorization: `Bearer ${KEY_TEXT}-wrong` };
      const unknown = expectProblem(await sendTo({ keys: [key] }, path, { headers: wrong }));
      const common = { level: "warn", event: "request-refused", method: "GET" };
      expect(warn.mock.calls.map(([line]) => z.json().parse(JSON.parse(String(line))))).toEqual([
        {
          ...common,
          requestId: known.requestId,
          code: "PermissionMissing",
          credential: "key-of-ann",
        },
        { ...common, requestId: unknown.requestId, code: "Unauthenticated", credential: null },
      ]);
    } finally {
      warn.mockRestore();
    }
  });

  it("[SEC-04, UX-04] tell nothing where the deployment is misconfigured: the answer has no value of a variable", async () => {
    const variables = { HOLDFAST_API_KEYS: '[{"sha256":"hunter2-hunter2"}]' };
    const answer = await sendTo({ variables }, "/v1/threads/x/explain");
    expect(answer.status).toBe(503);
    expect(expectProblem(answer)).toMatchObject({ code: "Unavailable" });
    expect(answer.text).toContain("HOLDFAST_API_KEYS");
    expect(answer.text).not.toContain("hunter2");
  });
});
