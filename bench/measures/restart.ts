// SIGKILL in the middle of a model call, then the same storage under a new process: how long until the run goes on by itself. The model
// reports each call to a server here, so that no request has to be sent. Bare workerd: what is measured is the runtime, not a dev server.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { Client, submissionIdOf } from "../harness/client.ts";
import { spreadOf, type Timing } from "../harness/figures.ts";
import {
  freePort,
  killWorkerd,
  portOf,
  startWorkerd,
  untilListening,
  writeWorkerdConfig,
} from "../harness/workerd.ts";
import { benchApiKeys } from "../workers/bench-key.ts";
import { writeTask } from "../workers/scripted-model.ts";

const REPEATS = 7;

export async function measureRestart(script: string, folder: string): Promise<Timing> {
  const samples: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    samples.push(await restartOnce(script, folder, `restart-${repeat}`));
  }
  return {
    key: "PERF-11",
    measure:
      "[PERF-11] start of the process after SIGKILL to the model's next call, no request sent",
    unit: "ms",
    floor: null,
    leanFloor: null,
    ours: spreadOf(samples),
    line: { kind: "at-most", bound: 500 },
    stretch: null,
  };
}

async function restartOnce(script: string, folder: string, name: string): Promise<number> {
  const model = await ModelStub.listen();
  const port = await freePort();
  const config = writeWorkerdConfig({
    name,
    script,
    folder,
    port,
    binding: "THREADS",
    className: "ThreadObject",
    variables: { HOLDFAST_API_KEYS: benchApiKeys(), BENCH_REPORT_URL: model.url },
  });
  let child = startWorkerd(config);
  const client = new Client(`http://127.0.0.1:${port}`);
  try {
    await untilListening(client);
    const called = model.nextCall();
    const task = writeTask({ steps: 0, deltas: 1 });
    const answer = await client.submit({ thread: "restart", agent: "reporting", task });
    await called;
    await killWorkerd(child);
    const calledAgain = model.nextCall();
    const started = performance.now();
    child = startWorkerd(config);
    await calledAgain;
    const millis = performance.now() - started;
    model.release();
    const path = `/v1/threads/restart/submissions/${submissionIdOf(answer)}/settlement`;
    const settled = await client.send("GET", path, { prefer: "wait=20" });
    if (settled.status !== 200) throw new Error("the run did not settle after the restart");
    return millis;
  } finally {
    client.close();
    await killWorkerd(child);
    model.close();
  }
}

/** Holds every call until it is released, and says when one arrives. */
class ModelStub {
  readonly #server: Server;
  readonly #held: (() => void)[] = [];
  #released = false;
  #onCall: () => void = () => undefined;

  static async listen(): Promise<ModelStub> {
    const stub = new ModelStub();
    stub.#server.listen(0, "127.0.0.1");
    await once(stub.#server, "listening");
    return stub;
  }

  private constructor() {
    this.#server = createServer((_request, response) => {
      this.#onCall();
      const answer = (): void => void response.end();
      if (this.#released) answer();
      else this.#held.push(answer);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}/`;
  }

  nextCall(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onCall = resolve;
    return promise;
  }

  release(): void {
    this.#released = true;
    for (const answer of this.#held) answer();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
