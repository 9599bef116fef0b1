// What a migration is, and which stored histories this code refuses. Pure.

export interface Migration {
  readonly tag: string;
  /** SHA-256 of the file's statements; a stored digest that differs means that an applied file was edited. */
  readonly digest: string;
  readonly statements: readonly string[];
}

export interface AppliedMigration {
  readonly tag: string;
  readonly digest: string;
}

/** Why these tables must not be touched by this code, or null when they may. Applied migrations must be a prefix of the bundled ones. */
export function findRefusal(
  applied: readonly AppliedMigration[],
  bundled: readonly Migration[],
): string | null {
  for (const [index, stored] of applied.entries()) {
    const known = bundled[index];
    if (known === undefined) return `storage is newer than this code: it has ${stored.tag}`;
    if (known.tag !== stored.tag)
      return `storage has ${stored.tag} where this code has ${known.tag}`;
    if (known.digest !== stored.digest)
      return `migration ${stored.tag} was edited after it was applied`;
  }
  return null;
}
