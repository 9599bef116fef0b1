// The release; a test holds it against package.json.
export const VERSION = "0.1.0";
export const DESCRIPTION =
  "A durable agent runtime for Cloudflare: accepted work settles exactly once, and nothing that may have happened outside is silently repeated.";
