// Requests and outcomes over time.

import { TIMED_STATES } from '../../core/domain/books.ts'
import { columns, swatch, type BarSegment } from '../charts.ts'
import { html, type Markup } from '../escape.ts'
import { timeText, countText, formatNumber, durationText, dateTimeText } from '../format.ts'
import type { WorkReport } from '../run-report.ts'
import { part } from './part.ts'

/** Requests and outcomes over the time of the run. */
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

const outcomeSeries = TIMED_STATES.map((state) => ({ series: state, name: state }))

function outcomesChart({
  share_seconds: share,
  points,
}: NonNullable<WorkReport['outcomes']>): Markup {
  const values = points.map((point) => ({
    at: point.at,
    values: outcomeSeries.map(({ series }) => point[series]),
  }))
  return chart({
    title: `Rows settled, in shares of ${shareWords(share)}`,
    series: outcomeSeries.filter((_, index) => values.some((point) => point.values[index]! > 0)),
    all: outcomeSeries,
    points: values,
    share,
    limit: null,
  })
}

function rateChart(
  { share_seconds: share, points }: NonNullable<WorkReport['rate']>,
  limit: number | null,
): Markup {
  const series = [
    { series: 'request', name: 'answered with success' },
    { series: 'failed', name: 'refused, failed or not answered' },
  ] as const
  const values = points.map((point) => ({
    at: point.at,
    values: [Math.max(0, point.per_minute - point.failed_per_minute), point.failed_per_minute],
  }))
  return chart({
    title: `Requests a minute, in shares of ${shareWords(share)}`,
    series: series.filter((_, index) => values.some((point) => point.values[index]! > 0)),
    all: series,
    points: values,
    share,
    limit,
  })
}

const shareWords = (seconds: number): string =>
  seconds < 10 ? `${Number(seconds.toFixed(1))} s` : durationText(seconds)

interface Chart {
  readonly title: string
  /** The series that occur. */
  readonly series: readonly { readonly series: BarSegment['series']; readonly name: string }[]
  readonly all: readonly { readonly series: BarSegment['series']; readonly name: string }[]
  readonly points: readonly { readonly at: string; readonly values: readonly number[] }[]
  readonly share: number
  readonly limit: number | null
}

function chart({ title, series, all, points, share, limit }: Chart): Markup {
  const highest = Math.max(
    ...points.map(({ values }) => values.reduce((sum, value) => sum + value, 0)),
  )
  const seconds = share * points.length
  const said = `${points.length} shares from ${dateTimeText(points[0]!.at)} on; at most ${formatNumber(highest)} in one.`
  const occurring = all.flatMap((each, index) => (series.includes(each) ? [index] : []))
  return html`<figure class="chart">
    <figcaption><h3>${title}</h3></figcaption>
    <ul class="legend">
      ${series.map((each) => html`<li>${swatch(each.series)}${each.name}</li>`)}
      <li class="soft">times in UTC</li>
    </ul>
    ${columns({ title, said, series: all, points, shareSeconds: share, limit })}
    <details class="same">
      <summary>The same in figures</summary>
      <table class="tabled">
        <caption>
          ${title}
        </caption>
        <thead>
          <tr>
            <th scope="col">From, UTC</th>
            ${occurring.map((index) => html`<th scope="col" class="n">${all[index]!.name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${points.map(
            ({ at, values }) =>
              html`<tr>
                <th scope="row">${timeText(at, seconds)}</th>
                ${occurring.map((index) => html`<td class="n">${formatNumber(values[index]!)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </figure>`
}
