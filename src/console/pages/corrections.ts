// The rejects of a run as a table of fields. Promises kept here: it works without scripts; what was typed comes back with what was expected.

import { html, type Markup } from '../../report/escape.ts'
import { countText } from '../../report/format.ts'
import { part } from '../../report/parts/part.ts'
import { TEXT } from '../texts.ts'
import type { EnteredRow, CorrectionsView } from '../views/corrections.ts'
import { FORM_ID } from './actions.ts'
import { chooser, inPath, stepsOf, valuesNote } from './parts.ts'
import { runHead } from './run.ts'

const { corrections: words } = TEXT

/** What came of what a person sent, put over the page as the ledger has it. */
export interface SentCorrections {
  /** By the name of their field. */
  readonly typed: ReadonlyMap<string, string>
  /** What was expected, by the name of the field. */
  readonly errors: ReadonlyMap<string, string>
  /** What is said at the top. */
  readonly notes: readonly string[]
  readonly tone: 'good' | 'look' | 'bad'
}

const NOTHING_SENT: SentCorrections = {
  typed: new Map(),
  errors: new Map(),
  notes: [],
  tone: 'good',
}

export const fieldOf = (row: number, column: number): string => `c.${row}.${column}`
export const rowFieldOf = (row: number): string => `o.${row}`

/** The address of the page, or of what a button does with it. */
export function correctionsPath(
  view: Pick<CorrectionsView, 'run' | 'group' | 'correction' | 'shown'>,
  { to = '', after }: { readonly to?: string; readonly after?: number | null } = {},
): string {
  const { run, group, correction, shown } = view
  const query = [
    ...(group === null ? [] : [`group=${inPath(group)}`]),
    ...(correction === null ? [] : [`correction=${correction.correction}`]),
    ...(shown.length === 0 ? [] : [`columns=${shown.join(',')}`]),
    ...(after === undefined || after === null ? [] : [`after=${after}`]),
  ]
  return `/runs/${run.run}/corrections${to}${query.length > 0 ? `?${query.join('&')}` : ''}`
}

export function correctionsMain(
  data: CorrectionsView,
  sent: SentCorrections = NOTHING_SENT,
  after: number | null = null,
): Markup {
  const head = html`${runHead(data, 'rejects')}
    <h2 class="first">${words.title}</h2>
    ${noteOf(sent)}`
  if (!data.possible) return html`${head} ${impossiblePart(data)}`
  return html`${head} ${keptPart(data)} ${rowsPart(data, sent, after)}
  ${isLeft(data) && sheetPart(data)}`
}

const isLeft = ({ rows, groups, next_after: next }: CorrectionsView): boolean =>
  rows.length > 0 || groups.length > 0 || next !== null

const noteOf = ({ notes, tone }: SentCorrections): Markup | false =>
  notes.length > 0 &&
  html`<div class="notice t-${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">
    ${notes.map((each) => html`<p>${each}</p>`)}
  </div>`

function impossiblePart({ values, commands }: CorrectionsView): Markup {
  if (values === 'shown') return html`<p class="note">${words.impossible}</p>`
  return html`<p class="note">${words.hidden}</p>
    ${valuesNote(values, commands.show)}
    ${stepsOf([
      { text: words.inFiles, command: commands.files },
      { text: words.sendFiles, command: commands.send },
    ])}`
}

function keptPart({ run, correction }: CorrectionsView): Markup | false {
  if (correction === null) return false
  const { correction: number, rows, more, overtaken } = correction
  const past = overtaken > 0 && html`<p class="note">${words.overtaken(overtaken)}</p>`
  if (rows === 0) return html`${past}`
  return html`<div class="need alone t-look">
    <h3>${words.keptHead}</h3>
    <p>${words.kept(rows, more)}</p>
    ${past}
    <p class="choice">
      <a class="button" href="/runs/${run.run}/retry?correction=${number}"
        >${words.retry(rows, more)} …</a
      >
    </p>
  </div>`
}

function rowsPart(data: CorrectionsView, sent: SentCorrections, after: number | null): Markup {
  const { rows, columns, shown, next_after: next, groups, group } = data
  const path = correctionsPath(data, { after })
  const hidden = columns.flatMap((name, at) =>
    shown.includes(at) ? [] : [[String(at), name] as const],
  )
  const accepted = groups.filter(
    (each) => each.accepted !== '' && (group === null || each.group === group),
  )
  return part(
    'rows',
    words.rows,
    rows.length > 0 ? words.lead : null,
    html`${groupForm(data)}
    ${accepted.map(
      (each) => html`<p class="note"><b>${each.column}</b>: ${TEXT.accepted} ${each.accepted}.</p>`,
    )}
    ${
      rows.length === 0
        ? html`<p class="note">
            ${next !== null ? words.noneYet : isLeft(data) ? words.none : words.nothingLeft}
          </p>`
        : html`${rowsTable(data, sent)}
            <p
              id="pasted"
              class="note"
              role="status"
              data-filled="${words.pasted}"
              data-over="${words.pastedOver}"
              data-back="${words.broughtBack}"
            ></p>
            <p class="choice">
              <button class="does" form="${FORM_ID}" formaction="${path}">${words.keep}</button>
              ${
                hidden.length > 0 &&
                html`<button form="${FORM_ID}" formaction="${path}" name="columns" value="all">
                  ${words.allColumns}
                </button>`
              }
            </p>
            ${hidden.length > 1 && columnForm(hidden, path)}`
    }
    ${
      next !== null &&
      html`<p class="note">
        <a href="${correctionsPath(data, { after: next })}">${words.next}</a>
        ${rows.length > 0 && html`<span class="soft">${words.nextNote}</span>`}
      </p>`
    }`,
  )
}

