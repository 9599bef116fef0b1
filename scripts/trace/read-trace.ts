// The spans of a thread's runs, from the trace store of a local server.
import { z } from "zod";

export interface Span {
  readonly id: string;
  readonly parentId: string | null;
  readonly name: string;
  readonly startMillis: number;
  /** Null for a span that never ended: its attempt was lost. */
  readonly durationMillis: number | null;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

const RowSchema = z.tuple([
  z.string(),
  z.string().nullable(),
  z.string(),
  z.number(),
  z.number().nullable(),
  z.string().nullable(),
]);
const AnswerSchema = z.object({ result: z.object({ rows: z.array(RowSchema) }) });
const AttributesSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** An attempt that was lost never told its attributes; the calls that ended inside it name it. */
function queryOf(threadId: string): string {
  const thread = threadId.replaceAll("'", "''");
  return `WITH told AS (SELECT * FROM spans WHERE attributes->>'gen_ai.conversation.id' = '${thread}')
    SELECT span_id, parent_id, name, start_ms, duration_ms, json(attributes) FROM spans
    WHERE span_id IN (SELECT span_id FROM told)
       OR (name LIKE 'invoke_agent%' AND span_id IN (SELECT parent_id FROM told))
    ORDER BY start_ms, rowid`;
}

/** @param baseUrl of a server that `npm start` or `wrangler dev` runs */
export async function readTrace(baseUrl: string, threadId: string): Promise<Span[]> {
  const url = new URL("/cdn-cgi/local/explorer/api/local/observability/query", baseUrl);
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql: queryOf(threadId) }),
  });
  if (!answer.ok) throw new Error(`the trace store answered ${answer.status}`);
  const { rows } = AnswerSchema.parse(await answer.json()).result;
  return rows.map(([id, parentId, name, startMillis, durationMillis, attributes]) => ({
    id,
    parentId,
    name,
    startMillis,
    durationMillis,
    attributes: attributes === null ? {} : AttributesSchema.parse(JSON.parse(attributes)),
  }));
}
