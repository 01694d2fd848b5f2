// The page's only style sheet. The content policy names its digest, and refuses every other style: only classes and attributes of
// SVG, no `style="…"`. Series differ in lightness, and those that need a person are hatched, so that colour is never the only
// sign. It contains none of the characters that escaping changes, so it goes through the template like every text.

import { hash as digestOf } from 'node:crypto'
import type { ChangedBy, DifferenceKind } from '../core/domain/differences.ts'
import { namesOf } from '../core/register.ts'
import { outcomeOf, type Outcome, type State } from '../core/domain/outcomes.ts'

type Colours = readonly [light: string, dark: string]

const PAGE = {
  paper: ['#fff', '#14171b'],
  ink: ['#181b20', '#e8eaed'],
  soft: ['#5a626d', '#a0a8b3'],
  line: ['#e2e5e9', '#2c3138'],
  wash: ['#f5f6f8', '#1c2025'],
  link: ['#1a5aa8', '#8ab8f0'],
  good: ['#11694f', '#6fcfae'],
  'good-wash': ['#eaf5f0', '#16281f'],
  look: ['#8a5200', '#efbe68'],
  'look-wash': ['#fdf4e3', '#2c2413'],
  bad: ['#a8241c', '#f39a8d'],
  'bad-wash': ['#fcecea', '#311b19'],
  live: ['#1a5aa8', '#8ab8f0'],
  'live-wash': ['#eaf1fa', '#17243a'],
  limit: ['#85201c', '#f6b5ab'],
} as const satisfies Record<string, Colours>

/** The colours of the series on light and on dark paper. Each has a class, `c-created`, and a variable, `--created`. */
const SERIES = {
  created: ['#0e5a4a', '#7fdcc0'],
  updated: ['#48a48d', '#3d9a82'],
  unchanged: ['#b7cdc6', '#47605a'],
  linked: ['#0e5a4a', '#7fdcc0'],
  deleted: ['#a9a29a', '#6f675f'],
  skipped: ['#dde1e5', '#363c44'],
  waiting: ['#e9b04f', '#d99c34'],
  rejected: ['#cf5a3c', '#d9694b'],
  pending: ['#d3deeb', '#2f3f55'],
  in_flight: ['#7ea6d6', '#5d8ac2'],
  failed: ['#85201c', '#f6b5ab'],
  lost: ['#16181c', '#f4f4f4'],
  equal: ['#b7cdc6', '#47605a'],
  missing: ['#cf5a3c', '#d9694b'],
  extra: ['#7b5c93', '#b796cf'],
  stale: ['#e9b04f', '#d99c34'],
  different: ['#2c6cab', '#5a9bdc'],
  request: ['#6d8fb8', '#5d83b3'],
  'by-source': ['#0e5a4a', '#7fdcc0'],
  'by-service': ['#48a48d', '#3d9a82'],
  'by-both': ['#e9b04f', '#d99c34'],
  'by-warehouse': ['#7b5c93', '#b796cf'],
  'by-unknown': ['#c5cad1', '#59616b'],
} as const satisfies Record<
  | Outcome
  | 'pending'
  | 'in_flight'
  | DifferenceKind
  | `by-${ChangedBy}`
  | 'failed'
  | 'lost'
  | 'equal'
  | 'request',
  Colours
>
export type Series = keyof typeof SERIES

/** A state has the colours of its outcome. */
export const seriesOf = (state: State): Series =>
  outcomeOf(state) ?? (state === 'pending' ? 'pending' : 'in_flight')

const variables = (paper: 0 | 1): string =>
  Object.entries({ ...PAGE, ...SERIES })
    .map(([name, colours]) => `--${name}: ${colours[paper]};`)
    .join(' ')
const [light, dark] = [variables(0), variables(1)]

