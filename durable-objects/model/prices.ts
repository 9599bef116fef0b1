// What a model call costs: known list prices, what a deployment says instead, and the sum. Pure.
import type { ModelPrice, PriceTable } from "../../shared/define/prices.ts";
import type { ModelIdentity } from "../../shared/wire/agent.ts";
import { providerOf } from "./provider-of.ts";
import type { TokenUsage } from "../../shared/wire/usage.ts";

function price(input: number, output: number, cacheRead: number, cacheWrite = input): ModelPrice {
  return {
    inputUsdPerMillion: input,
    outputUsdPerMillion: output,
    cacheReadUsdPerMillion: cacheRead,
    cacheWriteUsdPerMillion: cacheWrite,
  };
}

/**
 * List prices of the providers' own pages in US dollars per million tokens, for models whose price does not depend on the length of the
 * prompt. Prices change, and contracts differ: `holdfast({ prices })` overrides any of them. Anthropic's cache writes are those of the
 * five-minute cache.
 */
const LIST_PRICES: PriceTable = {
  "openai/gpt-5": price(1.25, 10, 0.125),
  "openai/gpt-5-mini": price(0.25, 2, 0.025),
  "openai/gpt-5-nano": price(0.05, 0.4, 0.005),
  "openai/gpt-4.1": price(2, 8, 0.5),
  "openai/gpt-4.1-mini": price(0.4, 1.6, 0.1),
  "openai/gpt-4.1-nano": price(0.1, 0.4, 0.025),
  "openai/gpt-4o": price(2.5, 10, 1.25),
  "openai/gpt-4o-mini": price(0.15, 0.6, 0.075),
  "anthropic/claude-opus-4-5": price(5, 25, 0.5, 6.25),
  "anthropic/claude-sonnet-4-5": price(3, 15, 0.3, 3.75),
  "anthropic/claude-haiku-4-5": price(1, 5, 0.1, 1.25),
  "google/gemini-2.5-flash": price(0.3, 2.5, 0.03),
  "google/gemini-2.5-flash-lite": price(0.1, 0.4, 0.01),
};

const FREE = price(0, 0, 0);

/** The id under which a model's price stands: that of its provider, also for a client that names itself `openai.responses`. */
export function priceIdOf(model: ModelIdentity): string {
  return `${providerOf(model)}/${model.name}`;
}

/** The embedded models cost nothing; null for a model without a price. */
export function findPrice(model: ModelIdentity, prices: PriceTable): ModelPrice | null {
  const id = priceIdOf(model);
  if (Object.hasOwn(prices, id)) return prices[id] ?? null;
  if (model.provider === "local") return FREE;
  return Object.hasOwn(LIST_PRICES, id) ? (LIST_PRICES[id] ?? null) : null;
}

/** Millionths of a US dollar, which is what a token costs at a dollar per million; a broken one counts whole, so that a sum never falls short. */
export function costMicrousd(usage: TokenUsage, price: ModelPrice | null): number | null {
  if (price === null) return null;
  const { inputUsdPerMillion: input, outputUsdPerMillion: output } = price;
  const { cacheReadUsdPerMillion = input, cacheWriteUsdPerMillion = input } = price;
  const { cacheReadInputTokens: read, cacheWriteInputTokens: write } = usage;
  const plain = Math.max(0, usage.inputTokens - read - write);
  const cost =
    plain * input +
    read * cacheReadUsdPerMillion +
    write * cacheWriteUsdPerMillion +
    usage.outputTokens * output;
  // Products of decimal prices are off by less than this; a whole sum stays whole.
  return Math.min(Math.max(0, Math.ceil(cost - 1e-6)), Number.MAX_SAFE_INTEGER);
}
