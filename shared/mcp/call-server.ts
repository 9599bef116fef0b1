// One call of one tool of an MCP server, in a session of its own that ends with it: nothing of a server is kept between two calls, so that a
// wake, another attempt and a server that went away and came back are all the same.
import { createMCPClient, MCPClientError, type MCPClient } from "@ai-sdk/mcp";
import type { Environment } from "../define/environment.ts";
import type { ToolContext } from "../define/tool.ts";
import { OutcomeUnknown, ToolUnavailable } from "../define/tool-outcome.ts";
import { MAX_MCP_LIST_PAGES, MCP_LIST_DEADLINE_MILLIS } from "../limits.ts";
import { VERSION } from "../version.ts";
import { ANSWER_LOST_CODE, callRequests } from "./call-requests.ts";
import { readResult, type McpAnswer } from "./read-result.ts";
import { makeRedaction, type Redaction } from "./redact.ts";
import { within } from "./within.ts";

export interface McpServer {
  /** Of its streamable HTTP endpoint. */
  readonly url: string | ((env: Environment) => string);
  /** Credentials mostly; made anew for every call. What has `auth`, `cookie`, `key`, `secret` or `token` in its name is taken out of all that
   * the server answers. */
  readonly headers?: (env: Environment) => Readonly<Record<string, string>>;
  /** Sends a request in place of the global fetch, such as through a service binding. Contract: follows no redirect by itself. */
  readonly fetch?: (request: Request, env: Environment) => Promise<Response>;
}

export interface ServerCall {
  readonly server: McpServer;
  /** As the server knows it. */
  readonly toolName: string;
  readonly args: Record<string, unknown>;
  readonly connectMillis: number;
}

/** Contract of a handler: throws `ToolUnavailable` for a tool that is gone, `OutcomeUnknown` where the answer was lost, else an error for the model. */
export async function callServer(call: ServerCall, context: ToolContext): Promise<unknown> {
  const { server, toolName, args } = call;
  const { env, idempotencyKey, signal } = context;
  const url = addressOf(server, env);
  const headers = headersOf(server, env);
  const redaction = makeRedaction(headers);
  const send = (request: Request) =>
    server.fetch === undefined ? fetch(request) : server.fetch(request, env);
  const requests = callRequests({ headers, idempotencyKey, send });
  const client = await connect(url, requests.fetch, call, signal, redaction);
  try {
    const answer = await client
      .callTool({ name: toolName, arguments: args, options: { signal } })
      .then(readResult, (error: unknown): McpAnswer => {
        const why = refusalOf(error);
        if (why !== null) return { isError: true, message: why };
        if (!requests.wasDispatched()) throw unsent(url, error, redaction);
        const reason = reasonOf(error);
        context.log.warn("the answer of an MCP server was lost", { server: url.host, reason });
        throw new OutcomeUnknown(
          `The call was sent to the MCP server ${url.host} and its answer was lost (${reason}): it may have happened.`,
        );
      });
    if (!answer.isError) return redaction.value(answer.value);
    if (await isGone(client, toolName, signal)) {
      throw new ToolUnavailable(
        `The MCP server ${url.host} does not have the tool ${toolName} any more.`,
      );
    }
    throw new Error(redaction.text(answer.message));
  } finally {
    // Nobody waits for it: what is known already is recorded first. Its requests have a deadline, and it rejects for nobody.
    void client.close().catch(() => undefined);
  }
}

async function connect(
  url: URL,
  send: typeof fetch,
  { connectMillis }: ServerCall,
  signal: AbortSignal,
  redaction: Redaction,
): Promise<MCPClient> {
  try {
    return await createMCPClient({
      transport: { type: "http", url: url.href, fetch: send },
      clientName: "holdfast",
      version: VERSION,
      initializationOptions: { signal, timeout: connectMillis },
    });
  } catch (error) {
    throw unsent(url, error, redaction);
  }
}

function unsent(url: URL, error: unknown, redaction: Redaction): Error {
  const why = redaction.text(refusalOf(error) ?? reasonOf(error));
  return new Error(
    `The MCP server ${url.host} cannot be reached (${why}). Nothing was sent to the tool.`,
  );
}

/** What the server said where it answered and did not run the tool, or the tool failed; null where it is not known. */
function refusalOf(error: unknown): string | null {
  if (!MCPClientError.isInstance(error)) return null;
  const { code, statusCode, message } = error;
  if (code !== undefined) return code === ANSWER_LOST_CODE ? null : message;
  // What stands between may answer with a server error, or a timeout, for a request that it passed on. Its text may hold anything.
  const isRefused = statusCode !== undefined && statusCode >= 400 && statusCode < 500;
  return isRefused && statusCode !== 408 ? `HTTP ${statusCode}` : null;
}

/** Without the message: it may hold what was sent, or a page of whatever stands between. */
function reasonOf(error: unknown): string {
  if (!MCPClientError.isInstance(error)) return "connection failed";
  return error.statusCode === undefined ? "no valid answer" : `HTTP ${error.statusCode}`;
}

/** Asked after a failure alone, so that a call that works costs no listing. False where it cannot be found out. */
async function isGone(client: MCPClient, toolName: string, outer: AbortSignal): Promise<boolean> {
  const list = (signal: AbortSignal) => isUnlisted(client, toolName, signal);
  try {
    return await within(MCP_LIST_DEADLINE_MILLIS, outer, list);
  } catch {
    return false;
  }
}

async function isUnlisted(
  client: MCPClient,
  toolName: string,
  signal: AbortSignal,
): Promise<boolean> {
  let cursor: string | undefined;
  for (let page = 0; page < MAX_MCP_LIST_PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.listTools({ params, options: { signal } });
    if (tools.some(({ name }) => name === toolName)) return false;
    if (nextCursor === undefined) return true;
    cursor = nextCursor;
  }
  return false;
}

function addressOf({ url }: McpServer, env: Environment): URL {
  const parsed = URL.parse(typeof url === "function" ? url(env) : url);
  if (parsed === null) throw new Error("The URL of the MCP server is not one.");
  return parsed;
}

/** What is wrong with a header is said without it. */
function headersOf({ headers }: McpServer, env: Environment): Headers {
  const made = new Headers();
  for (const [name, value] of Object.entries(headers?.(env) ?? {})) {
    try {
      made.set(name, value);
    } catch {
      throw new Error(`The header ${name} for the MCP server is not valid. Nothing was sent.`);
    }
  }
  return made;
}
