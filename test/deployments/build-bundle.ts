// Builds a deployment as wrangler's bundler does, into a folder: the script that a server then runs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

export const ROOT = join(import.meta.dirname, "../..");

export interface BundleOptions {
  /** Of the source tree; this one by default. Packages are always those of this one. */
  readonly root?: string;
  /** Code of so many thread migrations, by leaving out the later ones. */
  readonly migrations?: number;
  /** Constants of the entry file. */
  readonly define?: Readonly<Record<string, string>>;
}

/** Writes `<name>.js` from `test/deployments/bundles/<entry>.ts`. Rejects with the bundler's own words. */
export async function buildBundle(
  entry: string,
  name: string,
  into: string,
  { root = ROOT, migrations, define = {} }: BundleOptions = {},
): Promise<void> {
  await build({
    entryPoints: [join(root, `test/deployments/bundles/${entry}.ts`)],
    outfile: join(into, `${name}.js`),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    nodePaths: [join(ROOT, "node_modules")],
    define: { ...define },
    logLevel: "silent",
    plugins: migrations === undefined ? [] : [cutMigrations(migrations)],
  });
}

/** The bundled list ends early, as it did before the later ones were written. */
function cutMigrations(count: number): Plugin {
  return {
    name: "cut-migrations",
    setup(bundler) {
      bundler.onLoad({ filter: /migrations\/thread\/bundle\.ts$/ }, ({ path }) => ({
        loader: "ts",
        contents: `${readFileSync(path, "utf8").replace("export const migrations", "const all")}
export const migrations = all.slice(0, ${count});`,
      }));
    },
  };
}
