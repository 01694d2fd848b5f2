// The pages, as HTML without any script of their own. All text that we did not write goes through `escaped`.

import { PROBLEM_CODES, TITLES, type ProblemCode } from '../../contract/index.ts'
import type { Site } from '../handlers/handler.ts'
import { EXAMPLE_REQUEST_ID } from '../openapi/examples.ts'
import { REFUSALS, refusalsWith, shortNameOf } from '../openapi/refusals.ts'
import type { KnownRefusal, RefusalName } from '../openapi/refusals.ts'
import { problemBody } from '../problems.ts'
import { CODES } from './codes.ts'

export function operationsPage(site: Site): string {
  return page(
    site,
    'Records Service v1',
    `<div id="operations"><p class="loading">A script draws the operations. Without it, read
<a href="${site.openApiUrl}">the OpenAPI document</a>.</p></div>`,
    `<link rel="stylesheet" href="/docs/swagger-ui.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/operations.js" defer></script>`,
  )
}

export function errorsPage(site: Site): string {
  const rows = PROBLEM_CODES.map(
    (code) => `<tr><th scope="row"><a href="/docs/errors/${code}"><code>${code}</code></a></th>
<td>${statusesOf(code).join(', ')}</td><td>${escaped(CODES[code].meaning)}</td></tr>`,
  )
  return page(
    site,
    'Error codes',
    `<main class="text"><h1>Error codes</h1>
<p>Every answer that is no success is a problem: a body of <code>application/problem+json</code> with a
<code>code</code> of this closed set. A <code>reason</code> says more where a program could use it; new reasons may appear.</p>
<table class="codes"><thead><tr><th>code</th><th>status</th><th>meaning</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></main>`,
  )
}

export function errorPage(site: Site, code: ProblemCode): string {
  const names = refusalsWith(code)
  const cases = names.map((name) => {
    const { status, when, remedy }: KnownRefusal = REFUSALS[name]
    return `<section class="case"><h3>${heading(name)} <span class="status">${status}</span></h3>
<p>${marked(when)}</p><p class="remedy">${marked(remedy)}</p></section>`
  })
  const refusals = names.map((name): KnownRefusal => REFUSALS[name])
  // The refusal that shows the most.
  const shown = refusals.find(({ errors }) => errors) ?? refusals.at(-1)!
  const { when: _when, remedy: _remedy, ...facts } = shown
  const problem = problemBody(facts, site.docsUrl, EXAMPLE_REQUEST_ID)
  return page(
    site,
    code,
    `<main class="text"><p class="crumb"><a href="/docs/errors">Error codes</a></p>
<h1><code>${code}</code></h1>
<p class="lead">${escaped(CODES[code].meaning)}</p>
<dl class="facts"><dt>Status</dt><dd>${statusesOf(code)
      .map((status) => escaped(`${status} ${TITLES[status]}`))
      .join('<br>')}</dd>
<dt>Send it again?</dt><dd>${escaped(CODES[code].again)}</dd></dl>
<h2>When, and what to do</h2>
${cases.join('\n')}
<h2>For instance</h2>
<pre tabindex="0"><code>${escaped(JSON.stringify(problem, null, 2))}</code></pre>
</main>`,
  )
}

function heading(name: RefusalName): string {
  const { reason }: KnownRefusal = REFUSALS[name]
  return reason ? `<code>${reason}</code>` : shortNameOf(name)
}

function statusesOf(code: ProblemCode): number[] {
  return [...new Set(refusalsWith(code).map((name) => REFUSALS[name].status))].toSorted()
}

function page(site: Site, title: string, content: string, head = ''): string {
  const codes = PROBLEM_CODES.map((code) => `<a href="/docs/errors/${code}">${code}</a>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header><a class="home" href="/docs">Records Service <span>v1</span></a>
<nav><a href="/docs">Operations</a> <a href="/docs/errors">Error codes</a> <a href="${site.openApiUrl}">OpenAPI</a></nav></header>
${content}
<footer><p>Error codes: ${codes.join(' ')}</p></footer>
</body>
</html>
`
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Escaped, with the text between backticks as code. */
function marked(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}
