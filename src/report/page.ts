// The frame of every page: its head with the content policy, and what is drawn at its top. Promises kept here: a page requests nothing
// and runs nothing (the policy enforces that in the browser), and every text goes through the template that escapes.

import { definitions } from './charts.ts'
import { html, type HtmlValue, type Markup } from './escape.ts'
import { formatNumber } from './format.ts'
import type { ReportFigure, ReportVerdict } from './run-report.ts'
import { STYLE, STYLE_SOURCE } from './style.ts'

const policy = `default-src 'none'; style-src ${STYLE_SOURCE}; base-uri 'none'; form-action 'none'`

/**
 * A name other than `html`: the formatter puts white space into templates called `html`, and the digest counts every character.
 */
const exactly = html
const style = exactly`<style>${STYLE}</style>`

interface PageParts {
  readonly title: string
  readonly header: Markup
  readonly main: HtmlValue
  readonly footer: HtmlValue
}

/** The whole page: a file that any browser shows. */
export function renderPage({ title, header, main, footer }: PageParts): string {
  const page = html`<!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${style}
      </head>
      <body>
        ${definitions}
        <header>${header}</header>
        <main>${main}</main>
        <footer>
          <p>${footer}</p>
        </footer>
      </body>
    </html> `
  return page.toString()
}

const signs: Readonly<Record<ReportVerdict['tone'], string>> = {
  good: 'M12.5 20.5l5 5 10-11',
  live: 'M12 20h.01M20 20h.01M28 20h.01',
  look: 'M20 11v11M20 28.5v.01',
  bad: 'M14 14l12 12M26 14L14 26',
}

/** What a page says first: in a word, what it means, and what comes next. */
export const banner = (
  { tone, words, meaning }: Pick<ReportVerdict, 'tone' | 'words' | 'meaning'>,
  more: HtmlValue,
): Markup =>
  html`<section class="verdict ${tone}" aria-labelledby="verdict">
    <svg viewBox="0 0 40 40" aria-hidden="true" focusable="false">
      <circle class="disc" cx="20" cy="20" r="20" />
      <path class="sign" d="${signs[tone]}" />
    </svg>
    <div>
      <h2 id="verdict">${words}</h2>
      <p class="meaning">${meaning}</p>
      ${more}
    </div>
  </section>`

export const figuresList = (figures: readonly ReportFigure[]): Markup =>
  html`<dl class="figures">
    ${figures.map(
      ({ name, value }) =>
        html`<div>
          <dd>${formatNumber(value)}</dd>
          <dt>${name}</dt>
        </div>`,
    )}
  </dl>`
