// Which provider a model is of. Pure.
import type { ModelIdentity } from "../../shared/wire/agent.ts";

/** Clients name themselves `provider.api`, as in `openai.responses`; ids name the provider alone. */
export function providerOf({ provider }: ModelIdentity): string {
  return provider.split(".")[0] ?? provider;
}
