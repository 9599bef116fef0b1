// Two projects: pure code in Node, objects in the real runtime. Objects share one isolate with their tests, so that a test holds the
// clock, the model and the crash points of the objects it drives.
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { answerOutside } from "./test/support/outside-world.ts";
import { SECRET_OR_CONTENT_PATTERN } from "./test/support/secrets.ts";

const DEV_KEY_SHA256 = "efa09fd8a1c9d99607ea6934a09fd2bc964648a53f0fc3909d95d353830f5ee5";

export default defineConfig({
  test: {
    // Random requests of test/http/fuzz: how many, and from which seed.
    provide: {
      fuzz: {
        requests: Number(process.env["FUZZ_REQUESTS"] ?? 800),
        seed: Number(process.env["SEED"] ?? Date.now() % 2 ** 31),
      },
      // Seeds of test/simulation: from which on, and how many.
      simulation: {
        first: Number(process.env["SIMULATION_FIRST"] ?? 1),
        seeds: Number(process.env["SIMULATION_SEEDS"] ?? 300),
      },
    },
    projects: [
      {
        test: {
          name: "core",
          include: ["test/core/**/*.test.ts", "test/architecture/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "package",
          include: ["test/package/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        plugins: [
          cloudflareTest({
            main: "./test/support/test-worker.ts",
            remoteBindings: false,
            miniflare: {
              compatibilityDate: "2026-11-01",
              durableObjects: {
                THREADS: { className: "ThreadObject", useSQLite: true },
                OUTSIDE: { className: "OutsideObject", useSQLite: true },
              },
              outboundService: answerOutside,
              streamingTails: ["tail"],
              serviceBindings: { TRACES: { name: "tail", entrypoint: "Inspect" } },
              workers: [
                {
                  name: "tail",
                  modules: true,
                  scriptPath: "./test/support/tail-worker.mjs",
                  compatibilityDate: "2026-11-01",
                  bindings: { SECRET_PATTERN: SECRET_OR_CONTENT_PATTERN },
                },
              ],
              // A limiter under another name: tests that want one hand it to the app as its own.
              ratelimits: { TEST_LIMITER: { namespace_id: "1", simple: { limit: 3, period: 60 } } },
              bindings: {
                HOLDFAST_API_KEYS: JSON.stringify([
                  {
                    id: "test",
                    sha256: DEV_KEY_SHA256,
                    tenant: "dev",
                    principal: "tester",
                    permissions: ["admin"],
                  },
                ]),
              },
            },
          }),
        ],
        test: {
          name: "objects",
          include: ["test/{objects,crash,http,simulation}/**/*.test.ts"],
          setupFiles: ["./test/support/grep-for-secrets.ts"],
          testTimeout: 60_000,
          isolate: false,
          maxWorkers: 1,
          fileParallelism: false,
          deps: {
            optimizer: { ssr: { enabled: true, include: ["zod", "hono", "@ai-sdk/provider"] } },
          },
        },
      },
    ],
  },
});
