// The table of providers and cases: what was shown of each, what cannot be, and which faults are known. For readers of the test's output.
import { CASES, type Case, type Provider, type RecordedStream } from "./wire.ts";

/** By `provider/stream`: whether both read the same answer, or both failed alike. */
export type Results = Map<string, "equal" | "alike">;

/** Cells with neither a stream nor a reason. */
export function findGaps(providers: readonly Provider[]): string[] {
  return providers.flatMap((provider) =>
    CASES.filter(
      (column) =>
        streamsOf(provider, column).length === 0 && provider.notApplicable[column] === undefined,
    ).map((column) => `${provider.name}: ${column}`),
  );
}

export function renderTable(providers: readonly Provider[], results: Results): string {
  const notes: string[] = [];
  const note = (text: string): string => {
    if (!notes.includes(text)) notes.push(text);
    return `[${notes.indexOf(text) + 1}]`;
  };
  const rows = CASES.map((column) => [
    column,
    ...providers.map((provider) => renderCell(provider, column, results, note)),
  ]);
  const table = [["", ...providers.map(({ name }) => name)], ...rows];
  const widths = table[0]?.map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths?.[at] ?? 0))
      .join(" | ")
      .trimEnd(),
  );
  return [...lines, "", ...notes.map((text, at) => `[${at + 1}] ${text}`)].join("\n");
}

function renderCell(
  provider: Provider,
  column: Case,
  results: Results,
  note: (text: string) => string,
): string {
  const streams = streamsOf(provider, column);
  if (streams.length === 0) {
    return `n/a ${note(`n/a: ${provider.notApplicable[column] ?? "not covered"}`)}`;
  }
  const answers = streams.filter(({ fault }) => fault === undefined);
  const failures = streams.filter(({ fault }) => fault !== undefined);
  const shown = [
    ...(answers.length === 0 ? [] : [`${count(provider, answers, results)} equal`]),
    ...(failures.length === 0 ? [] : [`${count(provider, failures, results)} failed alike`]),
  ];
  const notes = streams.flatMap(({ differs }) => [
    ...(differs?.inputs === undefined ? [] : [note(`differs in what is kept: ${differs.inputs}`)]),
    ...(differs?.retry === undefined ? [] : [note(`called again: ${differs.retry}`)]),
    ...(differs?.request === undefined ? [] : [note(`differs in the request: ${differs.request}`)]),
  ]);
  return [shown.join(", "), ...new Set(notes)].join(" ");
}

/** Of the streams, those that were shown. */
function count(provider: Provider, streams: readonly RecordedStream[], results: Results): string {
  const good = streams.filter(({ name }) => results.has(`${provider.name}/${name}`));
  return good.length === streams.length ? `${good.length}` : `${good.length} of ${streams.length}`;
}

function streamsOf(provider: Provider, column: Case): RecordedStream[] {
  return provider.streams.filter(({ covers }) => covers.includes(column));
}
