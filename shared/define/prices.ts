// What models cost, by their ids, as a deployment declares it.
import { z } from "zod";

const UsdPerMillionSchema = z.number().min(0).max(1_000_000);

export const ModelPriceSchema = z.strictObject({
  inputUsdPerMillion: UsdPerMillionSchema,
  outputUsdPerMillion: UsdPerMillionSchema,
  /** Of input that the provider read from its cache, and wrote to it; without them, the price of other input. */
  cacheReadUsdPerMillion: UsdPerMillionSchema.optional(),
  cacheWriteUsdPerMillion: UsdPerMillionSchema.optional(),
});
export type ModelPrice = z.infer<typeof ModelPriceSchema>;

/** By model id, such as `openai/gpt-5-mini`. */
export const PriceTableSchema = z.record(z.string().min(1), ModelPriceSchema);
export type PriceTable = Readonly<Record<string, ModelPrice>>;
