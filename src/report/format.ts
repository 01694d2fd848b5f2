// Figures and times as people read them: always UTC, never the machine's locale.

import { countText, formatNumber } from '../core/format.ts'

export { countText, formatNumber }

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 2 })

/** `800`, `12.5k`, `1.2M`: for the axes of charts. */
export const shortNumber = (value: number): string => compact.format(value)

/** `12.3 %`; never 0 if there is some, never 100 if some is missing. */
export function percentText(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %'
  if (part === whole) return '100 %'
  const value = (part / whole) * 100
  if (value < 0.1) return '< 0.1 %'
  if (value > 99.9) return '> 99.9 %'
  return `${value.toFixed(1)} %`
}

/** `2 h 5 min`, `3 min 20 s`, `12 s` */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  if (whole === 0) return 'under 1 s'
  const parts =
    whole < 3_600
      ? [`${Math.floor(whole / 60)} min`, `${whole % 60} s`]
      : [`${formatNumber(Math.floor(whole / 3_600))} h`, `${Math.floor((whole % 3_600) / 60)} min`]
  return parts.filter((part) => !part.startsWith('0 ')).join(' ')
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** `21 Nov 2026, 19:41:02 UTC`; a text that is not a time stays as it is. */
export function dateTimeText(iso: string): string {
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d)/.exec(iso)
  if (!parts) return iso
  const [, year, month, day, time] = parts
  return `${Number(day)} ${months[Number(month) - 1]} ${year}, ${time} UTC`
}

/** The time of day: with seconds, or, over many hours, with the day. */
export function timeText(iso: string, spanSeconds: number): string {
  const parts = /^\d{4}-(\d\d)-(\d\d)T(\d\d:\d\d)(:\d\d)/.exec(iso)
  if (!parts) return iso
  const [, month, day, time, seconds] = parts
  if (spanSeconds < 600) return `${time}${seconds}`
  return spanSeconds < 20 * 3_600 ? time! : `${Number(day)} ${months[Number(month) - 1]} ${time}`
}

export const secondsBetween = (from: string, to: string): number =>
  Math.max(0, (Date.parse(to) - Date.parse(from)) / 1_000)
