// What people do on the pages: buttons, the page that asks first, what came of an action, and the log of actions. Promise kept here: a
// button is of the one form of the frame, which has the token of the session; every page works without scripts.

import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { actionWords, type LoggedAction } from '../../report/action-log.ts'
import { formatNumber } from '../../report/format.ts'
import { part } from '../../report/parts/part.ts'
import type { OfferedAction } from '../views/offers.ts'
import { DONE_TEXT } from '../action-texts.ts'
import { TEXT } from '../texts.ts'
import { cardsTable, stateOf, texts, timeOf } from './parts.ts'

/** The form of the frame. */
export const FORM_ID = 'act-form'

/** What a person may do, each with what it does. */
export function offersPart(offers: readonly OfferedAction[]): Markup | false {
  if (offers.length === 0) return false
  return part(
    'act',
    TEXT.act.title,
    null,
    html`<ul class="offers">
      ${offers.map(
        (offer, at) =>
          html`<li>
            ${offer.asks ? wayTo(offer, at) : buttonOf(offer, at)}
            <p class="soft small" id="offer-${at}">${offer.meaning}</p>
          </li>`,
      )}
    </ul>`,
  )
}

const wayTo = ({ path, label }: OfferedAction, at: number): Markup =>
  html`<a class="button" href="${path}" aria-describedby="offer-${at}">${label} …</a>`

const buttonOf = ({ path, label }: OfferedAction, at: number): Markup =>
  html`<button form="${FORM_ID}" formaction="${path}" aria-describedby="offer-${at}">
    ${label}
  </button>`

/** The same next to what a sync needs: the name of the sync tells them apart for those who hear them. */
export const helpButton = ({ path, label, asks }: OfferedAction, sync: string): Markup =>
  asks
    ? html`<a class="button" href="${path}" aria-label="${label} …, ${sync}">${label} …</a>`
    : html`<button form="${FORM_ID}" formaction="${path}" aria-label="${label}, ${sync}">
        ${label}
      </button>`

export interface ConfirmFacts {
  readonly shown: HtmlValue
  readonly field: readonly [name: string, value: string] | null
  readonly isPossible: boolean
}

/** The page that asks first. `facts`: what it would do, if that is counted. */
export function confirmMain(
  offer: OfferedAction,
  back: { readonly path: string; readonly words: string },
  facts: ConfirmFacts,
): Markup {
  const [name, value] = facts.field ?? []
  return html`<p class="kind"><a href="${back.path}">${back.words}</a></p>
    <h1>${offer.label}?</h1>
    <p class="lead">${offer.meaning}</p>
    ${facts.shown}
    <p class="choice">
      ${
        facts.isPossible &&
        html`<button
          class="does"
          form="${FORM_ID}"
          formaction="${offer.path}"
          ${name !== undefined && html` name="${name}" value="${value}"`}
        >
          ${offer.label}
        </button>`
      }
      <a class="button" href="${back.path}">${TEXT.act.back}</a>
    </p>`
}

export const notPossibleMain = (
  back: { readonly path: string; readonly words: string },
  why: string = TEXT.act.notPossible,
): Markup =>
  html`<h1>${TEXT.act.notPossibleTitle}</h1>
    <p class="lead">${why}</p>
    <p class="choice"><a class="button" href="${back.path}">${TEXT.act.backTo(back.words)}</a></p>`

/** Figures of what would be done, with their names. */
export const countsOf = (counts: readonly (readonly [string, number])[], lead: string): Markup =>
  html`<section class="part" aria-labelledby="counted">
    <h2 id="counted">${TEXT.act.counted}</h2>
    <p class="note">${lead}:</p>
    <dl class="facts">
      ${counts.map(
        ([name, count]) =>
          html`<dt>${name}</dt>
            <dd>${formatNumber(count)}</dd>`,
      )}
    </dl>
  </section>`

/** What came of an action, at the top of the page that follows it. */
export type Notice =
  | { readonly kind: 'did' | 'already'; readonly action: LoggedAction }
  | { readonly kind: 'stale' }

export function noticeOf(notice: Notice): Markup {
  if (notice.kind === 'stale')
    return html`<div class="notice t-look" role="status">${TEXT.act.notPossible}</div>`
  const { action } = notice
  if (notice.kind === 'already')
    return html`<div class="notice t-look" role="status">
      ${TEXT.act.already} ${actionWords(action)} ${TEXT.act.by} <b>${action.who}</b>,
      ${timeOf(action.at, 'short')}.
    </div>`
  const { state, result } = action
  const tone = state === 'done' ? 'good' : state === 'begun' ? 'live' : 'bad'
  return html`<div class="notice t-${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">
    ${state === 'done' ? DONE_TEXT[action.action] : TEXT.act[state]}${result !== null && html` ${result}`}
  </div>`
}

const TONES = { begun: 'look', done: 'good', refused: 'none', failed: 'bad' } as const

/** What people did, the newest first. */
export function actionLogPart(log: readonly LoggedAction[]): Markup | false {
  if (log.length === 0) return false
  const { when, what, who, result } = TEXT.act
  return part(
    'log',
    TEXT.act.log,
    null,
    cardsTable(
      [...texts(when, what, who), { name: result, isLong: true }],
      log.map((each) => [
        timeOf(each.at, 'short'),
        html`${actionWords(each)}${each.run !== null && html` <a href="/runs/${each.run}">${TEXT.run(each.run)}</a>`}${each.details !== null && html`<span class="of">${each.details}</span>`}`,
        html`${each.who}<span class="of">${TEXT.act.via[each.via]}</span>`,
        html`${stateOf(TONES[each.state], each.state)}${each.result !== null && html`<span class="of">${each.result}</span>`}`,
      ]),
    ),
  )
}
