// Calls over HTTP. A problem document becomes the error that it describes; anything else that is no answer is `Unavailable`.
import { z } from "zod";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { AgentList } from "../wire/agent-view.ts";
import type { AnswerOf } from "../wire/answers.ts";
import { ProblemSchema } from "../wire/problem.ts";
import { abandonable } from "./abandonable.ts";
import { planRequest, type HttpRequest } from "./http-request.ts";
import type { Transport } from "./transport.ts";

export interface HttpOptions {
  /** Of the deployment, such as `https://agents.example.com`. */
  readonly baseUrl: string;
  /** An API key or a token, or what fetches one for each request. */
  readonly token: string | (() => string | Promise<string>);
  /** By default the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** Throws `InvalidDefinition` where `baseUrl` is no URL. */
export function httpTransport(options: HttpOptions): Transport {
  const base = baseOf(options.baseUrl);
  const send = async (request: HttpRequest, signal: AbortSignal): Promise<Response> => {
    const token = typeof options.token === "function" ? await options.token() : options.token;
    const { method, path, headers, body } = request;
    const sent = new Request(base + path, {
      method,
      headers: {
        ...headers,
        authorization: authorizationOf(token),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    });
    const response = await reach(() => (options.fetch ?? fetch)(sent));
    if (response.ok) return response;
    throw await readProblem(response);
  };
  return {
    call(operation, request, signal) {
      return abandonable(signal, async () => {
        const response = await send(planRequest(operation, request), signal);
        // The server is trusted to answer what it documents; a client is no place to find out otherwise.
        const answer = z.custom<AnswerOf<typeof operation>>();
        if (operation === "events") return answer.parse(response.body);
        const isOwed = operation === "awaitSettlementRecord" && response.status === 202;
        const body: unknown = await reach(() => response.json());
        return answer.parse(isOwed ? null : body);
      });
    },
    agents(signal) {
      return abandonable(signal, async () => {
        const response = await send({ method: "GET", path: "/v1/agents" }, signal);
        return z.custom<AgentList>().parse(await reach(() => response.json()));
      });
    },
  };
}

/** A network that fails says nothing of what became of the request. */
async function reach<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    throw new HoldfastError("Unavailable", "The server could not be reached.", {
      cause,
      fields: { outcome: "unknown" },
    });
  }
}

async function readProblem(response: Response): Promise<HoldfastError> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => null);
  const parsed = ProblemSchema.safeParse(body);
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retry = Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {};
  if (!parsed.success) {
    return new HoldfastError(
      "Unavailable",
      `The server answered ${status} without a problem document.`,
      { fields: { status, outcome: "unknown", retryable: mayPass(status), ...retry } },
    );
  }
  const { code, detail, errors, type: _type, title: _title, ...fields } = parsed.data;
  return HoldfastError.fromWire({
    code,
    detail,
    fields: z.record(z.string(), z.json()).parse({ ...fields, ...retry }),
    ...(errors === undefined ? {} : { errors }),
  });
}

/** What no deployment of ours answered: a proxy's trouble may pass, a wrong address does not. */
function mayPass(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/** Without the slash at its end: a path in it stays. */
function baseOf(baseUrl: string): string {
  if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) {
    return baseUrl.replace(/\/+$/, "");
  }
  throw new HoldfastError(
    "InvalidDefinition",
    "holdfastClient: baseUrl: a URL such as https://agents.example.com",
  );
}

/** The platform's own error would repeat the token. */
function authorizationOf(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  throw new HoldfastError(
    "Unauthenticated",
    "The token is empty or has characters that no header can hold.",
  );
}
