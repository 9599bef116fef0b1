// What identifies the definition that ran: three digests and what goes into them (THR-10).
import { z } from "zod";

const Sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, { message: "a SHA-256 in lower-case hex" });

/** SHA-256 of canonical JSON: agent `{ id, revision, instructions, input, output, policy }`, model `{ provider, name }`, tools
 * `[{ name, revision, schema, effect }]`. */
export const DefinitionDigestsSchema = z.object({
  agent: Sha256Schema,
  model: Sha256Schema,
  tools: Sha256Schema,
});
export type DefinitionDigests = z.infer<typeof DefinitionDigestsSchema>;

/** The digests that a submitter expects; those it leaves out are not compared. */
export const ExpectedDefinitionsSchema = z.strictObject(DefinitionDigestsSchema.partial().shape);
export type ExpectedDefinitions = z.infer<typeof ExpectedDefinitionsSchema>;

export const ModelIdentitySchema = z.object({ provider: z.string(), name: z.string() });
export type ModelIdentity = z.infer<typeof ModelIdentitySchema>;
