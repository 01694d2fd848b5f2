// The charts as SVG: one bar of parts, and columns over time. Widths are percentages and texts are not scaled, so that a chart is
// as legible on a phone as on a desktop screen. Every chart has a title and says in words what it shows.

import { DIFFERENCE_KINDS } from '../core/domain/differences.ts'
import { html, type Markup } from './escape.ts'
import { timeText, formatNumber, percentText, shortNumber } from './format.ts'
import type { Series } from './style.ts'

export interface BarSegment {
  readonly series: Series
  readonly name: string
  readonly value: number
}

/** Series that need a person's attention are hatched, so that their colour is not the only sign. */
const hatched: readonly Series[] = ['rejected', 'lost', ...DIFFERENCE_KINDS]

/** The minimum width of a part, and of the gap between two, in percent of the bar. */
const partMin = 1.2
const gap = 0.3

/** The hatching that all charts of a page use. */
export const definitions = html`<svg class="defs" aria-hidden="true" focusable="false">
  <defs>
    <pattern
      id="hatch"
      width="6"
      height="6"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <path d="M0 0V6" />
    </pattern>
  </defs>
</svg>`

function box(series: Series, place: Markup): Markup {
  const overlay = hatched.includes(series) ? html`<rect class="hatched" ${place} />` : null
  return html`<rect class="c-${series}" ${place} />${overlay}`
}

/** A square of a series, for legends. */
export const swatch = (series: Series): Markup =>
  html`<svg class="swatch" aria-hidden="true" focusable="false">
    ${box(series, html`width="100%" height="100%"`)}
  </svg>`

/** One bar; its parts are in proportion, except those that would be too thin to see. */
export function stackedBar(title: string, segments: readonly BarSegment[]): Markup {
  const said = inWords(segments)
  return html`<svg class="bar" role="img" aria-label="${title}: ${said}">
    <title>${title}</title>
    <desc>${said}</desc>
    ${boxesOf(segments)}
  </svg>`
}

/** A thin bar inside a table whose cells give the same in figures; `share` is how much of the cell it fills, 0 to 1. */
export function miniBar(segments: readonly BarSegment[], share: number): Markup {
  return html`<svg class="mini" aria-hidden="true" focusable="false">
    ${boxesOf(segments, Math.max(0.01, share) * 100)}
  </svg>`
}

function inWords(segments: readonly BarSegment[]): string {
  const sum = segments.reduce((total, { value }) => total + value, 0)
  return segments
    .map(({ name, value }) => `${name} ${formatNumber(value)} (${percentText(value, sum)})`)
    .join(', ')
}

function boxesOf(segments: readonly BarSegment[], width = 100): Markup[] {
  const shown = segments.filter(({ value }) => value > 0)
  const sum = shown.reduce((total, { value }) => total + value, 0)
  const wide = shown.map(({ value }) => Math.max(partMin, (value / sum) * 100))
  const all = wide.reduce((total, each) => total + each, 0)
  const room = (width - gap * (shown.length - 1)) / all
  let at = 0
  return shown.map(({ series }, index) => {
    const part = wide[index]! * room
    const place = html`x="${short(at)}%" y="0" width="${short(part)}%" height="100%"`
    at += part + gap
    return box(series, place)
  })
}

const short = (value: number): number => Number(value.toFixed(3))

export interface SparkColumn {
  readonly values: readonly BarSegment[]
  /** Of a column without values: what it says instead. */
  readonly mark: Series | null
}

const sparkMin = 2.5

/**
 * Small columns without axes, the last of them at the right.
 * @param said what they show, in words
 * @param room columns that there is room for, so that few of them are as wide as many
 */
export function spark(
  title: string,
  said: string,
  shown: readonly SparkColumn[],
  room: number,
): Markup {
  const sums = shown.map(({ values }) => values.reduce((total, { value }) => total + value, 0))
  const highest = Math.max(1, ...sums)
  const step = 100 / Math.max(room, shown.length)
  const first = Math.max(0, room - shown.length)
  const boxes = shown.map(({ values, mark }, index) => {
    const x = short((first + index + (1 - columnWidth) / 2) * step)
    const place = (y: number, height: number) =>
      html`x="${x}%" y="${short(y)}%" width="${short(step * columnWidth)}%"
      height="${short(height)}%"`
    const there = values.filter(({ value }) => value > 0)
    if (there.length === 0) return mark && box(mark, place(100 - 2 * sparkMin, 2 * sparkMin))
    // What is there is seen, however little it is: the rest gives way.
    const rest = 100 - sparkMin * there.length
    let below = 0
    return there.map(({ series, value }) => {
      const height = sparkMin + (value / highest) * rest
      below += height
      return box(series, place(100 - below, height))
    })
  })
  return html`<svg class="spark" role="img" aria-label="${title}: ${said}">
    <title>${title}</title>
    <desc>${said}</desc>
    ${boxes}
  </svg>`
}

