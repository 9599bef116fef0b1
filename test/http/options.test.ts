// What a deployment sets: options that are given, or made from the environment, what is said of wrong ones, and the services that each
// object makes for its tools and hooks.
import { env, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool, type Agent } from "../../shared/define/index.ts";
import type { Environment, Services } from "../../shared/define/environment.ts";
import { HoldfastError } from "../../shared/errors/holdfast-error.ts";
import { AgentListSchema } from "../../shared/wire/agent-view.ts";
import { createApp } from "../../worker/app.ts";
import { prepareDeployment, type HoldfastOptions } from "../../worker/deployment-options.ts";
import { holdfast } from "../../worker/holdfast.ts";
import { expectSound } from "../support/expect-sound.ts";
import { ScriptedInputSchema } from "../support/scripted-model.ts";
import { plainAgent, structuredAgent } from "../support/test-agents.ts";
import { resetOptions, testOptions } from "../support/test-options.ts";
import { ThreadDriver } from "../support/thread-driver.ts";
import { world } from "../support/world.ts";
import { KEY_TEXT, keyOf, sendTo } from "./deployments.ts";
import { directService, environmentWith } from "./direct-service.ts";
import { expectEmptyFile, expectProblem, type Answer } from "./http-client.ts";
import { RefusalSchema } from "./service-client.ts";

afterEach(resetOptions);

type Options = HoldfastOptions | ((env: Environment) => HoldfastOptions);

/** What a user without types may write. */
function untyped(options: unknown): HoldfastOptions {
  return z.custom<HoldfastOptions>().parse(options);
}

/** Wrong options, and what is said of them. */
const MISTAKES: readonly (readonly [what: string, options: HoldfastOptions, said: string])[] = [
  ["no agents", { agents: [] }, "holdfast: agents: there is none"],
  ["agents left out", untyped({}), "holdfast: agents: Invalid input: expected array"],
  [
    "an agent without a list",
    untyped({ agents: plainAgent }),
    "holdfast: agents: Invalid input: expected array",
  ],
  [
    "an agent that is not there yet",
    untyped({ agents: [plainAgent, undefined] }),
    "holdfast: agents.1: no agent; defineAgent makes one",
  ],
  ["nothing at all", untyped(undefined), "holdfast: value: Invalid input: expected object"],
  [
    "a promise of options",
    untyped(Promise.resolve({ agents: [plainAgent] })),
    "holdfast: agents: Invalid input: expected array",
  ],
  [
    "a field that is misspelt",
    untyped({ agents: [plainAgent], modles: {} }),
    "holdfast: modles: no such field; the fields are agents, models, prices, auth, authorizeOperation, toolAuthorization, selectBinding, placement, ownsThread, lanes, hostLanesForMutation, onRecoveryEvent, onToolFailure, onEvent, services, limits",
  ],
  [
    "two fields that there are not",
    untyped({ agent: [plainAgent], tools: 2 }),
    "holdfast: agent, tools: no such field; the fields are agents, ",
  ],
  [
    "two agents of one id",
    { agents: [plainAgent, structuredAgent, plainAgent] },
    "holdfast: agents: two have the id plain",
  ],
];

function listAgents(options: Options, variables = {}): Promise<Answer> {
  const app = createApp(prepareDeployment(options, world.ports));
  return sendTo({ app, keys: [keyOf(["admin"])], variables }, "/v1/agents", {
    headers: { authorization: `Bearer ${KEY_TEXT}` },
  });
}

describe("[API-05] options that are given", () => {
  it.each(MISTAKES)(
    "[UX-04] are refused at the start when they are wrong: %s",
    (_what, options, said) => {
      const start = (): unknown => holdfast(options);
      expect(start).toThrow(HoldfastError);
      expect(start).toThrow(
        expect.objectContaining({
          code: "InvalidDefinition",
          detail: expect.stringContaining(said),
        }),
      );
    },
  );

  it("need agents alone", () => {
    const made = holdfast({ agents: [plainAgent] });
    expect(Object.keys(made)).toEqual(["ThreadObject", "HoldfastService", "worker"]);
  });
});

