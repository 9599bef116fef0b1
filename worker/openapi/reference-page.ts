// The reference page: the OpenAPI document, readable.
import { html } from "hono/html";
import type { ApiDocument } from "./documents.ts";
import { renderPage, renderText } from "./page.ts";

type PathItem = NonNullable<ApiDocument["paths"]>[string];
type Operation = NonNullable<PathItem["get"]>;

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function renderReference(document: ApiDocument) {
  const entries = entriesOf(document);
  const tags = [...new Set(entries.map(({ operation }) => tagOf(operation)))];
  return renderPage(
    "Holdfast: HTTP API",
    html`<h1>${document.info.title} HTTP API</h1>
      <p class="note">${document.info.description} Version ${document.info.version}.</p>
      <p>
        JSON over HTTPS, <code>Authorization: Bearer …</code> on everything under <code>/v1</code>.
        <a href="/openapi.json">OpenAPI 3.1</a> · <a href="/errors">Errors</a>
      </p>
      <nav>
        <ul>
          ${entries.map(
            ({ method, path, operation }) =>
              html`<li>
                <a href="#${operation.operationId}">${operation.summary}</a>
                <span class="note">${method} ${path}</span>
              </li>`,
          )}
        </ul>
      </nav>
      ${tags.map(
        (tag) =>
          html`<h2>${tag}</h2>
            ${entries.filter(({ operation }) => tagOf(operation) === tag).map(renderOperation)}`,
      )}
      <h2>Schemas</h2>
      ${Object.entries(document.components?.schemas ?? {}).map(
        ([name, schema]) =>
          html`<details id="schema-${name}">
            <summary><code>${name}</code></summary>
            ${renderJson(schema)}
          </details>`,
      )}`,
  );
}

function entriesOf(document: ApiDocument): Entry[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    (["get", "post", "delete"] as const).flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ method: method.toUpperCase(), path, operation }];
    }),
  );
}

function tagOf(operation: Operation): string {
  return operation.tags?.[0] ?? "Other";
}

function renderOperation({ method, path, operation }: Entry) {
  const permission: unknown = operation["x-permission"];
  return html`<article id="${operation.operationId}">
    <h3><span class="method">${method}</span><span class="path">${path}</span></h3>
    <p>
      <strong>${operation.summary}.</strong> ${renderText(operation.description ?? "")}
      ${typeof permission === "string" ? html`<span class="note">Needs <code>${permission}</code>.</span>` : ""}
    </p>
    ${renderParameters(operation)}
    ${
      operation.requestBody === undefined
        ? ""
        : html`<details>
            <summary>Body</summary>
            ${renderJson(operation.requestBody)}
          </details>`
    }
    <table>
      ${Object.entries(operation.responses ?? {}).map(
        ([status, response]) =>
          html`<tr>
            <th>${status}</th>
            <td>${renderAnswer(response)}</td>
          </tr>`,
      )}
    </table>
  </article>`;
}

function renderParameters(operation: Operation) {
  const parameters = operation.parameters ?? [];
  if (parameters.length === 0) return "";
  return html`<table>
    ${parameters.map((parameter) =>
      "name" in parameter
        ? html`<tr>
            <td><code>${parameter.name}</code></td>
            <td class="note">${parameter.in}${parameter.required === true ? ", required" : ""}</td>
            <td>${renderText(parameter.description ?? parameter.schema?.description ?? "")}</td>
          </tr>`
        : "",
    )}
  </table>`;
}

function renderAnswer(response: unknown) {
  const text = JSON.stringify(response);
  const schema = /"#\/components\/schemas\/(\w+)"/.exec(text)?.[1];
  const description: unknown =
    typeof response === "object" && response !== null ? Reflect.get(response, "description") : "";
  return html`${renderText(String(description))}
  ${schema === undefined ? "" : html`<a href="#schema-${schema}"><code>${schema}</code></a>`}`;
}

function renderJson(value: unknown) {
  return html`<pre>${JSON.stringify(value, null, 2)}</pre>`;
}