const columnForm = (hidden: readonly (readonly [string, string])[], path: string): Markup =>
  html`<div class="filter">
    <p>
      <label for="add">${words.addColumn}</label>
      <select id="add" name="add" form="${FORM_ID}">
        ${hidden.map(([value, name]) => html`<option value="${value}">${name}</option>`)}
      </select>
    </p>
    <button form="${FORM_ID}" formaction="${path}" name="columns" value="add">
      ${words.addsColumn}
    </button>
  </div>`

function groupForm({ run, groups, group, correction }: CorrectionsView): Markup | false {
  if (groups.length < 2) return false
  const named = groups.map(
    (each) =>
      [
        each.group,
        `${each.reason ?? each.code ?? each.state.replaceAll('_', ' ')}${each.column === null ? '' : ` ${TEXT.inField} ${each.column}`}, ${countText(each.rows, 'row')}`,
      ] as const,
  )
  return html`<form class="filter" action="/runs/${run.run}/corrections">
    ${correction !== null && html`<input type="hidden" name="correction" value="${correction.correction}" />`}
    ${chooser('group', words.kind, named, group)}
    <button>${words.show}</button>
  </form>`
}

function rowsTable({ rows, columns, shown, run }: CorrectionsView, sent: SentCorrections): Markup {
  return html`<div class="scroll">
    <table class="tabled cards fix" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader">${words.row}</th>
          ${shown.map((at) => html`<th scope="col" role="columnheader">${columns[at]}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row, down) =>
            html`<tr role="row">
              <th scope="row" role="rowheader">${rowHead(row, run.run)}</th>
              ${row.cells.map(
                (cell, right) =>
                  html`<td role="cell" data-name="${columns[cell.column]}">
                    ${cellField(row, cell, { name: columns[cell.column]!, down, right, sent })}
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

const rowHead = (
  { row, line, key, of, corrected, version, detail }: EnteredRow,
  run: number,
): Markup =>
  html`${key ?? words.line(line)}
    ${key !== null && html`<span class="of">${words.line(line)}</span>`}
    ${of !== run && html`<span class="of">${words.asIn(of)}</span>`}
    ${corrected && html`<span class="of kept">${words.isKept}</span>`}
    ${detail !== null && html`<span class="of">${detail}</span>`}
    <input type="hidden" form="${FORM_ID}" name="${rowFieldOf(row)}" value="${version}" />`

/** A browser leaves out the first line break of a text field: the one behind its tag. */
function cellField(
  { row, line, corrected }: EnteredRow,
  cell: EnteredRow['cells'][number],
  place: {
    readonly name: string
    readonly down: number
    readonly right: number
    readonly sent: SentCorrections
  },
): Markup {
  const { name, down, right, sent } = place
  if (cell.is_long) return html`<p class="soft small">${words.isLong}</p>`
  const field = fieldOf(row, cell.column)
  const error = sent.errors.get(field)
  const said = error ?? (corrected || sent.typed.has(field) ? null : cell.wrong)
  const value = sent.typed.get(field) ?? cell.value
  const isWrong = error !== undefined || (cell.wrong !== null && !corrected)
  return html`<textarea
      form="${FORM_ID}"
      name="${field}"
      rows="1"
      data-row="${down}"
      data-column="${right}"
      aria-label="${words.cell(name, line)}"
      spellcheck="false"
      autocapitalize="off"
      autocomplete="off"
      class="${isWrong ? 'wrong' : ''}"
      ${error !== undefined && html` aria-invalid="true"`}
      ${said !== null && said !== '' && html` aria-describedby="said-${field}"`}
    >
${value}</textarea
    >${said !== null && said !== '' && html`<span class="of${error === undefined ? '' : ' warn'}" id="said-${field}">${said}</span>`}`
}

const sheetPart = (data: CorrectionsView): Markup => {
  const { run, group } = data
  const of = group === null ? '' : `?group=${inPath(group)}`
  return part(
    'sheet',
    words.sheet,
    words.sheetLead,
    html`<p class="note">
        <a href="/runs/${run.run}/rejects.csv${of}" download
          >${group === null ? words.download : words.downloadKind}</a
        >
      </p>
      <div class="filter">
        <p>
          <label for="file">${words.file}</label>
          <input id="file" name="file" type="file" accept=".csv,.txt,.tsv" form="${FORM_ID}" />
        </p>
        <button
          form="${FORM_ID}"
          formaction="${correctionsPath(data, { to: '/file' })}"
          formenctype="multipart/form-data"
        >
          ${words.upload}
        </button>
      </div>`,
  )
}