describe("[API-05] options that are made from the environment", () => {
  it("get the environment, and make the deployment for it", async () => {
    const named = (id: string): Agent =>
      defineAgent({
        id,
        revision: 1,
        description: "An agent of the tests.",
        input: ScriptedInputSchema,
        instructions: "Follow the plan.",
        model: "test/scripted",
      });
    const options = (environment: Environment): HoldfastOptions => ({
      agents: [named(String(Reflect.get(environment, "AGENT_NAME")))],
    });
    for (const name of ["by-day", "by-night"]) {
      const { json } = await listAgents(options, { AGENT_NAME: name });
      expect(AgentListSchema.parse(json).agents.map(({ id }) => id)).toEqual([name]);
      const service = directService({ options, variables: { AGENT_NAME: name } });
      expect(await service.agents()).toMatchObject({ ok: true, value: { agents: [{ id: name }] } });
    }
  });

  it("are made once for each environment, at its first use", async () => {
    const make = vi.fn((_environment: Environment): HoldfastOptions => ({ agents: [plainAgent] }));
    const deployment = prepareDeployment(make, world.ports);
    expect(make).not.toHaveBeenCalled();
    const [one, other] = [environmentWith(), environmentWith()];
    for (const environment of [one, other, one, other]) {
      deployment.optionsOf(environment);
      deployment.agentsOf(environment);
    }
    expect(deployment.optionsOf(one)).toBe(deployment.optionsOf(one));
    expect(deployment.agentsOf(one)).toBe(deployment.agentsOf(one));
    expect(make.mock.calls).toEqual([[one], [other]]);
  });

  it("are the same for requests, RPC and objects", async () => {
    const make = vi.fn((_environment: Environment): HoldfastOptions => ({ agents: [plainAgent] }));
    const { ThreadObject, HoldfastService, worker } = holdfast(make, world.ports);
    const environment = environmentWith();
    await runInDurableObject(objectOf(new ThreadDriver("options")), (_instance, state) => {
      for (const _ of [1, 2]) expect(new ThreadObject(state, environment)).toBeDefined();
    });
    expect(make.mock.calls).toEqual([[environment]]);
    expect(HoldfastService.name).toBe("HoldfastService");
    expect(worker.fetch).toBeTypeOf("function");
  });

  it.each(MISTAKES)(
    "[UX-04] name what is wrong with them in the log at the first use, and tell callers nothing of it: %s",
    async (_what, options, said) => {
      const make = vi.fn(() => options);
      expect(() => holdfast(make)).not.toThrow();
      const logged = vi.spyOn(console, "error").mockReturnValue();
      const problem = expectProblem(await listAgents(make));
      expect(problem).toMatchObject({ status: 503, code: "Unavailable", reason: "configuration" });
      const { error } = RefusalSchema.parse(await directService({ options: make }).agents());
      expect(error).toMatchObject({ code: "Unavailable", detail: problem.detail });
      expect(problem.detail).not.toContain(said);
      expect(JSON.stringify(logged.mock.calls)).toContain(JSON.stringify(said).slice(1, -1));
      logged.mockRestore();
    },
  );

  it("fail typed when the function throws, tell nothing of it, and are asked for again", async () => {
    let isDown = true;
    const options = (): HoldfastOptions => {
      if (isDown) throw new Error("secret of the author's options");
      return { agents: [plainAgent] };
    };
    const app = createApp(prepareDeployment(options, world.ports));
    const ask = (): Promise<Answer> =>
      sendTo({ app, keys: [keyOf(["admin"])] }, "/v1/agents", {
        headers: { authorization: `Bearer ${KEY_TEXT}` },
      });
    const service = directService({ options });
    for (const _ of [1, 2]) {
      const answer = await ask();
      expect(expectProblem(answer)).toMatchObject({ status: 503, code: "Unavailable" });
      expect(answer.text).not.toContain("secret");
      const result = await service.agents();
      expect(RefusalSchema.parse(result).error.code).toBe("Unavailable");
      expect(JSON.stringify(result)).not.toContain("secret");
    }
    isDown = false;
    expect((await ask()).status).toBe(200);
    expect(await service.agents()).toMatchObject({ ok: true });
  });
});

function objectOf(driver: ThreadDriver): DurableObjectStub {
  return z.custom<DurableObjectNamespace>().parse(env.THREADS).getByName(driver.name);
}

/** What the tests make as services: which of them it is, and who saw it. */
interface Probe {
  readonly made: number;
  readonly seenBy: string[];
}

/** Services that count, and an agent whose tool and predicate say when they see them. */
function probing() {
  const probes: Probe[] = [];
  const environments: Environment[] = [];
  const make = (environment: Environment): Services => {
    environments.push(environment);
    const probe: Probe = { made: probes.length + 1, seenBy: [] };
    probes.push(probe);
    return z.custom<Services>().parse(probe);
  };
  const see = (services: Services, who: string): void => {
    z.custom<Probe>().parse(services).seenBy.push(who);
  };
  const probe = defineTool({
    name: "probe",
    revision: 1,
    description: "Says that it saw the services.",
    input: z.object({}),
    effect: "read",
    needsApproval: (_input, { services }) => {
      see(services, "predicate");
      return false;
    },
    execute: (_input, { services, env: environment }) => {
      see(services, Reflect.has(environment, "THREADS") ? "tool" : "tool without environment");
      return "seen";
    },
  });
  const agent = defineAgent({
    id: "probing",
    revision: 1,
    description: "An agent of the tests.",
    input: ScriptedInputSchema,
    instructions: "Follow the plan.",
    model: "test/scripted",
    tools: { probe },
  });
  testOptions.agents = (all) => [...all, agent];
  testOptions.services = make;
  testOptions.authorize = ({ services }) => {
    see(services, "authorization");
    return true;
  };
  return { probes, environments };
}

const plan = [{ calls: [{ tool: "probe" }] }, { text: "done" }];

