// How far a live run is: what the script replaces as it changes.

import { stackedBar, swatch } from '../../report/charts.ts'
import { html, type Markup } from '../../report/escape.ts'
import { formatNumber } from '../../report/format.ts'
import { TEXT } from '../texts.ts'
import type { LiveView } from '../views/shapes.ts'

/** Where the page of the run says how far its present step is. */
export const stepId = (run: number, { phase }: Pick<LiveView, 'phase'>): string =>
  `run-step-${run}-${phase.replaceAll(' ', '-')}`

/** In a line or two, for the overview. */
export function liveLine(live: LiveView): Markup {
  const { phase, percent, amount, waits } = live
  const share = percent ?? 0
  const words = percent === null ? phase : `${phase} ${percent} %`
  return html`<svg class="progress" role="img" aria-label="${words}">
      <rect class="c-planned" width="100%" height="100%" />
      <rect class="c-sent" width="${share}%" height="100%" />
    </svg>
    <p class="small">
      <b>${words}</b> ${[amount, ...paceTexts(live)].join(', ')}
      ${waits !== null && html`<span class="warn">${waits}</span>`}
    </p>`
}

const paceTexts = ({ per_second: rate, seconds_left: left }: LiveView): string[] => [
  ...(rate === null ? [] : [TEXT.rate(rate)]),
  ...(left === null ? [] : [TEXT.left(left)]),
]

/** With its books as they grow, for the page of the run. */
export function liveBlock(live: LiveView): Markup {
  const { parts, details } = live
  return html`${liveLine(live)}
  ${details.length > 0 && html`<p class="soft small">${details.join(', ')}</p>`}
  ${parts !== null && partsBar(parts)}`
}

function partsBar(parts: NonNullable<LiveView['parts']>): Markup {
  const segments = (['created', 'updated', 'skipped', 'rejected', 'pending'] as const).map(
    (name) => ({ series: name, name, value: parts[name] }),
  )
  return html`${stackedBar(TEXT.soFar, segments)}
    <ul class="legend">
      ${segments.map(
        ({ series, name, value }) =>
          value > 0 && html`<li>${swatch(series)}${name} <b>${formatNumber(value)}</b></li>`,
      )}
    </ul>`
}
