// What was not accepted, and what later runs did about it.

import { isWritten } from '../../core/domain/outcomes.ts'
import { miniBar } from '../charts.ts'
import { html, type Markup } from '../escape.ts'
import { countText, formatNumber } from '../format.ts'
import { leftoversText } from '../leftovers.ts'
import type { ErrorGroup, ErrorsReport, RunReport } from '../run-report.ts'
import { folded, part, rankedTable, tableHead, timeInUtc, type Ranked } from './part.ts'

/** What was not accepted, by cause; nothing if everything was accepted. */
export function errorsPart(
  { rows, groups, omitted }: ErrorsReport,
  { commands: { rejects }, run }: Pick<RunReport, 'commands' | 'run'>,
): Markup | null {
  if (rows === 0) return null
  const highest = Math.max(1, ...groups.map((group) => group.rows))
  const ranked = groups.map((group) => rankedError(group, highest))
  const table = (some: readonly Ranked[], caption: string | null) =>
    rankedTable(['What is wrong', 'Where', 'Rows', 'First row'], some, caption)
  return part(
    'errors',
    groups.some(({ state }) => isWritten(state))
      ? 'What was not accepted, or is not held as it was sent'
      : 'What was not accepted',
    `${countText(rows, 'row')}, by reason. Rows are named by their number in the source: their values are not on this page.`,
    html`${
        groups.length > 0
          ? folded(ranked, 'reason', table)
          : html`<p class="note">The rows themselves are no longer kept.</p>`
      }${omitted > 0 && html`<p class="note soft">${countText(omitted, 'more reason')} with fewer rows.</p>`}
      <p class="note">
        ${run.purpose === 'undo' ? 'The rows, each with why' : 'The rows with their original columns'}:
        <code>${rejects}</code>
      </p>`,
  )
}

function rankedError(group: ErrorGroup, highest: number): Ranked {
  const { state, code, reason, column, property, rows, example_row: example } = group
  const where = [
    ...(property === null ? [] : [property]),
    ...(column === null ? [] : [`column ${column}`]),
  ]
  return {
    name: reason ?? code ?? state,
    below: [state, ...(reason !== null && code !== null ? [code] : [])].join(', '),
    where: where.join(', ') || 'the row as a whole',
    bar: miniBar([{ series: 'rejected', name: state, value: rows }], rows / highest),
    figures: [formatNumber(rows), formatNumber(example)],
  }
}

/** Runs that took this one's rows again; nothing if there are none. */
export function retriesPart({ run: { run: id }, retries, errors, left }: RunReport): Markup | null {
  if (retries.length === 0 && (left === null || left.rows === left.of)) return null
  return part(
    'retries',
    'Retries',
    `What later runs did about the ${countText(errors.rows, 'row')} that this one left over${
      left === null ? '' : `: ${leftoversText(left, id)}`
    }.`,
    retries.length === 0
      ? html``
      : html`<table class="tabled">
          ${tableHead(['Run', 'State'], ['Rows', 'Mended'])}
          <tbody>
            ${retries.map(
              ({ run, of, state, opened_at: at, rows, mended }) =>
                html`<tr>
                  <th scope="row">
                    ${run}<span class="of"
                      >${of !== id && of !== null && `of run ${of}, `}${timeInUtc(at)}</span
                    >
                  </th>
                  <td>${state.replaceAll('_', ' ')}</td>
                  <td class="n">${rows === null ? '–' : formatNumber(rows)}</td>
                  <td class="n">${mended === null ? '–' : formatNumber(mended)}</td>
                </tr>`,
            )}
          </tbody>
        </table>`,
  )
}
