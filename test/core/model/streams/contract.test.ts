// The reduction of model streams, held against the AI SDK's own reading of the same bytes, for every provider and every kind of stream;
// and what goes back with the next request, held against what the AI SDK sends and against what the real API refuses.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { must } from "../../../../shared/assert.ts";
import { nameRequest, shapeOfOurs, shapeOfSdk, withoutInputs } from "./compare.ts";
import {
  askOurs,
  askSdk,
  firstMessages,
  firstPrompt,
  isRetryable,
  secondMessages,
  secondPrompt,
} from "./conversation.ts";
import type { SentRequest } from "./fake-server.ts";
import { serveStreams } from "./serve-streams.ts";
import { PROVIDERS } from "./providers.ts";
import { findGaps, renderTable, type Results } from "./table.ts";
import type { Provider, RecordedStream } from "./wire.ts";

const server = await serveStreams();
const results: Results = new Map();

beforeEach(() => {
  vi.stubGlobal("AI_SDK_LOG_WARNINGS", false);
});

describe.each(PROVIDERS)("$name", (provider) => {
  it.each(provider.streams)(
    "[RUN-04, RUN-15, GW-04, TOOL-07] reads as the AI SDK reads: $name",
    async (stream) => {
      if (stream.fault === undefined) await readsAlike(provider, stream);
      else await failsAlike(provider, stream);
      results.set(
        `${provider.name}/${stream.name}`,
        stream.fault === undefined ? "equal" : "alike",
      );
    },
  );

  it.each(provider.streams.filter(({ fault }) => fault === undefined))(
    "[RUN-04, TOOL-07, CTX-28] gives back what the provider has to have: $name",
    async (stream) => {
      const [ours, sdk] = await giveBackBoth(provider, stream);
      expect(ours.first.body).toEqual(sdk.first.body);
      if (stream.differs?.request === undefined) expect(ours.second).toEqual(sdk.second);
      else expect(ours.second).not.toEqual(sdk.second);
      expect(ours.refusal).toBeNull();
    },
  );
});

describe("the table", () => {
  it("[RUN-04] has every provider in every case, or says why it cannot have it", () => {
    console.info(renderTable(PROVIDERS, results));
    expect(findGaps(PROVIDERS)).toEqual([]);
  });
});

async function readsAlike(provider: Provider, stream: RecordedStream): Promise<void> {
  const { frames, differs } = stream;
  const response = await respond(provider, stream);
  const ours = shapeOfOurs(response, frames);
  server.play(provider.dialect, stream);
  const { reading, errors } = await askSdk(provider, stream, firstMessages());
  const sdk = shapeOfSdk(must(reading, `a reading: ${String(errors[0])}`), frames);
  expect(errors).toEqual([]);
  if (differs?.inputs === undefined) return expect(ours).toEqual(sdk);
  expect(withoutInputs(ours)).toEqual(withoutInputs(sdk));
  expect(response.callFaults).toMatchObject([{ fault: "malformed-arguments" }]);
}

async function failsAlike(provider: Provider, stream: RecordedStream): Promise<void> {
  server.play(provider.dialect, stream);
  const outcome = await askOurs(provider, stream, firstPrompt());
  server.play(provider.dialect, stream);
  const { reading, errors } = await askSdk(provider, stream, firstMessages());
  const hasFailed =
    errors.length > 0 ||
    ["error", "other", "interrupted", "content-filter"].includes(reading?.finishReason ?? "error");
  expect(hasFailed).toBe(true);
  const retryable = isRetryable(errors);
  const fault = must(stream.fault, "a fault");
  const isRetriedByBoth = stream.differs?.retry === undefined;
  if (retryable !== null) expect(retryable === fault.isTransient).toBe(isRetriedByBoth);
  expect(outcome.kind).toBe("failed");
  expect(outcome).toMatchObject({ fault });
  // An answer that was filtered was paid for.
  if (fault.reason === "content-filter" && outcome.kind === "failed") {
    const { usage } = shapeOfSdk(must(reading, "a reading"), stream.frames);
    expect(outcome.usage).toEqual(usage);
  }
}

interface GivenBack {
  readonly first: SentRequest;
  readonly second: unknown;
  readonly refusal: string | null;
}

async function giveBackBoth(
  provider: Provider,
  stream: RecordedStream,
): Promise<[GivenBack, GivenBack]> {
  const response = await respond(provider, stream);
  await askOurs(provider, stream, secondPrompt(response));
  const ours = takeRequests(stream, response.content);
  server.play(provider.dialect, stream);
  const { reading } = await askSdk(provider, stream, firstMessages());
  const read = must(reading, "a reading");
  await askSdk(provider, stream, secondMessages(read));
  return [ours, takeRequests(stream, read.content)];
}

function takeRequests(
  { frames }: RecordedStream,
  content: Parameters<typeof nameRequest>[1],
): GivenBack {
  expect(server.requests).toHaveLength(2);
  const [first, second] = server.requests;
  const { body, refusal } = must(second, "a second request");
  return {
    first: must(first, "a first request"),
    second: nameRequest(body, content, frames),
    refusal,
  };
}

async function respond(provider: Provider, stream: RecordedStream) {
  server.play(provider.dialect, stream);
  const outcome = await askOurs(provider, stream, firstPrompt());
  if (outcome.kind !== "responded") throw new Error(JSON.stringify(outcome));
  return outcome.response;
}
