// Spans as a tree, one line each. Pure.
import type { Span } from "./read-trace.ts";

/** What is worth a word, in this order. */
const SHOWN: readonly (readonly [attribute: string, label: string])[] = [
  ["holdfast.attempt", "attempt"],
  ["holdfast.attempt.superseded", "after the loss of"],
  ["holdfast.turn", "turn"],
  ["gen_ai.usage.input_tokens", "in"],
  ["gen_ai.usage.output_tokens", "out"],
  ["holdfast.cost_microusd", "µ$"],
  ["gen_ai.response.finish_reasons", ""],
  ["holdfast.attempt.end", ""],
  ["holdfast.wait.reason", "for"],
  ["holdfast.outcome", ""],
  ["holdfast.limit", "limit"],
  ["error.type", "error"],
];

export function renderTrace(spans: readonly Span[]): string[] {
  const ids = new Set(spans.map(({ id }) => id));
  const roots = spans.filter(({ parentId }) => parentId === null || !ids.has(parentId));
  const begin = spans[0]?.startMillis ?? 0;
  const children = Map.groupBy(spans, ({ parentId }) => parentId);
  const lines = (span: Span, depth: number): string[] => [
    renderSpan(span, depth, begin),
    ...(children.get(span.id) ?? []).flatMap((child) => lines(child, depth + 1)),
  ];
  return roots.flatMap((root) => lines(root, 0));
}

function renderSpan(
  { name, startMillis, durationMillis, attributes }: Span,
  depth: number,
  begin: number,
): string {
  const time = `+${startMillis - begin} ms`.padStart(10);
  const took = (durationMillis === null ? "lost" : `${durationMillis} ms`).padStart(9);
  const says = SHOWN.flatMap(([attribute, label]) => {
    const value = attributes[attribute];
    return value === undefined ? [] : [`${label} ${String(value)}`.trim()];
  });
  return `${time} ${took}  ${`${"  ".repeat(depth)}${name}`.padEnd(30)}  ${says.join(", ")}`.trimEnd();
}
