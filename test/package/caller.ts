// A Worker of somebody else's: it reaches the deployment by a service binding alone, through the package's client.
import { HoldfastError, holdfastClient, type ServiceRpc } from "holdfast/client";
import type { gameMaster } from "./game-master.ts";

interface Env {
  readonly HOLDFAST: ServiceRpc;
  readonly NOBODY: ServiceRpc;
}

type Answer = Record<string, unknown>;

/** What the tests ask of this Worker, by path. */
const asks: Record<string, (env: Env, threadId: string) => Promise<Answer>> = {
  async run({ HOLDFAST }, threadId) {
    const thread = holdfastClient({ binding: HOLDFAST }).thread(threadId);
    const { receipt, settlement } = await thread.run<typeof gameMaster>("game-master", {
      wish: "a six",
    });
    // Typed by the agent's own output schema.
    const said: string | undefined = settlement.output?.answer;
    return { receipt, outcome: settlement.outcome, said };
  },
  async events({ HOLDFAST }, threadId) {
    const thread = holdfastClient({ binding: HOLDFAST }).thread(threadId);
    const { receipt } = await thread.submit("game-master", { wish: "a three" });
    const events: string[] = [];
    for await (const { event } of thread.events({ submissionId: receipt.submissionId })) {
      events.push(event);
    }
    return { events };
  },
  async cancel({ HOLDFAST }, threadId) {
    const thread = holdfastClient({ binding: HOLDFAST }).thread(threadId);
    const { receipt } = await thread.run("game-master", { wish: "a two" });
    const started = Date.now();
    const signal = AbortSignal.timeout(50);
    // A submission of another thread: it is not there, and a wait for progress would not end by itself.
    const wait = HOLDFAST.awaitProgress({
      threadId,
      after: 1_000_000,
      timeoutMillis: 60_000,
      waitId: "mine",
    });
    signal.addEventListener("abort", () => {
      void HOLDFAST.cancelWait({ threadId, waitId: "mine" });
    });
    const answer = await wait;
    return { receipt, answer, waitedMillis: Date.now() - started };
  },
  async refused({ NOBODY }, threadId) {
    try {
      await holdfastClient({ binding: NOBODY }).thread(threadId).get();
      return { code: null };
    } catch (error) {
      return { code: error instanceof HoldfastError ? error.code : "something else" };
    }
  },
};

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const ask = asks[url.pathname.slice(1)];
    if (ask === undefined) return new Response("not found", { status: 404 });
    return Response.json(await ask(env, url.searchParams.get("thread") ?? "t"));
  },
};
