#!/usr/bin/env node
// `npm run keys -- create` (`holdfast-keys create` of the package): mints an API key. The key is printed once and kept nowhere; what goes into the deployment is its SHA-256.
import { createHash, randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { z } from "zod";
import { PrincipalSchema } from "../shared/ids.ts";
import { PermissionSchema } from "../shared/wire/access.ts";

const USAGE = `Usage: npm run keys -- create [options]

  --tenant <name>        whose objects the key reaches   (default: default)
  --principal <name>     who acts with it                (default: the id)
  --permissions <list>   ${PermissionSchema.options.join(",")}
                         (default: threads:read,threads:write)
  --id <name>            the key's name in logs          (default: key-<random>)`;

const OptionsSchema = z.object({
  id: z.string().min(1).max(64),
  tenant: z.string().min(1).max(128),
  principal: PrincipalSchema,
  permissions: z.array(PermissionSchema).min(1),
});

function main(args: readonly string[]): number {
  const [command, ...rest] = args;
  if (command !== "create") {
    console.error(USAGE);
    return command === undefined || command === "--help" ? 0 : 1;
  }
  let entry: z.infer<typeof OptionsSchema>;
  try {
    entry = readOptions(rest);
  } catch (error) {
    console.error(`${error instanceof z.ZodError ? z.prettifyError(error) : String(error)}\n`);
    console.error(USAGE);
    return 1;
  }
  // 256 random bits: nothing about it can be guessed, so a fast digest is enough.
  const key = `hf_${randomBytes(32).toString("base64url")}`;
  const sha256 = createHash("sha256").update(key).digest("hex");
  const { id, tenant, principal, permissions } = entry;
  // It goes between single quotes below.
  const stored = JSON.stringify({ id, sha256, tenant, principal, permissions }).replaceAll(
    "'",
    "\\u0027",
  );
  console.log(`The key, shown this once:

  ${key}

Its entry, with the SHA-256 instead of the key:

  ${stored}

HOLDFAST_API_KEYS is one JSON array of such entries, and setting it replaces all of them: keep the entries that are to stay.

  locally   one line of .dev.vars, then start the server again:
            HOLDFAST_API_KEYS='[${stored}]'
  deployed  paste the array when this asks for it:
            npx wrangler secret put HOLDFAST_API_KEYS`);
  return 0;
}

function readOptions(args: string[]): z.infer<typeof OptionsSchema> {
  const { values } = parseArgs({
    args,
    options: {
      id: { type: "string" },
      tenant: { type: "string", default: "default" },
      principal: { type: "string" },
      permissions: { type: "string", default: "threads:read,threads:write" },
    },
  });
  const id = values.id ?? `key-${randomBytes(4).toString("hex")}`;
  return OptionsSchema.parse({
    id,
    tenant: values.tenant,
    principal: values.principal ?? id,
    permissions: values.permissions.split(","),
  });
}

process.exitCode = main(process.argv.slice(2));
