// The orchestrator's side of the stub process.
import { fork, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { FromStubSchema, type Arrival, type Execution, type ToStub } from "./stub-wire.ts";

export class Stub {
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (executions: readonly Execution[]) => void>();
  readonly #listening = Promise.withResolvers<number>();
  #asks = 0;
  /** Contract: does not throw. */
  onArrival: (arrival: Arrival) => void = () => undefined;

  constructor() {
    this.#child = fork(join(import.meta.dirname, "stub-process.ts"), {
      env: { ...process.env, NODE_NO_WARNINGS: "1" },
    });
    this.#child.on("message", (raw) => this.#receive(raw));
    this.#child.once("exit", () => this.#listening.reject(new Error("the stub process ended")));
  }

  port(): Promise<number> {
    return this.#listening.promise;
  }

  reply(arrival: Arrival): void {
    this.#send({ kind: "reply", id: arrival.id });
  }

  /** What the stub counted, of one operation or of all. */
  executions(operationId: string | null): Promise<readonly Execution[]> {
    this.#asks += 1;
    const ask = this.#asks;
    const { promise, resolve } = Promise.withResolvers<readonly Execution[]>();
    this.#answers.set(ask, resolve);
    this.#send({ kind: "ask", ask, operationId });
    return promise;
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }

  #send(message: ToStub): void {
    this.#child.send(message);
  }

  #receive(raw: unknown): void {
    const message = FromStubSchema.parse(raw);
    switch (message.kind) {
      case "listening":
        this.#listening.resolve(message.port);
        break;
      case "arrived":
        this.onArrival(message);
        break;
      case "executions":
        this.#answers.get(message.ask)?.(message.executions);
        this.#answers.delete(message.ask);
        break;
    }
  }
}
