// AI Gateway's fetch in the Workers runtime, over its own global fetch: the world outside answers.
import { describe, expect, it } from "vitest";
import { gatewayProvider } from "../../shared/gateway/index.ts";
import { TokenIssuer } from "../support/token-issuer.ts";

describe("[GW-02] the gateway's fetch in a Worker", () => {
  it("asks the endpoint, and hands its answer over", async () => {
    const endpoint = gatewayProvider({ accountId: "a", gatewayId: "g", provider: "groq" });
    const url = `${endpoint.baseURL}/models`;
    await endpoint.fetch(url, { method: "PUT", body: '{"data":[]}' });
    const answer = await endpoint.fetch(url);
    expect(await answer.json()).toEqual({ data: [] });
  });

  it("follows no redirect", async () => {
    const thief = new TokenIssuer();
    await thief.answer("{}");
    const endpoint = gatewayProvider({
      accountId: "a",
      gatewayId: "g",
      provider: "openai",
      apiToken: "secret",
    });
    const url = `${endpoint.baseURL}/models`;
    await endpoint.fetch(url, { method: "PUT", body: thief.jwksUrl });
    await expect(endpoint.fetch(url)).rejects.toMatchObject({
      name: "GatewayRefusal",
      message: "The gateway answered with a redirect; none is followed.",
    });
    expect(await thief.reads()).toBe(0);
  });
});