export interface ColumnChart {
  readonly title: string
  readonly series: readonly { readonly series: Series; readonly name: string }[]
  /** Values in the order of `series`. */
  readonly points: readonly { readonly at: string; readonly values: readonly number[] }[]
  readonly shareSeconds: number
  /** A line that the columns should stay below. */
  readonly limit: number | null
}

const plotTop = 14
const plotHeight = 140
const plotBottom = plotTop + plotHeight
const columnMin = 1.5
/** Share of the space of a column. */
const columnWidth = 0.8
/** A limit further away would flatten everything else. */
const limitTimesMax = 10

/** Columns over time, stacked, with an axis from 0 and times in UTC; `said`: what the chart shows, in words. */
export function columns(chart: ColumnChart & { readonly said: string }): Markup {
  const { title, said, series, points, shareSeconds, limit } = chart
  const sums = points.map(({ values }) => values.reduce((total, value) => total + value, 0))
  const highest = Math.max(1, ...sums)
  const isLimitShown = limit !== null && limit <= highest * limitTimesMax
  const ticks = ticksOf(isLimitShown ? Math.max(highest, limit) : highest)
  const top = ticks.at(-1)!
  const y = (value: number): number => short(plotBottom - (value / top) * plotHeight)
  const step = 100 / points.length
  const boxes = points.map(({ values }, index) => {
    let below = 0
    return values.map((value, each) => {
      if (value === 0) return null
      const height = Math.max(columnMin, (value / top) * plotHeight)
      below += height
      const x = short((index + (1 - columnWidth) / 2) * step)
      return box(
        series[each]!.series,
        html`x="${x}%" y="${short(plotBottom - below)}" width="${short(step * columnWidth)}%"
        height="${short(height)}"`,
      )
    })
  })
  const limitLine =
    isLimitShown &&
    html`<line class="limit" x1="0" x2="100%" y1="${y(limit)}" y2="${y(limit)}" /><text
        class="limit-name"
        x="100%"
        y="${short(y(limit) - 5)}"
        text-anchor="end"
        >limit ${formatNumber(limit)}</text
      >`
  return html`<div class="axes">
    <svg aria-hidden="true" focusable="false">
      ${ticks.map(
        (tick) =>
          html`<text x="85%" y="${short(y(tick) + 4)}" text-anchor="end"
            >${shortNumber(tick)}</text
          >`,
      )}</svg
    ><svg role="img" aria-label="${title}: ${said}">
      <title>${title}</title>
      <desc>${said}</desc>
      ${ticks.map(
        (tick) =>
          html`<line
            class="${tick === 0 ? 'base' : 'grid'}"
            x1="0"
            x2="100%"
            y1="${y(tick)}"
            y2="${y(tick)}"
          />`,
      )}${boxes}${limitLine}${timesOf(points, shareSeconds)}
    </svg>
  </div>`
}

/** Marks of the axis: 0, and up to four more at round figures; nothing is above the last one. */
export function ticksOf(highest: number): number[] {
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  // Counts have no halves.
  const step = Math.max(
    1,
    [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough)!,
  )
  const whole = Number.isInteger(step) ? step : Math.ceil(step)
  return Array.from({ length: Math.ceil(highest / whole) + 1 }, (_, index) => index * whole)
}

/** The times of the beginning, the middle and the end; more between them if there is room. */
function timesOf(points: ColumnChart['points'], shareSeconds: number): Markup[] {
  const begin = Date.parse(points[0]!.at)
  const seconds = shareSeconds * points.length
  const marks = [
    { share: 0, anchor: 'start', name: 'time' },
    { share: 0.25, anchor: 'middle', name: 'time roomy' },
    { share: 0.5, anchor: 'middle', name: 'time' },
    { share: 0.75, anchor: 'middle', name: 'time roomy' },
    { share: 1, anchor: 'end', name: 'time' },
  ]
  return marks.map(({ share, anchor, name }) => {
    const at = new Date(begin + share * seconds * 1_000).toISOString()
    return html`<text
      class="${name}"
      data-at="${at}"
      x="${share * 100}%"
      y="${plotBottom + 20}"
      text-anchor="${anchor}"
      >${timeText(at, seconds)}</text
    >`
  })
}
