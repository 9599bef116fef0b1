// What the Worker under test finds when it calls out: an issuer of tokens, whose key set the tests put there, AI Gateway, which answers in the
// same way, and nothing else. Runs in Node.
import { Response, type Request } from "miniflare";
import { ISSUER_ORIGIN } from "./issuer-origin.ts";

const ORIGINS = [ISSUER_ORIGIN, "https://gateway.ai.cloudflare.com"];

/** What each path answers, by the tests' own PUT; a path that nobody put is 404, one with an empty body fails with 500, and
 * one with an address sends there. */
const answers = new Map<string, string>();
/** How often each path was read. */
const reads = new Map<string, number>();

export async function answerOutside(request: Request): Promise<Response> {
  const { origin, pathname } = new URL(request.url);
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