describe("[API-05] services", () => {
  it("are made once per object, and reach tools, predicates and toolAuthorization", async () => {
    const { probes, environments } = probing();
    const driver = new ThreadDriver("options-services");
    for (const key of ["one", "two"]) {
      expect(await driver.run(plan, { agent: "probing", key })).toMatchObject({ output: "done" });
    }
    const all = ["authorization", "predicate", "tool"];
    expect(probes).toHaveLength(1);
    expect(probes[0]?.seenBy.toSorted()).toEqual([...all, ...all].toSorted());
    expect(environments.map((environment) => "THREADS" in environment)).toEqual([true]);
    await expectSound(driver, { readTools: new Set(["probe"]) });
  });

  it("are each object's own", async () => {
    const { probes } = probing();
    const drivers = [1, 2].map(() => new ThreadDriver("options-services"));
    for (const driver of drivers) await driver.run(plan, { agent: "probing" });
    expect(probes.map(({ made, seenBy }) => [made, seenBy.length])).toEqual([
      [1, 3],
      [2, 3],
    ]);
  });

  it("are made anew when an object wakes, and the work goes on with those", async () => {
    const { probes } = probing();
    const driver = new ThreadDriver("options-services");
    await driver.run(plan, { agent: "probing", key: "one" });
    await driver.quiet();
    await driver.evict();
    await driver.run(plan, { agent: "probing", key: "two" });
    expect(probes.map(({ seenBy }) => seenBy.length)).toEqual([3, 3]);
    await expectSound(driver, { readTools: new Set(["probe"]) });
  });

  it("that cannot be made fail the request typed, with nothing done, and are made when asked again", async () => {
    const driver = new ThreadDriver("options-services");
    testOptions.services = () => {
      throw new Error("secret of the author's services");
    };
    const service = directService();
    const submit = {
      threadId: driver.threadId,
      idempotencyKey: "k",
      request: { agent: "plain", input: { plan: [{ text: "ok" }] } },
    };
    const result = await service.submit(submit);
    expect(RefusalSchema.parse(result).error).toMatchObject({
      code: "Unavailable",
      fields: { reason: "configuration" },
    });
    expect(JSON.stringify(result)).not.toContain("secret");
    resetOptions();
    await expectEmptyFile(driver);
    expect(await service.submit(submit)).toMatchObject({ ok: true, value: { replayed: false } });
    await expectSound(driver);
  });

  it("[SEC-02] that are made at the second try let nobody in whom the host was not asked about", async () => {
    const driver = new ThreadDriver("options-services");
    let tries = 0;
    testOptions.services = () => {
      tries += 1;
      if (tries % 2 === 1) throw new Error("secret of the author's services");
      return {};
    };
    testOptions.authorizeOperation = () => false;
    const logged = vi.spyOn(console, "error").mockReturnValue();
    for (const key of ["one", "two", "three", "four"]) {
      const refused = expect(driver.submit([{ text: "ok" }], { key })).rejects;
      await refused.toMatchObject({
        code: expect.stringMatching(/^(?:ThreadNotFound|Unavailable)$/),
      });
    }
    logged.mockRestore();
    resetOptions();
    await expectEmptyFile(driver);
  });

  it("that cannot be made keep owed work and its alarm, and it goes on once they can", async () => {
    const driver = new ThreadDriver("options-services");
    const { receipt } = await driver.submit([
      { text: "went on", fail: { how: "http", status: 503, times: 1 } },
    ]);
    await driver.waitingFor(receipt.submissionId, "retry-backoff");
    await driver.quiet();
    testOptions.services = () => {
      throw new Error("secret of the author's services");
    };
    await driver.evict();
    const logged = vi.spyOn(console, "error").mockReturnValue();
    // The alarm is delivered to an object that cannot work: it is armed again, never used up.
    for (const _ of [1, 2, 3]) {
      expect(await driver.fireAlarm()).toBe(true);
      expect(await driver.alarmAt()).not.toBeNull();
    }
    await expect(driver.explain()).rejects.toMatchObject({
      code: "Unavailable",
      fields: { reason: "configuration" },
    });
    expect(JSON.stringify(logged.mock.calls)).toContain("options-failed");
    expect(JSON.stringify(logged.mock.calls)).not.toContain("secret");
    logged.mockRestore();
    resetOptions();
    await driver.runAlarms();
    expect(await driver.settlement(receipt.submissionId)).toMatchObject({ output: "went on" });
    await expectSound(driver);
  });
});

describe("a model function that throws", () => {
  it("[GW-03] fails the runs of its own agent, and says so in their settlements", async () => {
    const agent = defineAgent({
      id: "choosy",
      revision: 1,
      description: "An agent of the tests.",
      input: ScriptedInputSchema,
      instructions: "Follow the plan.",
      model: () => {
        throw new Error("secret of the author's choice");
      },
    });
    testOptions.agents = (all) => [...all, agent];
    const driver = new ThreadDriver("options-model");
    const failed = await driver.run([{ text: "ok" }], { agent: "choosy" });
    expect(failed).toMatchObject({
      outcome: "failed",
      failure: { tag: "ModelFailed", message: expect.stringContaining("choosy") },
    });
    expect(JSON.stringify(failed)).not.toContain("secret");
    expect(await driver.run([{ text: "fine" }])).toMatchObject({ output: "fine" });
    await expectSound(driver);
  });
});
