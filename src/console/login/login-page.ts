// The page that people log in with. Promise kept here: it says the same of a wrong password and of a name that nobody has.

import { html, type Markup } from '../../report/escape.ts'
import { TEXT } from '../texts.ts'

export const LOGIN_PATH = '/login'
export const LOGOUT_PATH = '/logout'

/** @param next the page that was asked for */
export const loginMain = (csrf: string, next: string, problem: string | null): Markup =>
  html`<h1>${TEXT.login.title}</h1>
    ${problem !== null && html`<div class="notice t-bad" role="alert">${problem}</div>`}
    <form class="login" method="post" action="${LOGIN_PATH}">
      <input type="hidden" name="csrf" value="${csrf}" />
      <input type="hidden" name="next" value="${next}" />
      <p>
        <label for="name">${TEXT.login.name}</label>
        <input
          id="name"
          name="name"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          maxlength="100"
          required
          autofocus
        />
      </p>
      <p>
        <label for="password">${TEXT.login.password}</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="current-password"
          maxlength="1000"
          required
        />
      </p>
      <p class="choice"><button class="does">${TEXT.login.submit}</button></p>
    </form>`

const ANY_ORIGIN = 'http://console.invalid'

/** A page of this console to go on with: nothing else is gone to after a login. */
export function pageToGoOn(next: string | undefined): string {
  if (next === undefined || !/^\/(?![/\\])[\x21-\x7e]{0,2000}$/.test(next)) return '/'
  const { origin, pathname, search } = new URL(next, ANY_ORIGIN)
  // `/..//host` is `//host` once it is normalised, which a browser takes for another host.
  const isPage =
    origin === ANY_ORIGIN &&
    !/^\/[/\\]/.test(pathname) &&
    !/^\/(login|logout|live|api\/)/.test(pathname)
  return isPage ? `${pathname}${search}` : '/'
}
