// The source as the architecture tests see it: paths and texts, and the pure checks that they run over them.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export interface SourceFile {
  /** From the repository's root, with slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Violation {
  readonly path: string;
  readonly what: string;
}

/** Every TypeScript file of these folders. */
export function readSources(...folders: readonly string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => ({
        path: relative(ROOT, file).replaceAll("\\", "/"),
        text: readFileSync(file, "utf8"),
      })),
  );
}

export interface Import {
  readonly specifier: string;
  /** The file that a relative specifier names, from the root; null for a package. */
  readonly target: string | null;
  readonly isType: boolean;
}

/** The imports and re-exports of a file. An import whose names are all marked `type` counts as one of types. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const code = withoutComments(text);
  const statements = code.matchAll(
    /\b(?:import|export)\s+(type\s+)?(?:([^'";]*?)\s+from\s+)?["']([^"']+)["']/g,
  );
  const dynamic = code.matchAll(/\bimport\(\s*["']([^"']+)["']/g);
  const found: Import[] = [];
  for (const [, type, names, specifier = ""] of statements) {
    found.push(toImport(path, specifier, type !== undefined || areTypes(names)));
  }
  for (const [, specifier = ""] of dynamic) found.push(toImport(path, specifier, false));
  return found;
}

function areTypes(names: string | undefined): boolean {
  const listed = /^\{([^}]*)\}$/s.exec(names?.trim() ?? "")?.[1];
  if (listed === undefined) return false;
  const each = listed
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return each.length > 0 && each.every((name) => name.startsWith("type "));
}

function toImport(path: string, specifier: string, isType: boolean): Import {
  const target = specifier.startsWith(".")
    ? posix.normalize(posix.join(dirname(path).replaceAll("\\", "/"), specifier))
    : null;
  return { specifier, target, isType };
}

const FEATURES = ["scheduler", "context", "tools", "model", "platform", "agents"];

/** What the import rule of design/architecture.md forbids in these files. */
export function findBadImports(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap((each) => {
      const what = badImport(file.path, each);
      return what === null ? [] : [{ path: file.path, what }];
    }),
  );
}

const SHARED_PACKAGES = ["zod", "@ai-sdk/provider"];

function badImport(path: string, { specifier, target, isType }: Import): string | null {
  const [layer = "", folder = ""] = path.split("/");
  if (target === null) {
    if (layer !== "shared") return null;
    // A deployment's own choice, and an entry of its own.
    if (folder === "mcp" && specifier === "@ai-sdk/mcp") return null;
    if (!SHARED_PACKAGES.includes(specifier)) return `shared imports ${specifier}`;
    // What tests alone load may throw a provider's own errors.
    const isTesting = folder === "testing";
    return specifier === "zod" || isType || isTesting
      ? null
      : `shared imports values of ${specifier}`;
  }
  const [targetLayer = "", targetFolder = ""] = target.split("/");
  if (target.startsWith("shared/mcp/") && !path.startsWith("shared/mcp/")) {
    return `${path} makes every bundle carry ${target}`;
  }
  if (layer === "shared" && targetLayer !== "shared") return `shared imports ${target}`;
  if (layer === "durable-objects" && targetLayer === "worker") {
    return `durable-objects imports ${target}`;
  }
  if (layer !== "durable-objects" || targetLayer !== "durable-objects") return null;
  if (targetFolder !== "thread") return null;
  if (FEATURES.includes(folder)) return `the feature ${folder} imports ${target}`;
  return folder === "clients" && !isType ? `a client imports values of ${target}` : null;
}

/** The text with comments blanked out, line by line, so that words in them are not taken for code. */
export function withoutComments(text: string): string {
  // Strings are matched first, so that a // inside one is no comment.
  return text.replace(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (match, literal: string | undefined) => literal ?? match.replace(/[^\n]/g, " "),
  );
}

/** Files that hold `pattern` outside comments, but for those that `mayHold` it. */
export function findText(
  files: readonly SourceFile[],
  pattern: RegExp,
  mayHold: (path: string) => boolean,
): Violation[] {
  return files.flatMap(({ path, text }) => {
    const match = mayHold(path) ? null : pattern.exec(withoutComments(text));
    return match === null ? [] : [{ path, what: match[0] }];
  });
}
