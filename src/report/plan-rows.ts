// Rows of a plan, as pages show them: what becomes of each, with every property before and after.

import type { RowVerdict } from '../core/domain/row-changes.ts'
import { writeJson, type Json } from '../core/json.ts'
import { html, type Markup } from './escape.ts'
import { formatNumber } from './format.ts'
import type { Series } from './style.ts'

/** A row of the page; texts are as they are shown, null: no value. */
export interface PlanPageRow {
  /** Null: the source has none. */
  readonly line: number | null
  readonly key: string
  readonly recordId: string | null
  readonly changes: readonly {
    readonly property: string
    readonly before: string | null
    readonly after: string | null
    /** What is done about it, in words. */
    readonly said?: string
    /** Whether that is said next to the values, too. */
    readonly isNoted?: boolean
  }[]
  /** Properties that are not among them. */
  readonly more?: number
  /** The page of the row. */
  readonly href?: string
  /** What is said of a row without properties. Default: its record. */
  readonly note?: string
  /** What is said below its key. */
  readonly about?: string
}

/** What a row does about a property. */
export const CHANGE_DOES = {
  sets: 'gets a value',
  changes: 'gets another value',
  clears: 'is cleared',
  keeps: 'stays: others changed it',
} as const
export type ChangeDoes = keyof typeof CHANGE_DOES

const doesOf = (before: string | null, after: string | null, kept: boolean): ChangeDoes =>
  kept ? 'keeps' : after === null ? 'clears' : before === null ? 'sets' : 'changes'

export const VERDICT_SERIES: Readonly<Record<RowVerdict, Series>> = {
  create: 'created',
  update: 'updated',
  equal: 'equal',
  protected: 'skipped',
  changed: 'rejected',
  exists: 'in_flight',
  not_found: 'pending',
  ambiguous: 'extra',
  unknown: 'stale',
}

export const VERDICT_TITLES: Readonly<Record<RowVerdict, string>> = {
  create: 'New records',
  update: 'Changed records',
  equal: 'Equal already',
  protected: 'Kept as others changed them',
  changed: 'Changed by others, and refused',
  exists: 'There already',
  not_found: 'Not there',
  ambiguous: 'Several records',
  unknown: 'Not found any more',
}

/** What changes most comes first; what nothing happens to comes last. */
export const VERDICT_ORDER: readonly RowVerdict[] = [
  'update',
  'create',
  'unknown',
  'ambiguous',
  'changed',
  'protected',
  'exists',
  'not_found',
  'equal',
]

const VALUE_CHARS = 300
const PROPERTIES_MAX = 100

/** A value as people read it; null: none. */
export function changedValueText(value: Json): string | null {
  if (value === null) return null
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return writeJson(value)
  if (value.length < 2) return changedValueText((value[0] as Json | undefined) ?? null)
  return writeJson(value)
}

/** A text as a page shows it: what is longer is cut. */
export const shortened = (text: string | null): string | null =>
  text === null || text.length <= VALUE_CHARS
    ? text
    : `${text.slice(0, VALUE_CHARS).replace(/[\ud800-\udbff]$/, '')}… (cut; ${formatNumber(text.length)} characters)`

interface Changed extends Pick<PlanPageRow, 'key' | 'recordId'> {
  readonly line: number
  readonly changes: readonly {
    readonly property: string
    readonly before: Json
    readonly after: Json
    readonly kept?: true
  }[]
}

/** A row as a page shows it: what is longer is cut before it is kept. */
export function planPageRow({ line, key, recordId, changes }: Changed) {
  return {
    line,
    key: shortened(key)!,
    recordId,
    changes: changes
      .slice(0, PROPERTIES_MAX)
      .map(({ property, before: was, after: is, kept = false }) => {
        const before = shortened(changedValueText(was))
        const after = shortened(changedValueText(is))
        const does = doesOf(before, after, kept)
        return { property, before, after, does, said: CHANGE_DOES[does], isNoted: kept }
      }),
    more: Math.max(0, changes.length - PROPERTIES_MAX),
  } satisfies PlanPageRow
}

/** As it stands: the formatter would put white space into what keeps its own. */
const exactly = html

export interface ChangesOptions {
  /** The heads of the values: before and after, or one. */
  readonly heads: readonly string[]
  /** Hidden values: what is said of each property stands in their place. Default: shown. */
  readonly areHidden?: boolean
  /** Whether the second value takes the place of the first. Default true. */
  readonly isChange?: boolean
}

/** Rows with their properties, a line each. On a phone the row stands above them; the roles keep it a table for screen readers. */
export function changesTable(rows: readonly PlanPageRow[], options: ChangesOptions): Markup | null {
  if (rows.length === 0) return null
  const { heads, areHidden = false } = options
  const hasChanges = rows.some(({ changes }) => changes.length > 0)
  const values = areHidden ? ['What happens'] : heads
  const names = ['Row', ...(hasChanges ? ['Property', ...values] : ['Record'])]
  return html`<table class="tabled changes" role="table">
    <thead role="rowgroup">
      <tr role="row">
        ${names.map((name) => html`<th scope="col" role="columnheader">${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map((row) =>
        row.changes.length > 0 ? changedRow(row, options) : namedRow(row, names.length - 1),
      )}
    </tbody>
  </table>`
}

const rowHead = ({ key, line, href, about }: PlanPageRow, span: number): Markup =>
  html`<th scope="rowgroup" role="rowheader" rowspan="${span}">
    ${href === undefined ? key : html`<a href="${href}">${key}</a>`}
    <span class="of"
      >${[line === null ? null : `line ${formatNumber(line)}`, about].filter(Boolean).join(', ')}</span
    >
  </th>`

const namedRow = (row: PlanPageRow, span: number): Markup =>
  html`<tr role="row" class="first">
    ${rowHead(row, 1)}
    <td role="cell" class="p soft" colspan="${span}">${row.note ?? row.recordId ?? '–'}</td>
  </tr>`

function changedRow(row: PlanPageRow, options: ChangesOptions): Markup {
  const { changes, more = 0 } = row
  const { heads, areHidden = false } = options
  const span = changes.length + (more > 0 ? 1 : 0)
  return html`${changes.map(
    (change, at) =>
      html`<tr role="row" class="${at === 0 ? 'first' : ''}">
        ${at === 0 && rowHead(row, span)}
        <td role="cell" class="p">
          ${change.property}${change.isNoted && !areHidden && html`<span class="of">${change.said}</span>`}
        </td>
        ${areHidden ? html`<td role="cell">${change.said}</td>` : valueCells(change, options)}
      </tr>`,
  )}${
    more > 0 &&
    html`<tr role="row">
      <td role="cell" class="p soft" colspan="${areHidden ? 2 : heads.length + 1}">
        and ${formatNumber(more)} more
      </td>
    </tr>`
  }`
}

function valueCells(
  { before, after }: PlanPageRow['changes'][number],
  { heads, isChange = true }: ChangesOptions,
): Markup {
  const cell = (value: string | null, drawn: (text: string) => Markup, name: string | undefined) =>
    html`<td role="cell" data-name="${name}">${value === null ? none : drawn(value)}</td>`
  const plain = (text: string) => exactly`<span class="value">${text}</span>`
  const was = isChange ? (text: string) => exactly`<del>${text}</del>` : plain
  const is = isChange ? (text: string) => exactly`<ins>${text}</ins>` : plain
  return html`${heads.length > 1 && cell(before, was, heads[0])} ${cell(after, is, heads.at(-1))}`
}

const none = html`<span class="soft">(none)</span>`
