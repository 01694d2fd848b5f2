// Requests and outcomes over the time of the run.

import { TIMED_OUTCOMES } from '../../core/domain/outcomes.ts'
import { columns, swatch, type ColumnChart } from '../charts.ts'
import { html, type Markup } from '../escape.ts'
import { timeText, countText, formatNumber, durationText, dateTimeText } from '../format.ts'
import type { WorkReport } from '../run-report.ts'
import { part, tableHead } from './part.ts'

export function workPart(work: WorkReport, seconds: number, isImport: boolean): Markup {
  const { requests, limit_per_minute: limit, outcomes, rate } = work
  const average =
    seconds >= 60 ? `, ${formatNumber(Math.round((requests * 60) / seconds))} a minute` : ''
  const allowed = limit === null ? '' : ` The service allows ${formatNumber(limit)} a minute.`
  return part(
    'work',
    outcomes || rate ? 'Over time' : 'Requests',
    `${countText(requests, isImport ? 'writing request' : 'request')} in ${durationText(seconds)}${average}.${allowed}${isImport ? ' Reads are not counted.' : ''}`,
    html`${outcomes && outcomesChart(outcomes)}${rate && rateChart(rate, limit)}`,
  )
}

function outcomesChart({ share_seconds, points }: NonNullable<WorkReport['outcomes']>): Markup {
  return chart({
    title: `Rows settled, in shares of ${shareWords(share_seconds)}`,
    series: TIMED_OUTCOMES.map((outcome) => ({ series: outcome, name: outcome })),
    points: points.map((point) => ({
      at: point.at,
      values: TIMED_OUTCOMES.map((outcome) => point[outcome]),
    })),
    shareSeconds: share_seconds,
    limit: null,
  })
}

function rateChart(
  { share_seconds, points }: NonNullable<WorkReport['rate']>,
  limit: number | null,
): Markup {
  return chart({
    title: `Requests a minute, in shares of ${shareWords(share_seconds)}`,
    series: [
      { series: 'request', name: 'answered with success' },
      { series: 'failed', name: 'refused, failed or not answered' },
    ],
    points: points.map(({ at, per_minute: all, failed_per_minute: failed }) => ({
      at,
      values: [Math.max(0, all - failed), failed],
    })),
    shareSeconds: share_seconds,
    limit,
  })
}

const shareWords = (seconds: number): string =>
  seconds < 10 ? `${Number(seconds.toFixed(1))} s` : durationText(seconds)

function chart(data: ColumnChart): Markup {
  const { title, series, points, shareSeconds } = data
  const highest = Math.max(
    ...points.map(({ values }) => values.reduce((sum, value) => sum + value, 0)),
  )
  const said = `${points.length} shares from ${dateTimeText(points[0]!.at)} on; at most ${formatNumber(highest)} in one.`
  const occurring = series
    .map((each, index) => ({ ...each, index }))
    .filter(({ index }) => points.some(({ values }) => values[index]! > 0))
  return html`<figure class="chart">
    <figcaption><h3>${title}</h3></figcaption>
    <ul class="legend">
      ${occurring.map((each) => html`<li>${swatch(each.series)}${each.name}</li>`)}
      <li class="soft">times in UTC</li>
    </ul>
    ${columns({ ...data, said })}
    <details class="same">
      <summary>The same in figures</summary>
      <table class="tabled">
        <caption>
          ${title}
        </caption>
        ${tableHead(
          ['From, UTC'],
          occurring.map(({ name }) => name),
        )}
        <tbody>
          ${points.map(
            ({ at, values }) =>
              html`<tr>
                <th scope="row">${timeText(at, shareSeconds * points.length)}</th>
                ${occurring.map(({ index }) => html`<td class="n">${formatNumber(values[index]!)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </figure>`
}