export const STYLE = `
:root { color-scheme: light dark; ${light} }
@media (prefers-color-scheme: dark) { :root { ${dark} } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; text-wrap: pretty;
}
header, main, footer { max-width: 56rem; margin: 0 auto; padding: 0 1.5rem; }
header { padding-top: 3.5rem; }
h1, h2, h3, p, dl, dd, figure, ul, ol { margin: 0; padding: 0; }
h1 { font-size: 2.25rem; line-height: 1.15; font-weight: 650; letter-spacing: -0.02em; }
h2 { font-size: 1.25rem; line-height: 1.3; font-weight: 650; letter-spacing: -0.01em; }
h3 { font-size: 1rem; font-weight: 600; }
a { color: var(--link); text-underline-offset: 0.15em; }
code, .code { font: 0.875em/1.5 ui-monospace, SF Mono, Menlo, Consolas, Liberation Mono, monospace; }
.kind { color: var(--soft); margin-bottom: 0.25rem; }
.when { color: var(--soft); margin-top: 0.5rem; }
.soft { color: var(--soft); }
.lead { max-width: 42rem; margin-top: 0.25rem; color: var(--soft); }
.note { max-width: 42rem; margin-top: 1rem; }
.small { font-size: 0.875rem; }
.defs { position: absolute; width: 0; height: 0; }

.verdict { margin-top: 2rem; padding: 1.5rem; border-radius: 0.75rem; display: grid; grid-template-columns: 2.5rem 1fr; gap: 0 1rem; }
.verdict h2 { font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.015em; padding-top: 0.15rem; }
.verdict .meaning { font-size: 1.125rem; margin-top: 0.5rem; max-width: 42rem; }
.verdict .said { margin-top: 0.75rem; }
.verdict svg { width: 2.5rem; height: 2.5rem; }
.verdict .disc { fill: currentColor; }
.verdict .sign { fill: none; stroke: var(--paper); stroke-width: 3; stroke-linecap: round; stroke-linejoin: round; }
.good { background: var(--good-wash); } .good svg, .good h2 { color: var(--good); }
.look { background: var(--look-wash); } .look svg, .look h2 { color: var(--look); }
.bad { background: var(--bad-wash); } .bad svg, .bad h2 { color: var(--bad); }
.live { background: var(--live-wash); } .live svg, .live h2 { color: var(--live); }
.steps { list-style: none; margin-top: 1.25rem; display: grid; gap: 0.875rem; }
.steps code {
  display: block; margin-top: 0.25rem; padding: 0.5rem 0.75rem; border-radius: 0.375rem;
  background: var(--paper); border: 1px solid var(--line); user-select: all; width: fit-content; max-width: 100%;
}

.figures { display: flex; flex-wrap: wrap; gap: 1.5rem 4.5rem; margin-top: 2.5rem; }
.figures dt { color: var(--soft); font-size: 0.875rem; }
.figures dd { font-size: 1.875rem; line-height: 1.2; font-weight: 600; letter-spacing: -0.02em; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }

section.part { margin-top: 4rem; }
.bar { display: block; width: 100%; height: 2.75rem; margin: 1.5rem 0 1.25rem; border-radius: 0.375rem; }
.hatched { fill: url(#hatch); }
#hatch path { stroke: var(--paper); stroke-width: 1.6; stroke-opacity: 0.75; }
.swatch { width: 0.8125rem; height: 0.8125rem; margin-right: 0.625rem; vertical-align: -0.06rem; border-radius: 0.15rem; }
.mini { display: block; width: 100%; height: 0.625rem; border-radius: 0.15rem; margin-top: 0.375rem; }
${namesOf(SERIES)
  .map((name) => `.c-${name} { fill: var(--${name}); }`)
  .join('\n')}

table { width: 100%; border-collapse: collapse; font-size: 0.9375rem; line-height: 1.45; }
.tabled { margin-top: 1.25rem; }
caption { text-align: left; color: var(--soft); font-size: 0.875rem; padding-bottom: 0.25rem; }
th { text-align: left; font-weight: 600; vertical-align: top; }
thead th { color: var(--soft); font-weight: 400; font-size: 0.875rem; vertical-align: bottom; }
th, td { padding: 0.5rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th + th, th + td, td + td { padding-left: 1.25rem; }
.n { text-align: right; white-space: nowrap; }
.wide { width: 45%; }
.mean { color: var(--soft); font-weight: 400; }
.of { display: block; color: var(--soft); font-weight: 400; font-size: 0.875rem; }
tfoot th, tfoot td { border-bottom: 0; font-weight: 650; }
.balance { margin-top: 0.75rem; font-weight: 600; }
.balance.yes { color: var(--good); } .balance.no { color: var(--bad); } .balance.open { color: var(--look); }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 3px; }
.warn { color: var(--look); font-weight: 600; }
.changes del { color: var(--bad); white-space: pre-wrap; } .changes ins { color: var(--good); white-space: pre-wrap; text-decoration: none; }
.changes tbody th { width: 22%; } .changes .p { width: 20%; padding-left: 1.25rem; }

.chart { margin-top: 2rem; }
.chart .axes { display: grid; grid-template-columns: 2.75rem 1fr; margin-top: 0.75rem; }
.axes svg { display: block; width: 100%; height: 11.5rem; overflow: visible; }
.chart text { fill: var(--soft); font-size: 0.75rem; }
.chart line { stroke: var(--line); stroke-width: 1; }
.chart .base { stroke: var(--soft); }
.chart .limit { stroke: var(--limit); stroke-width: 1.5; stroke-dasharray: 5 4; }
.chart text.limit-name { fill: var(--limit); stroke: var(--paper); stroke-width: 4; paint-order: stroke; font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem; list-style: none; margin-top: 0.5rem; font-size: 0.875rem; }

details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--link); width: fit-content; font-size: 0.9375rem; }
.facts { display: grid; grid-template-columns: minmax(8rem, auto) 1fr; gap: 0.625rem 1.5rem; margin-top: 1.25rem; font-size: 0.9375rem; }
.facts dt { color: var(--soft); }
.plain { list-style: none; }
footer { margin-top: 4.5rem; padding-top: 1.25rem; padding-bottom: 3rem; }
footer p { border-top: 1px solid var(--line); padding-top: 1.25rem; color: var(--soft); font-size: 0.875rem; }

@media (max-width: 40rem) {
  header, main, footer { padding-left: 1rem; padding-right: 1rem; }
  header { padding-top: 2rem; }
  h1 { font-size: 1.75rem; }
  .verdict { grid-template-columns: 1fr; padding: 1.25rem 1rem; margin-left: -0.25rem; margin-right: -0.25rem; }
  .verdict svg { margin-bottom: 0.5rem; }
  .verdict h2 { font-size: 1.5rem; }
  .verdict .meaning { font-size: 1rem; }
  .figures { display: grid; grid-template-columns: 1fr 1fr; gap: 1.25rem; }
  .figures dd { font-size: 1.5rem; }
  section.part { margin-top: 3rem; }
  th + th, th + td, td + td { padding-left: 0.75rem; }
  .changes tbody th, .changes .p { width: auto; }
  .changes .p { padding-left: 0.75rem; }
  .roomy { display: none; }
  .mean { display: block; }
  .folds, .folds thead, .folds tbody { display: block; }
  .folds tr { display: grid; grid-template-columns: minmax(0, 1fr) auto auto; border-bottom: 1px solid var(--line); padding: 0.5rem 0; }
  .folds th, .folds td { border-bottom: 0; padding-top: 0; padding-bottom: 0; }
  .folds .n { min-width: 4.5rem; }
  .folds .wide { grid-row: 2; grid-column: 1 / -1; width: auto; padding: 0.375rem 0 0; }
  .folds thead .wide { display: none; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards, .cards tbody { display: block; }
  .cards tr { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 0.5rem; border-bottom: 1px solid var(--line); padding: 0.75rem 0; }
  .cards th { grid-column: 1 / -1; }
  .cards th, .cards td { border-bottom: 0; padding: 0; text-align: left; }
  .cards td::before { content: attr(data-name); display: block; color: var(--soft); font-size: 0.8125rem; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: 0.875rem; }
}
@media print {
  :root { ${light} }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 10pt; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  header { padding-top: 0; }
  section.part { margin-top: 2rem; }
  .verdict, figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .same, summary { display: none; }
  details::details-content { content-visibility: visible; }
}
`

/** The source expression of the content policy that allows it, and no other style. */
export const STYLE_SOURCE = `'sha256-${digestOf('sha256', STYLE, 'base64')}'`
