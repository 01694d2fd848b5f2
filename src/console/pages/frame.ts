// The frame of every page of the console. Promises kept here: a page runs no script but the one of the console, whose address it
// names, and says everything without it; every text goes through the template that escapes.

import { definitions } from '../../report/charts.ts'
import { html, type HtmlValue } from '../../report/escape.ts'
import { TEXT } from '../texts.ts'
import { SCRIPT_PATH } from '../script.ts'
import { STYLE_PATH } from '../style.ts'
import { timeOf } from './parts.ts'

export interface FrameParts {
  readonly title: string
  /** The page of the navigation that it is. */
  readonly at: 'overview' | 'quota' | null
  readonly main: HtmlValue
  /** Name of the configuration file. */
  readonly file: string
  readonly madeAt: string
  /** What was searched. */
  readonly query?: string
  /** The live runs that it shows as they are; the script asks for the page again when others are. Null: it follows none. */
  readonly live: string | null
  /** Whether it is read again after some seconds where no script runs, too. */
  readonly refreshes?: boolean
}

/** Seconds, for readers without scripts. */
const REFRESH_S = 10

export function renderFrame(page: FrameParts): string {
  const { title, at, main, file, madeAt, query = '', live, refreshes = false } = page
  const current = html` aria-current="page"`
  const text = html`<!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        ${
          refreshes &&
          html`<noscript><meta http-equiv="refresh" content="${REFRESH_S}" /></noscript>`
        }
        <title>${title} · ${TEXT.product}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${STYLE_PATH}" />
        <script src="${SCRIPT_PATH}" type="module"></script>
      </head>
      <body class="console" ${live !== null && html` data-live="${live}"`}>
        ${definitions}
        <a class="skip" href="#main">${TEXT.skip}</a>
        <header>
          <a class="brand" href="/">${TEXT.product}</a>
          <nav aria-label="${TEXT.main}">
            <a href="/" ${at === 'overview' && current}>${TEXT.overview}</a>
            <a href="/quota" ${at === 'quota' && current}>${TEXT.quota}</a>
          </nav>
          <form role="search" action="/search">
            <label for="q" class="hidden">${TEXT.searchLabel}</label>
            <input
              id="q"
              name="q"
              type="search"
              maxlength="500"
              value="${query}"
              placeholder="${TEXT.searchHint}"
              autocomplete="off"
            />
          </form>
        </header>
        <main id="main" tabindex="-1">${main}</main>
        <footer>
          <p>${file}, ${TEXT.asOf} ${timeOf(madeAt)}. ${TEXT.footer}</p>
        </footer>
      </body>
    </html> `
  return text.toString()
}
