// The error catalogue: what each code means and what to do about it. The `type` of every problem points here.
import { html } from "hono/html";
import { ERROR_CODES, type ErrorCodeFacts } from "../../shared/errors/codes.ts";
import { renderPage, renderText } from "./page.ts";

export function renderErrorIndex() {
  return renderPage(
    "Holdfast: errors",
    html`<h1>Errors</h1>
      <p>
        Every refusal is <code>application/problem+json</code> with a stable <code>code</code>.
        <a href="/docs">The routes</a>.
      </p>
      <table>
        <tr>
          <th>Status</th>
          <th>Code</th>
          <th></th>
        </tr>
        ${Object.entries(ERROR_CODES).map(
          ([code, { status, title }]) =>
            html`<tr>
              <td>${status}</td>
              <td><a href="/errors/${code}">${code}</a></td>
              <td>${title}</td>
            </tr>`,
        )}
      </table>`,
  );
}

export function renderErrorPage(
  code: string,
  { status, title, retryable, remedy }: ErrorCodeFacts,
) {
  return renderPage(
    `Holdfast: ${code}`,
    html`<p class="note"><a href="/errors">Errors</a></p>
      <h1>${code}</h1>
      <p>${title}</p>
      <h2>What to do</h2>
      <p>${renderText(remedy)}</p>
      <table>
        <tr>
          <th>Status</th>
          <td>${status}</td>
        </tr>
        <tr>
          <th>Retryable</th>
          <td>
            ${retryable ? "yes: the identical request may be repeated" : "no: the identical request will be refused again"}
          </td>
        </tr>
      </table>`,
  );
}
