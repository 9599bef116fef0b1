// Runs a built Worker in miniflare, with its objects on disk in a temporary folder.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { Client } from "./client.ts";

export interface ServerOptions {
  readonly name: string;
  readonly script: string;
  readonly folder: string;
  readonly objects: Readonly<Record<string, string>>;
  readonly bindings?: Readonly<Record<string, string>>;
  readonly isInspected?: boolean;
}

export interface Server {
  readonly client: Client;
  /** Where an inspected server's inspector listens. */
  readonly inspectorUrl: () => Promise<URL>;
  stop(): Promise<void>;
}

export async function startServer(options: ServerOptions): Promise<Server> {
  const { name, script, folder, objects, bindings = {}, isInspected = false } = options;
  const storage = join(folder, `${name}-storage`);
  mkdirSync(storage, { recursive: true });
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      name,
      modulesRoot: dirname(script),
      modules: [{ type: "ESModule", path: script }],
      compatibilityDate: "2026-11-01",
      durableObjects: Object.fromEntries(
        Object.entries(objects).map(([binding, className]) => [
          binding,
          { className, useSQLite: true },
        ]),
      ),
      bindings: { ...bindings },
      resourcePersistencePath: storage,
      host: "127.0.0.1",
      port: 0,
      ...(isInspected ? { inspectorPort: 0 } : {}),
      telemetry: { enabled: false },
      // What the Worker logs is written as it would be, and read by nobody.
      handleStructuredLogs: () => undefined,
    }),
  );
  const client = new Client((await miniflare.ready).href);
  return {
    client,
    inspectorUrl: () => miniflare.getInspectorURL(),
    stop: async () => {
      client.close();
      await miniflare.dispose();
    },
  };
}
