// The frame of every page of the console. Promises kept here: a page runs no script but the one of the console, whose address it
// names, and says everything without it; every text goes through the template that escapes.

import { randomBytes } from 'node:crypto'
import { definitions } from '../../report/charts.ts'
import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { TEXT } from '../texts.ts'
import { SCRIPT_PATH } from '../script.ts'
import { STYLE_PATH } from '../style.ts'
import type { Visitor } from '../login/gate.ts'
import { LOGOUT_PATH } from '../login/login-page.ts'
import { FORM_ID } from './actions.ts'
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
  /** Of the session: the token of its forms. Null: nobody acts on this page. */
  readonly csrf: string | null
  /** Scripts that the page needs besides that of all pages. */
  readonly scripts?: readonly string[]
  /** Who has logged in; null: nobody, or on a page that is for all. */
  readonly visitor: Visitor | null
  /** Whether it is the page of the login, which leads nowhere else. */
  readonly isLogin?: boolean
  /** What came of an action. */
  readonly notice?: Markup | null
}

/** Seconds, for readers without scripts. */
const REFRESH_S = 10

/** The one form of all buttons: they name where it goes. `form` is another one on each page that is made: sent twice, it is one action. `made`: who acted since was first. */
const actForm = (csrf: string, madeAt: string) =>
  html`<form id="${FORM_ID}" method="post">
    <input type="hidden" name="csrf" value="${csrf}" />
    <input type="hidden" name="form" value="${randomBytes(18).toString('base64url')}" />
    <input type="hidden" name="made" value="${Date.parse(madeAt)}" />
  </form>`

const whoPart = ({ name, role, by }: Visitor, canLeave: boolean): Markup =>
  html`<p class="visitor small">
    <b>${name}</b> ${TEXT.login.roles[role]}
    ${
      canLeave &&
      by === 'session' &&
      html`<button form="${FORM_ID}" formaction="${LOGOUT_PATH}">${TEXT.login.logout}</button>`
    }
  </p>`

export function renderFrame(page: FrameParts): string {
  const {
    title,
    at,
    main,
    file,
    madeAt,
    query = '',
    live,
    refreshes = false,
    csrf,
    visitor,
    isLogin = false,
    notice = null,
    scripts = [],
  } = page
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
        ${[SCRIPT_PATH, ...scripts].map((path) => html`<script src="${path}" type="module"></script>`)}
      </head>
      <body class="console" ${live !== null && html` data-live="${live}"`}>
        ${definitions}
        <a class="skip" href="#main">${TEXT.skip}</a>
        <header>
          <a class="brand" href="/">${TEXT.product}</a>
          ${
            !isLogin &&
            html`<nav aria-label="${TEXT.main}">
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
              </form>`
          }
          ${visitor !== null && visitor.by !== 'machine' && whoPart(visitor, csrf !== null)}
        </header>
        <main id="main" tabindex="-1">${notice}${main}</main>
        ${csrf !== null && actForm(csrf, madeAt)}
        <footer>
          ${!isLogin && html`<p>${file}, ${TEXT.asOf} ${timeOf(madeAt)}. ${TEXT.footer}</p>`}
        </footer>
      </body>
    </html> `
  return text.toString()
}
