// Writes migrations/<database>/bundle.ts from drizzle-kit's SQL files, so that a consumer needs no text rule for .sql in its config.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function renderBundle(folder) {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
  const migrations = files.map((name) => {
    const text = readFileSync(join(folder, name), "utf8");
    const statements = text
      .split("--> statement-breakpoint")
      .map((statement) => statement.trim())
      .filter((statement) => statement !== "");
    const digest = createHash("sha256").update(statements.join("\n")).digest("hex");
    return { tag: name.replace(/\.sql$/, ""), digest, statements };
  });
  return [
    "// Generated from the .sql files beside it by `npm run migrations`. Applied files are never edited.",
    'import type { Migration } from "../../durable-objects/platform/migration-plan.ts";',
    "",
    `export const migrations: readonly Migration[] = ${JSON.stringify(migrations, null, 2)};`,
    "",
  ].join("\n");
}

if (import.meta.filename === process.argv[1]) {
  for (const database of ["thread"]) {
    const folder = join("migrations", database);
    writeFileSync(join(folder, "bundle.ts"), renderBundle(folder));
    console.log(`wrote ${join(folder, "bundle.ts")}`);
  }
}
