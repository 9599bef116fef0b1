// The outside world of the demo: a loopback service that restarts things slowly, and remembers what it was asked to do.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface OpsService {
  readonly url: string;
  /** Restarts by idempotency key: what really happened. */
  readonly restarts: ReadonlyMap<string, number>;
  /** Resolves when a restart is under way. */
  readonly busy: Promise<void>;
  close(): void;
}

/** @param holdMillis how long a restart takes to answer */
export async function startOpsService(holdMillis: number): Promise<OpsService> {
  const restarts = new Map<string, number>();
  const { promise: busy, resolve } = Promise.withResolvers<void>();
  const server: Server = createServer((request, response) => {
    const key = request.headers["idempotency-key"];
    if (typeof key === "string") restarts.set(key, (restarts.get(key) ?? 0) + 1);
    resolve();
    setTimeout(() => response.end("restarted"), holdMillis).unref();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("no port to listen on");
  return {
    url: `http://127.0.0.1:${address.port}`,
    restarts,
    busy,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
