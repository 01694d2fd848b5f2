// What the pages share: times, states, links.

import { html, type HtmlValue, type Markup } from '../../report/escape.ts'
import { dateTimeText } from '../../report/format.ts'
import { TEXT } from '../texts.ts'
import type { Tone, ValuesShown } from '../views/shapes.ts'

/** `short`: the day only where it is not today; `clock`: the time alone, with seconds. */
type TimeForm = 'long' | 'short' | 'clock'

/** In the zone of the reader where a script may run; UTC is what it says when it is pointed at, and without scripts. */
export const timeOf = (iso: string, form: TimeForm = 'long'): Markup =>
  html`<time datetime="${iso}" title="${dateTimeText(iso)}" data-form="${form}"
    >${FORMS[form](iso)}</time
  >`

const FORMS: Readonly<Record<TimeForm, (iso: string) => string>> = {
  long: dateTimeText,
  /** `23 Nov, 18:59 UTC` */
  short: (iso) => dateTimeText(iso).replace(/ \d{4}, (\d\d:\d\d):\d\d/, ', $1'),
  clock: (iso) => dateTimeText(iso).replace(/^.*, /, ''),
}

/** A column of a table: text, or figures at the right. */
interface CardColumn {
  readonly name: string
  readonly isFigure?: boolean
  /** Whether its cells are long: on a phone each has a line of its own. */
  readonly isLong?: boolean
}

/** A table whose rows are cards on a phone, with the names of the columns in them; the roles keep it a table for screen readers. */
export const cardsTable = (
  columns: readonly CardColumn[],
  rows: readonly (readonly HtmlValue[])[],
): Markup =>
  html`<table class="tabled cards" role="table">
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(
          ({ name, isFigure }) =>
            html`<th scope="col" role="columnheader" class="${isFigure ? 'n' : ''}">${name}</th>`,
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        ([head, ...cells]) =>
          html`<tr role="row">
            <th scope="row" role="rowheader">${head}</th>
            ${cells.map((cell, at) => {
              const { name = '', isFigure, isLong } = columns[at + 1] ?? {}
              const kind = isFigure ? 'n' : isLong ? 'whole' : ''
              return html`<td role="cell" class="${kind}" data-name="${name}">${cell}</td>`
            })}
          </tr>`,
      )}
    </tbody>
  </table>`

export const texts = (...names: readonly string[]): CardColumn[] => names.map((name) => ({ name }))
export const figures = (...names: readonly string[]): CardColumn[] =>
  names.map((name) => ({ name, isFigure: true }))

const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M4.5 8.2l2.4 2.4 4.6-4.9',
  live: 'M4.6 8h.01M8 8h.01M11.4 8h.01',
  look: 'M8 4.2v4.6M8 11.6v.01',
  bad: 'M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2',
  none: 'M5 8h6',
}

/** A state with a sign of its own: colour is never the only one. */
export const stateOf = (tone: Tone, words: string): Markup =>
  html`<span class="state t-${tone}"
    ><svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <circle class="disc" cx="8" cy="8" r="8" />
      <path class="sign" d="${SHAPES[tone]}" /></svg
    ><span>${words}</span></span
  >`

/** Part of an address. */
export const inPath = (name: string): string => encodeURIComponent(name)

export const facts = (entries: readonly (readonly [string, HtmlValue])[]): Markup =>
  html`<dl class="facts">
    ${entries.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`

/** A choice of a form: any, or one of these. */
export const chooser = (
  name: string,
  label: string,
  options: readonly (string | readonly [value: string, words: string])[],
  chosen: string | null,
): Markup | false =>
  options.length > 0 &&
  html`<p>
    <label for="${name}">${label}</label>
    <select id="${name}" name="${name}">
      <option value="">${TEXT.any}</option>
      ${options.map((option) => {
        const [value, words] = typeof option === 'string' ? [option, option] : option
        return html`<option value="${value}" ${value === chosen && html` selected`}>
          ${words}
        </option>`
      })}
    </select>
  </p>`

/** Where values of rows are hidden: what shows them. @param command prints them */
export const valuesNote = (values: ValuesShown, command: string): Markup | false =>
  values === 'hidden' &&
  html`<p class="note">
    ${TEXT.valuesHidden} <code>${command}</code>${TEXT.valuesSetting}
    <code>console: { values: shown }</code>
  </p>`

/** What helps, with the command to type. */
export const stepsOf = (
  steps: readonly { readonly text: string; readonly command: string | null }[],
): Markup | false =>
  steps.length > 0 &&
  html`<ul class="steps">
    ${steps.map(
      ({ text, command }) =>
        html`<li>${text}${command !== null && html` <code>${command}</code>`}</li>`,
    )}
  </ul>`
