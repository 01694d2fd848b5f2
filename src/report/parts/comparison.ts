// What a reconciliation found: records by kind, then fields with the side that changed them.

import {
  CHANGED_BY,
  changedByText,
  DIFFERENCE_KINDS,
  differenceMeaning,
} from '../../core/domain/differences.ts'
import { keptDifferText } from '../../core/domain/spared.ts'
import { miniBar, stackedBar, swatch, type BarSegment } from '../charts.ts'
import { html, type Markup } from '../escape.ts'
import { countText, formatNumber } from '../format.ts'
import type { ReportComparison, FieldDifferences, RunFacts } from '../run-report.ts'
import { folded, part, rankedTable, tableHead, timeInUtc, type Ranked } from './part.ts'

const sides = CHANGED_BY.map((whose) => ({
  whose,
  series: `by-${whose}` as const,
  name: changedByText(whose),
}))

export function comparisonPart(comparison: ReportComparison, kind: RunFacts['kind']): Markup {
  const { found, left, equal, kept, repair, fields, fields_omitted: omitted } = comparison
  const kinds = DIFFERENCE_KINDS.filter((each) => found[each] > 0)
  const segments: BarSegment[] = [
    { series: 'equal', name: 'equal', value: equal ?? 0 },
    ...kinds.map((each) => ({ series: each, name: each, value: found[each] })),
  ]
  const sum = segments.reduce((total, { value }) => total + value, 0)
  const row = (name: BarSegment['series'], meaning: string, records: number, mended: string) =>
    html`<tr>
      <th scope="row">${swatch(name)}${name} <span class="mean">${meaning}</span></th>
      <td class="n">${formatNumber(records)}</td>
      ${repair && html`<td class="n">${mended}</td>`}
    </tr>`
  const what =
    kind === 'import' ? 'The source against the service' : 'The service against the warehouse'
  return part(
    'comparison',
    'What was compared',
    `${what}, ${comparison.whole ? 'all of it' : 'a part of it'}.`,
    html`${sum > 0 && stackedBar('Records by how the two sides compare', segments)}
      <table>
        ${tableHead(['Records'], repair ? ['Found', 'Mended'] : ['Found'])}
        <tbody>
          ${equal !== null && row('equal', 'the same on both sides', equal, '')}${kinds.map(
            (each) =>
              row(
                each,
                differenceMeaning(each, kind),
                found[each],
                formatNumber(found[each] - left[each]),
              ),
          )}
        </tbody>
      </table>
      ${kinds.length === 0 && !kept && html`<p class="balance yes">Nothing differs.</p>`}
      ${kept && html`<p class="note">${keptDifferText(kept)}.</p>`}
      ${comparison.verified_through && html`<p class="note">Known to be equal as of ${timeInUtc(comparison.verified_through)}.</p>`}
      ${fields.length > 0 && fieldsOf(fields, kind)}
      ${omitted > 0 && html`<p class="note soft">${countText(omitted, 'more field')} with fewer differences.</p>`}`,
  )
}

function fieldsOf(fields: readonly FieldDifferences[], kind: RunFacts['kind']): Markup {
  const highest = Math.max(...fields.map(({ differences }) => differences))
  const isOneStream = new Set(fields.map(({ stream }) => stream)).size === 1
  const shown = sides.filter(({ whose }) =>
    fields.some(({ field, whose: by }) => field !== null && by[whose] > 0),
  )
  const heads = ['Field', 'Changed by', 'Found', ...(kind === 'import' ? ['First row'] : [])]
  const ranked = fields.map((field) => {
    const row = rankedField(field, highest, isOneStream)
    return kind === 'import' ? row : { ...row, figures: row.figures.slice(0, 1) }
  })
  const table = (rows: readonly Ranked[], caption: string | null) =>
    rankedTable(heads, rows, caption)
  return html`<div class="chart">
    <h3>Differences by field</h3>
    <p class="lead small">By the side that changed the value last, as far as it is known.</p>
    <ul class="legend">
      ${shown.map(({ series, name }) => html`<li>${swatch(series)}${name}</li>`)}
    </ul>
    ${folded(ranked, 'field', table)}
  </div>`
}

function rankedField(
  { stream, field, whose, kinds, differences, example_row: example }: FieldDifferences,
  highest: number,
  isOneStream: boolean,
): Ranked {
  const occurring = DIFFERENCE_KINDS.filter((kind) => kinds[kind] > 0)
  const segments: BarSegment[] =
    field === null
      ? occurring.map((kind) => ({ series: kind, name: kind, value: kinds[kind] }))
      : sides
          .map(({ whose: side, series, name }) => ({ series, name, value: whose[side] }))
          .filter(({ value }) => value > 0)
  return {
    name: field ?? 'whole records',
    below: [...(isOneStream ? [] : [stream]), ...(field === null ? [] : occurring)].join(', '),
    where: segments.map(({ name, value }) => `${name} ${formatNumber(value)}`).join(', '),
    bar: miniBar(segments, differences / highest),
    figures: [formatNumber(differences), example === null ? '–' : formatNumber(example)],
  }
}
