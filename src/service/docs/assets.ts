// What the pages load, all of it from this service: our style and script, and the library that shows the operations.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { BASE_PATH } from '../../contract/index.ts'

const libraryFile = createRequire(import.meta.url).resolve
const library = (name: string) => () => readFile(libraryFile(`swagger-ui-dist/${name}`))

interface Asset {
  readonly type: string
  /** @throws if the library is not installed */
  readonly read: () => string | Promise<Buffer>
}

const style = `:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1d2330; --faint: #5b6475; --line: #dfe3ea; --panel: #f5f7fa; --link: #1a56c4; --mark: #e8eefb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #1c2022; --ink: #e6e9ee; --faint: #a2abb9; --line: #363d42; --panel: #24292c; --link: #8ab4f8; --mark: #2c3a52;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
a { color: var(--link) }
header, footer { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: baseline; padding: .9rem 1.25rem }
header { border-bottom: 1px solid var(--line) }
header .home { color: inherit; font-weight: 650; text-decoration: none }
header .home span { color: var(--faint); font-weight: 400 }
header nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem }
header nav a { text-decoration: none }
header nav a:hover { text-decoration: underline }
footer { border-top: 1px solid var(--line); color: var(--faint); font-size: .875rem }
footer p { margin: 0; line-height: 1.9 }
footer a { margin-right: .75rem }
.text { max-width: 46rem; min-height: 60vh; margin: 0 auto; padding: 1.5rem 1.25rem 3rem }
.text h1 { margin: .25rem 0 .5rem; font-size: 1.75rem; line-height: 1.25; overflow-wrap: anywhere }
.text h2 { margin: 2.25rem 0 .75rem; font-size: 1.2rem }
.text code { font: .92em/1.5 ui-monospace, 'DejaVu Sans Mono', monospace }
.text pre { margin: 0; padding: 1rem; border-radius: 8px; background: var(--panel); white-space: pre-wrap; overflow-wrap: anywhere }
.crumb { margin: 0 }
.lead { margin: 0 0 1.25rem; font-size: 1.125rem }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1.25rem; margin: 0 }
.facts dt { color: var(--faint) }
.facts dd { margin: 0 }
.case { padding: .75rem 1rem; border: 1px solid var(--line); border-radius: 8px }
.case + .case { margin-top: .6rem }
.case h3 { display: flex; gap: .75rem; align-items: baseline; margin: 0; font-size: 1rem; overflow-wrap: anywhere }
.case .status { margin-left: auto; padding: 0 .5rem; border-radius: 99px; background: var(--mark); font-weight: 400; font-variant-numeric: tabular-nums }
.case p { margin: .35rem 0 0 }
.case .remedy { color: var(--faint) }
.codes { width: 100%; border-collapse: collapse }
.codes th, .codes td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
.codes thead th { color: var(--faint); font-weight: 400 }
@media (max-width: 36rem) {
  .codes thead { display: none }
  .codes tr { display: block; padding: .6rem 0; border-bottom: 1px solid var(--line) }
  .codes th, .codes td { display: block; padding: 0; border: 0 }
}
.loading { padding: 0 1.25rem }
.swagger-ui .info { margin: 1.5rem 0 }
.dark-mode .swagger-ui .examples-select__section-label { color: inherit }
`

const script = `const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()

const place = document.querySelector('#operations')
async function draw() {
  const answer = await fetch('${BASE_PATH}/openapi.json')
  const spec = await answer.json()
  if (!answer.ok) throw new Error(spec.detail)
  // The same service, under the name by which this page was reached.
  spec.servers = [{ url: location.origin }]
  SwaggerUIBundle({
    spec,
    domNode: place,
    deepLinking: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    docExpansion: 'list',
    filter: true,
    validatorUrl: null,
  })
}
draw().catch((error) => {
  place.textContent = 'The OpenAPI document could not be shown: ' + error.message
})
`

/** By name below /docs/. */
export const ASSETS: Readonly<Record<string, Asset>> = {
  'page.css': { type: 'text/css; charset=utf-8', read: () => style },
  'operations.js': { type: 'text/javascript; charset=utf-8', read: () => script },
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: library('swagger-ui.css') },
  'swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    read: library('swagger-ui-bundle.js'),
  },
}
