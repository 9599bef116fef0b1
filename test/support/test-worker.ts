// The Worker under test: the real factory with the tests' agents and the tests' world.
import { DurableObject } from "cloudflare:workers";
import { holdfast } from "../../worker/holdfast.ts";
import { scriptedModel } from "./scripted-model.ts";
import {
  brokenAgent,
  carefreeAgent,
  frugalAgent,
  hastyAgent,
  impatientAgent,
  restartingAgent,
  resubmittingAgent,
  routedAgent,
  plainAgent,
  searchingAgent,
  strictAgent,
  structuredAgent,
  submittingAgent,
  throwingAgent,
  unmodelledAgent,
  unpricedAgent,
} from "./test-agents.ts";
import { testOptions } from "./test-options.ts";
import { world } from "./world.ts";

const AGENTS = [
  plainAgent,
  impatientAgent,
  restartingAgent,
  resubmittingAgent,
  routedAgent,
  structuredAgent,
  frugalAgent,
  strictAgent,
  hastyAgent,
  brokenAgent,
  throwingAgent,
  unmodelledAgent,
  submittingAgent,
  searchingAgent,
  unpricedAgent,
  carefreeAgent,
];

const deployment = holdfast(
  {
    get agents() {
      return testOptions.agents(AGENTS);
    },
    models: {
      "test/scripted": { create: () => scriptedModel },
      "test/unpriced": { create: () => scriptedModel },
    },
    prices: {
      "test/scripted": {
        inputUsdPerMillion: 2,
        outputUsdPerMillion: 10,
        cacheReadUsdPerMillion: 0.2,
      },
    },
    toolAuthorization: (request) => testOptions.authorize(request),
    get authorizeOperation() {
      return testOptions.authorizeOperation;
    },
    get limits() {
      return testOptions.limits;
    },
    get placement() {
      return testOptions.placement;
    },
    get ownsThread() {
      return testOptions.ownsThread;
    },
    get lanes() {
      return testOptions.lanes;
    },
    hostLanesForMutation: (mutation) => testOptions.hostLanesForMutation?.(mutation) ?? [],
    get onRecoveryEvent() {
      return testOptions.onRecoveryEvent;
    },
    onToolFailure: (failure) => testOptions.onToolFailure(failure),
    onEvent: (event, run) =>
      testOptions.onEvent === undefined ? run() : testOptions.onEvent(event, run),
    get selectBinding() {
      return testOptions.selectBinding;
    },
    get services() {
      return testOptions.services;
    },
  },
  world.ports,
);

/** The outside that tools touch: an object of its own, which counts executions whatever becomes of the caller. */
export class OutsideObject extends DurableObject {
  execute(operationId: string): void {
    world.countExecution(operationId);
  }
}

export class ThreadObject extends deployment.ThreadObject {}
export class HoldfastService extends deployment.HoldfastService {}
export default deployment.worker;
