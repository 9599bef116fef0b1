// The fake server of one test file, in the place of `fetch` while each of its tests runs.
import { afterAll, afterEach, beforeEach, vi } from "vitest";
import { startServer, type FakeServer } from "./fake-server.ts";

/** Call at the top of the file: it adds the hooks that close the server again. */
export async function serveStreams(): Promise<FakeServer> {
  const server = await startServer();
  beforeEach(() => {
    vi.stubGlobal("fetch", server.fetch);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });
  afterAll(() => server.close());
  return server;
}
