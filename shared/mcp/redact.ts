// Takes the credentials of a server out of what it answers: one that repeats what it was sent must not put them into a log. Pure.

export interface Redaction {
  text(text: string): string;
  value(value: unknown): unknown;
}

const CREDENTIAL_NAME = /auth|cookie|key|secret|token/i;

/** Shorter ones are found in every text. */
const MIN_CREDENTIAL_LENGTH = 8;

export function makeRedaction(headers: Headers): Redaction {
  const secrets = [...headers].flatMap(([name, value]) =>
    CREDENTIAL_NAME.test(name) ? [value, ...value.split(/[\s;,=]+/)] : [],
  );
  // The whole value before its parts.
  const hidden = [...new Set(secrets.flatMap((secret) => [secret, escaped(secret)]))]
    .filter((secret) => secret.length >= MIN_CREDENTIAL_LENGTH)
    .toSorted((left, right) => right.length - left.length);
  const text = (said: string): string =>
    hidden.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), said);
  return {
    text,
    value(value) {
      if (typeof value === "string") return text(value);
      const json = JSON.stringify(value);
      const clean = text(json);
      return clean === json ? value : parseOrKeep(clean);
    },
  };
}

/** As it stands inside JSON. */
function escaped(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}

/** A number that was a secret leaves no JSON behind. */
function parseOrKeep(clean: string): unknown {
  try {
    return JSON.parse(clean);
  } catch {
    return clean;
  }
}
