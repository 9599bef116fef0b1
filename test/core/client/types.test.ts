// The client's types follow the agent's own: the type checker is what fails here.
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { defineAgent, type Agent } from "../../../shared/define/agent.ts";
import {
  holdfastClient,
  type InputOf,
  type OutputOf,
  type SettlementOf,
  type ThreadHandle,
} from "../../../shared/client/index.ts";
import type { JsonValue } from "../../../shared/canonical-json.ts";
import { ok, scriptedBinding } from "./fakes.ts";

const common = {
  revision: 1,
  description: "Plans.",
  instructions: "Plan.",
  model: "local/planner",
} as const;

const planner = defineAgent({
  ...common,
  id: "planner",
  // What a caller sends, and what the agent gets, differ: only the first is the client's.
  input: z.object({
    city: z.string(),
    days: z.int().default(3),
    when: z.string().transform(Number).optional(),
  }),
  output: z.object({ plan: z.array(z.string()), cost: z.string().transform(Number) }),
});
const writer = defineAgent({ ...common, id: "writer", input: z.string() });
const anything = defineAgent({ ...common, id: "anything", input: z.any() });

type Submit<Of extends Agent> = typeof ThreadHandle.prototype.submit<Of>;
type Run<Of extends Agent> = typeof ThreadHandle.prototype.run<Of>;

describe("[UX-06] types of the client", () => {
  it("know what each agent takes and gives", () => {
    expectTypeOf<InputOf<typeof planner>>().toEqualTypeOf<{
      city: string;
      days?: number | undefined;
      when?: string | undefined;
    }>();
    expectTypeOf<OutputOf<typeof planner>>().toEqualTypeOf<{ plan: string[]; cost: number }>();
    expectTypeOf<InputOf<typeof writer>>().toEqualTypeOf<string>();
    // Without an output schema it is the model's text.
    expectTypeOf<OutputOf<typeof writer>>().toEqualTypeOf<string>();
  });

  it("take an agent's own id and input, and no other", () => {
    expectTypeOf<Parameters<Submit<typeof planner>>[0]>().toEqualTypeOf<"planner">();
    expectTypeOf<Parameters<Submit<typeof planner>>[1]>().toEqualTypeOf<InputOf<typeof planner>>();
    expectTypeOf<Parameters<Run<typeof planner>>[0]>().toEqualTypeOf<"planner">();
    expectTypeOf<Parameters<Run<typeof planner>>[1]>().toEqualTypeOf<InputOf<typeof planner>>();
    expectTypeOf<Parameters<Run<typeof writer>>[1]>().toEqualTypeOf<string>();
  });

  it("take any id and any JSON where no agent is named", () => {
    expectTypeOf<Parameters<Submit<Agent>>[0]>().toEqualTypeOf<string>();
    expectTypeOf<Parameters<Submit<Agent>>[1]>().toEqualTypeOf<JsonValue>();
    // An agent that takes anything still takes what can be sent.
    expectTypeOf<Parameters<Submit<typeof anything>>[1]>().toEqualTypeOf<JsonValue>();
  });

  it("give the agent's own output, which only a completed run has", () => {
    type Settled = Awaited<ReturnType<Run<typeof planner>>>["settlement"];
    expectTypeOf<Settled>().toEqualTypeOf<SettlementOf<typeof planner>>();
    expectTypeOf<Settled["output"]>().toEqualTypeOf<OutputOf<typeof planner> | undefined>();
    expectTypeOf<Settled["outcome"]>().toEqualTypeOf<"completed" | "failed" | "aborted">();
    expectTypeOf<SettlementOf<Agent>["output"]>().toEqualTypeOf<unknown>();
  });

  it("hold for a call as it is written", async () => {
    const settlement = { outcome: "completed", output: { plan: ["walk"], cost: 3 } };
    const { binding } = scriptedBinding(async ({ method }) =>
      ok(method === "submit" ? { receipt: {}, submission: { settlement } } : settlement),
    );
    const thread = holdfastClient({ binding }).thread("t");
    const ran = await thread.run<typeof planner>("planner", { city: "Oslo" });
    expectTypeOf(ran.settlement.output?.plan).toEqualTypeOf<string[] | undefined>();
    const settled = await thread.settlement<typeof planner>("sub-1-aaaaaaaaaaaaaaaa");
    expectTypeOf(settled.output?.cost).toEqualTypeOf<number | undefined>();
    expect([ran.settlement.output?.plan, settled.output?.cost]).toEqual([["walk"], 3]);
  });

  it("want one way to the deployment, and not half of one", () => {
    type Options = Parameters<typeof holdfastClient>[0];
    expectTypeOf<{ baseUrl: string; token: string }>().toExtend<Options>();
    expectTypeOf<{ baseUrl: string; token: () => Promise<string> }>().toExtend<Options>();
    expectTypeOf<{ baseUrl: string }>().not.toExtend<Options>();
    expectTypeOf<{ token: string }>().not.toExtend<Options>();
    expectTypeOf<{ retry: { maxRetries: number } }>().not.toExtend<Options>();
    expect(
      holdfastClient({ baseUrl: "https://agents.test", token: "t" }).thread("t").threadId,
    ).toBe("t");
  });
});
