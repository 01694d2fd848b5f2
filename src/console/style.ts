// The style of the console: that of the report, and what pages with a navigation need besides. Served as a file of its own, because
// the content policy allows no other style.

import { createHash } from 'node:crypto'
import { STYLE } from '../report/style.ts'

export const CONSOLE_STYLE = `${STYLE}
.console { line-height: 1.5; }
.console > header, .console > main, .console > footer { max-width: 76rem; }
.console > header { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 1.75rem; padding-top: 1.25rem; padding-bottom: 1.25rem; }
.console > main { padding-top: 1rem; outline: none; }
.console h1 { font-size: 1.75rem; }
.console h2 { margin-top: 2.75rem; } .console .verdict h2 { margin-top: 0; font-size: 1.375rem; }
.console .verdict { grid-template-columns: 2rem 1fr; margin-top: 1.5rem; padding: 1.25rem; }
.console .verdict svg { width: 2rem; height: 2rem; }
.console .lead { margin-top: 0.25rem; }
.brand { font-weight: 700; letter-spacing: -0.01em; color: var(--ink); text-decoration: none; }
.console nav { display: flex; gap: 1.25rem; }
.console nav a { color: var(--soft); text-decoration: none; padding: 0.25rem 0; }
.console nav a:hover, .brand:hover { text-decoration: underline; }
.console nav a[aria-current] { color: var(--ink); font-weight: 600; box-shadow: 0 2px 0 var(--ink); }
.console form[role=search] { margin-left: auto; flex: 0 1 20rem; }
.console input[type=search] {
  width: 100%; font: inherit; font-size: 0.9375rem; color: var(--ink); background: var(--wash); border: 1px solid var(--field);
  border-radius: 0.5rem; padding: 0.4375rem 0.75rem;
}
.console input::placeholder { color: var(--soft); opacity: 1; }
.console input:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
:root { --field: #868e98; }
@media (prefers-color-scheme: dark) { :root { --field: #6d7682; } }
.hidden { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: 1rem; top: -4rem; background: var(--paper); padding: 0.5rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; z-index: 1; }
.skip:focus { top: 0.5rem; }

.state { display: inline-flex; align-items: baseline; gap: 0.4375rem; font-weight: 600; font-size: 0.9375rem; }
.state svg { flex: none; width: 1rem; height: 1rem; align-self: center; }
.state .disc { fill: currentColor; } .state .sign { fill: none; stroke: var(--paper); stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.state.t-good { color: var(--good); } .state.t-live { color: var(--live); } .state.t-look { color: var(--look); }
.state.t-bad { color: var(--bad); } .state.t-none { color: var(--soft); }
.problem { margin-top: 1rem; padding: 0.75rem 1rem; border-radius: 0.5rem; background: var(--look-wash); }
.problem b { color: var(--look); }

.needs > ul { grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
.needs > ul, .syncs, .orgs { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 0.75rem; }
.need { padding: 1.125rem 1.25rem; border-radius: 0.75rem; background: var(--look-wash); }
.need.t-bad { background: var(--bad-wash); }
.need h3 { display: flex; flex-wrap: wrap; gap: 0.25rem 0.875rem; align-items: baseline; font-size: 1.0625rem; }
.need h3 a, .sync h3 a { color: var(--ink); text-decoration: none; }
.need h3 a:hover, .sync h3 a:hover { text-decoration: underline; }
.need p { margin-top: 0.375rem; max-width: 52rem; }
.need .said { font-size: 0.9375rem; }
.need .steps { margin-top: 0.625rem; display: flex; flex-wrap: wrap; gap: 0.625rem 1.5rem; }
.help { margin-top: 0.75rem; display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: baseline; }
.need .button, .console .need button { background: var(--paper); }
.need.alone { margin-top: 1.25rem; } .console .need h2 { margin: 0; font-size: 1rem; }
.need .state .sign { stroke: var(--look-wash); } .need.t-bad .state .sign { stroke: var(--bad-wash); }

.sync {
  display: grid; grid-template-columns: minmax(11rem, 15rem) minmax(12rem, 1fr) minmax(13rem, 17rem); gap: 0.5rem 2rem;
  padding: 1.125rem 1.25rem; border: 1px solid var(--line); border-radius: 0.75rem;
}
.sync h3 { font-size: 1.125rem; letter-spacing: -0.01em; }
.sync .who p + p { margin-top: 0.375rem; }
.badge { display: inline-block; font-size: 0.8125rem; padding: 0.0625rem 0.5rem; border-radius: 1rem; background: var(--good-wash); color: var(--good); }
.badge.late { background: var(--look-wash); color: var(--look); font-weight: 600; }
.spark { display: block; width: 100%; height: 3.25rem; border-bottom: 1px solid var(--line); }
.figures-line { margin-top: 0.5rem; color: var(--soft); } .figures-line b { color: var(--ink); font-weight: 600; }
.progress { display: block; width: 100%; height: 0.5rem; border-radius: 0.25rem; margin: 0.625rem 0 0.375rem; }
.moments { font-size: 0.9375rem; display: grid; gap: 0.5rem; align-content: start; }
.moments div { display: grid; grid-template-columns: 6.5rem 1fr; gap: 0.75rem; }
.moments dt { color: var(--soft); font-size: 0.875rem; }
.moments a { color: inherit; }
.of.warn { color: var(--look); font-weight: 600; }

.console .ways + .lead { margin-top: 1.25rem; }
.ways ul { display: flex; flex-wrap: wrap; gap: 0 1.25rem; list-style: none; margin: 1.25rem 0 0; padding: 0; border-bottom: 1px solid var(--line); }
.console .ways a { display: block; padding: 0.375rem 0.125rem; margin-bottom: -1px; }
.console .kind { margin: 0; } .console .when a, .console .kind a { color: inherit; }
.console section.part { margin-top: 2.75rem; } .console section.part h2 { margin-top: 0; }
.console .part .bar { height: 1.5rem; }
.tall .spark { height: 8rem; margin-top: 1rem; }
.axis { margin-top: 1rem; } .axis + .tall .spark { margin-top: 0.25rem; }
.axis.ends { display: flex; justify-content: flex-end; gap: 1rem; margin-top: 0.25rem; } .axis.ends.wide { justify-content: space-between; }
.filter { display: flex; flex-wrap: wrap; gap: 0.75rem 1.25rem; align-items: end; margin-top: 1.25rem; }
.filter label { display: block; color: var(--soft); font-size: 0.875rem; margin-bottom: 0.25rem; }
.console select, .console button {
  font: inherit; font-size: 0.9375rem; color: var(--ink); background: var(--wash); border: 1px solid var(--field);
  border-radius: 0.5rem; padding: 0.4375rem 0.75rem; max-width: 100%;
}
.console button { cursor: pointer; font-weight: 600; }
.console select:focus-visible, .console button:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
.changes .value { white-space: pre-wrap; }
.changes tbody th .of, .changes td .of { font-size: 0.8125rem; }
.timeline { list-style: none; margin: 1rem 0 0; padding: 0; }
.timeline li { position: relative; padding: 0 0 1rem 1.75rem; display: flex; flex-wrap: wrap; gap: 0 0.75rem; align-items: baseline; }
.timeline li::before {
  content: ''; position: absolute; left: 0; top: 0.3125rem; width: 0.875rem; height: 0.875rem; border-radius: 50%; box-sizing: border-box;
  border: 2px solid var(--soft); background: var(--paper); z-index: 1;
}
.timeline li + li::after { content: ''; position: absolute; left: 0.375rem; bottom: calc(100% - 0.3125rem); height: 100%; border-left: 2px solid var(--line); }
.timeline .s-done::before { background: var(--good); border-color: var(--good); }
.timeline .s-now::before { border-color: var(--live); border-width: 4px; }
.timeline .s-ended::before { border-color: var(--bad); border-width: 4px; }
.timeline .s-next b, .timeline .s-left b { color: var(--soft); font-weight: 400; }
.cards-list { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.kind-card { height: 100%; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 0.75rem; }
.kind-card .mini { margin: 0.625rem 0; } .kind-card .note { margin-top: 0.5rem; font-size: 0.9375rem; }
.events { list-style: none; margin: 1rem 0 0; padding: 0; }
.events li { padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
.arrow { color: var(--soft); font-weight: 400; }
.times { display: flex; flex-wrap: wrap; gap: 0 1.25rem; }
.org { padding: 0.25rem 0 0.75rem; }
.org .bar { height: 1.125rem; margin: 0.5rem 0 0.25rem; }
.org-name { display: flex; flex-wrap: wrap; gap: 0.125rem 1rem; justify-content: space-between; }
.orgs .legend { margin: 0.25rem 0 0; padding: 0; }
.offers { list-style: none; margin: 1rem 0 0; padding: 0; display: grid; gap: 0.75rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); }
.offers p { margin-top: 0.375rem; }
.console button, .button {
  display: inline-block; font: inherit; font-size: 0.9375rem; font-weight: 600; line-height: 1.375rem; color: var(--ink); background: var(--wash);
  border: 1px solid var(--field); border-radius: 0.5rem; padding: 0.4375rem 0.875rem; text-decoration: none; cursor: pointer; overflow-wrap: anywhere;
}
.console button.small { display: block; margin-top: 0.375rem; padding: 0.1875rem 0.625rem; font-size: 0.875rem; }
.console button:hover, .button:hover { border-color: var(--ink); }
.console button:focus-visible, .button:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.console button.does { color: var(--paper); background: var(--ink); border-color: var(--ink); }
.choice { margin-top: 1.75rem; display: flex; flex-wrap: wrap; gap: 0.75rem; }
.visitor { display: flex; align-items: baseline; gap: 0.5rem; margin: 0; color: var(--soft); } .visitor b { color: var(--ink); }
.login { max-width: 22rem; margin-top: 1.5rem; } .login label { display: block; font-weight: 600; margin-bottom: 0.25rem; }
.login input:not([type=hidden]) { width: 100%; box-sizing: border-box; font: inherit; color: var(--ink); background: var(--wash); border: 1px solid var(--field); border-radius: 0.5rem; padding: 0.5rem 0.75rem; }
h1 + .notice { margin-top: 1.25rem; } .login p + p { margin-top: 1rem; }
.notice { margin-bottom: 1.5rem; padding: 0.75rem 1rem; border-radius: 0.5rem; background: var(--wash); overflow-wrap: anywhere; }
.notice.t-good { background: var(--good-wash); } .notice.t-look { background: var(--look-wash); } .notice.t-bad { background: var(--bad-wash); }
.found { margin: 1rem 0 0; padding: 0; list-style: none; display: grid; gap: 0.75rem; }
td + th { padding-left: 1.25rem; }

.console .first { margin-top: 1.75rem; } .first + .notice { margin: 1rem 0 0; }
.fix { width: 100%; } .fix td { vertical-align: top; min-width: 9rem; } .fix th[scope=row] { min-width: 7rem; }
.fix textarea {
  display: block; width: 100%; min-height: 2.375rem; font: inherit; font-size: 0.9375rem; line-height: 1.375rem; color: var(--ink); background: var(--wash);
  border: 1px solid var(--field); border-radius: 0.5rem; padding: 0.4375rem 0.625rem; resize: vertical; field-sizing: content; overflow-wrap: anywhere;
}
.fix textarea.wrong { border-color: var(--look); } .fix textarea[aria-invalid] { border-color: var(--bad); border-width: 2px; }
.fix textarea:focus-visible, .console input[type=file]:focus-visible { outline: 2px solid var(--link); outline-offset: 1px; }
.fix .of { overflow-wrap: anywhere; } .fix .of.warn { color: var(--bad); font-weight: 600; } .of.kept { color: var(--good); font-weight: 600; }
.console input[type=file] { font: inherit; font-size: 0.9375rem; color: var(--ink); max-width: 100%; }
.notice p + p { margin-top: 0.375rem; } .scroll { overflow-x: auto; }

@media (max-width: 60rem) {
  .sync { grid-template-columns: 1fr 1fr; }
  .sync .how { grid-column: 1 / -1; grid-row: 2; }
}
@media (max-width: 40rem) {
  .console > header { padding-top: 0.875rem; padding-bottom: 0.875rem; gap: 0.375rem 1.25rem; }
  .changes, .changes tbody { display: block; }
  .changes thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .changes tr { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr) minmax(0, 1fr); gap: 0.25rem 0.75rem; padding: 0.25rem 0; }
  .changes tr.first { border-top: 1px solid var(--line); padding-top: 0.75rem; margin-top: 0.5rem; }
  .changes tbody th { grid-column: 1 / -1; }
  .changes th, .changes td, .changes .p { border-bottom: 0; padding: 0; }
  .changes td:nth-last-child(1):nth-child(-n + 3) { grid-column: auto / span 1; }
  .changes td[data-name]::before { content: attr(data-name); display: block; color: var(--soft); font-size: 0.8125rem; }
  /* Texts have half of the width, or all of it, and figures a third. */
  .cards tr { grid-template-columns: repeat(6, minmax(0, 1fr)); }
  .cards td { grid-column: span 3; } .cards td.n { grid-column: span 2; } .cards td.whole { grid-column: 1 / -1; }
  .cards.fix tr { grid-template-columns: minmax(0, 1fr); } .cards.fix td { grid-column: auto; } .fix td { min-width: 0; }
  .console form[role=search] { flex: 1 1 100%; margin-left: 0; }
  .console h1 { font-size: 1.5rem; }
  .sync { grid-template-columns: 1fr; padding: 1rem; }
  .sync .how { grid-row: auto; }
  .spark { height: 2.75rem; }
}
@media print {
  .console > header nav, .console form, .console button, .console .button, .skip, .ways { display: none; }
  .console > header, .console main, .console > footer { max-width: none; padding: 0; }
  .need, .badge, .notice { border: 1px solid var(--line); }
  .part, .timeline li, tr { break-inside: avoid; } .part h2 { break-after: avoid; }
  .sync, .need { break-inside: avoid; }
}
`

const digest = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12)

/** Its address changes with it, so that a browser may keep it. */
export const STYLE_PATH = `/assets/console-${digest(CONSOLE_STYLE)}.css`
