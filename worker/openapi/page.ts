// The frame of the server-rendered pages: one style sheet inside, nothing loaded from elsewhere, no script.
import { html, raw } from "hono/html";
import { createHash } from "node:crypto";

type Html = ReturnType<typeof html>;

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #0b6bcb; }
@media (prefers-color-scheme: dark) { :root { --accent: #6cb2ff; } }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 2rem 1.25rem 6rem; }
h1 { margin: 0 0 .25rem; } h2 { border-bottom: 1px solid var(--line); margin-top: 3rem; padding-bottom: .25rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
code, pre { font: .875em/1.5 ui-monospace, monospace; } code { background: var(--soft); border-radius: 4px; padding: .1em .3em; }
pre { background: var(--soft); border-radius: 8px; overflow-x: auto; padding: .75rem 1rem; }
article { border: 1px solid var(--line); border-radius: 10px; margin: 1rem 0; padding: .25rem 1.25rem .75rem; }
article h3 { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: baseline; margin: .75rem 0 .25rem; }
.method { color: var(--accent); font: 700 .875rem ui-monospace, monospace; } .path { font: 600 1rem ui-monospace, monospace; overflow-wrap: anywhere; }
.note { opacity: .75; } table { border-collapse: collapse; width: 100%; } td, th { border-top: 1px solid var(--line); padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top; }
details { margin: .5rem 0; } summary { cursor: pointer; } nav ul { columns: 2; list-style: none; padding: 0; } nav li { break-inside: avoid; } nav .method { display: inline-block; width: 3rem; } .parameters td { width: 22%; } .parameters td:last-child { width: 56%; overflow-wrap: anywhere; }
`;

/** The page may use its own style sheet, known by its digest, and nothing else. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

export function renderPage(title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        ${body}
      </body>
    </html>`;
}

/** Text with \`code\` in it. */
export function renderText(text: string): Html[] {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
