// The reference page: the OpenAPI document, readable.
import { html } from "hono/html";
import { isErrorCode } from "../../shared/errors/codes.ts";
import type { ApiDocument } from "./api-document.ts";
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
            ({ method, operation }) =>
              html`<li>
                <span class="method">${method}</span>
                <a href="#${operation.operationId}">${operation.summary}</a>
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
  return html`<table class="parameters">
    ${parameters.map((parameter) =>
      "name" in parameter
        ? html`<tr>
            <td><code>${parameter.name}</code></td>
            <td class="note">${parameter.in}${parameter.required === true ? ", required" : ""}</td>
            <td>${describeParameter(parameter)}</td>
          </tr>`
        : "",
    )}
  </table>`;
}

/** Its own words, or else what its schema allows. */
function describeParameter(parameter: { description?: string; schema?: object }) {
  const { description, schema = {} } = parameter;
  const read = (name: string): unknown => Reflect.get(schema, name);
  const words = description ?? read("description");
  if (typeof words === "string") return renderText(words);
  const allowed = ["enum", "pattern", "minimum", "maximum", "minLength", "maxLength"].flatMap(
    (name) => (read(name) === undefined ? [] : [`${name} ${JSON.stringify(read(name))}`]),
  );
  const type = read("type");
  return [...(typeof type === "string" ? [type] : []), ...allowed].join(", ");
}

function renderAnswer(response: unknown) {
  const schema = /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(response))?.[1];
  const description: unknown =
    typeof response === "object" && response !== null ? Reflect.get(response, "description") : "";
  if (schema === "Problem") return renderCodes(String(description));
  return html`${renderText(String(description))}
  ${schema === undefined ? "" : html`<a href="#schema-${schema}"><code>${schema}</code></a>`}`;
}

/** A problem's row names its codes: each leads to its page. */
function renderCodes(names: string) {
  return names.split(", ").map((name, index) => {
    const [code = "", ...rest] = name.split(" ");
    const separator = index === 0 ? "" : ", ";
    return isErrorCode(code)
      ? html`${separator}<a href="/errors/${code}">${code}</a
          >${rest.length === 0 ? "" : ` ${rest.join(" ")}`}`
      : html`${separator}${name}`;
  });
}

function renderJson(value: unknown) {
  return html`<pre>${JSON.stringify(value, null, 2)}</pre>`;
}
