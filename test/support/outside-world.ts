// What the Worker under test finds when it calls out: an issuer of tokens, whose key set the tests put there, AI Gateway, which answers in the
// same way, an MCP server in a process of its own, and nothing else. Runs in Node.
import { Response, type Request } from "miniflare";
import { ISSUER_ORIGIN, MCP_ORIGIN } from "./issuer-origin.ts";
import { ServerProcess } from "./mcp-server-process.ts";

const ORIGINS = [ISSUER_ORIGIN, "https://gateway.ai.cloudflare.com"];

/** What each path answers, by the tests' own PUT; a path that nobody put is 404, one with an empty body fails with 500, and
 * one with an address sends there. */
const answers = new Map<string, string>();
/** How often each path was read. */
const reads = new Map<string, number>();

export async function answerOutside(request: Request): Promise<Response> {
  const { origin, pathname } = new URL(request.url);
  if (origin === MCP_ORIGIN) return answerMcp(request, pathname);
  if (!ORIGINS.includes(origin)) return new Response("blocked", { status: 599 });
  if (request.method === "PUT") {
    answers.set(pathname, await request.text());
    return new Response(null, { status: 204 });
  }
  if (request.method === "POST") return Response.json({ reads: reads.get(pathname) ?? 0 });
  reads.set(pathname, (reads.get(pathname) ?? 0) + 1);
  const answer = answers.get(pathname);
  if (answer === undefined) return new Response("not found", { status: 404 });
  if (answer === "") return new Response("down", { status: 500 });
  if (URL.canParse(answer))
    return new Response(null, { status: 302, headers: { location: answer } });
  return new Response(answer, { headers: { "content-type": "application/json" } });
}

const mcpServer = new ServerProcess();

/** PUT starts the server or kills it; all else goes to it, and is no answer while it is gone. */
async function answerMcp(request: Request, pathname: string): Promise<Response> {
  if (request.method === "PUT") {
    await (pathname === "/start" ? mcpServer.start() : mcpServer.kill());
    return new Response(null, { status: 204 });
  }
  const { method, headers } = request;
  const body = method === "POST" ? await request.text() : undefined;
  try {
    const answer = await fetch(mcpServer.url(pathname), {
      method,
      headers: [...headers],
      ...(body === undefined ? {} : { body }),
    });
    return new Response(await answer.arrayBuffer(), {
      status: answer.status,
      headers: [...answer.headers],
    });
  } catch {
    return new Response("down", { status: 502 });
  }
}
