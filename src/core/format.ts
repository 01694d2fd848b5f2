// Numbers and lists of texts in one format for people, everywhere; safe inside workflows.

/** `1,234,567`; at most three digits of a fraction. */
export function formatNumber(value: number): string {
  const [whole = '', fraction] = String(value).split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction.slice(0, 3)}`
}

/** `1 row`, `2,000 rows` */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`

const MIB = 1_024 ** 2

/** `1.5 GB` */
export function bytesText(bytes: number): string {
  const units = ['MB', 'GB', 'TB']
  let value = bytes / MIB
  let at = 0
  for (; value >= 1_024 && at < units.length - 1; at++) value /= 1_024
  return `${formatNumber(value < 10 ? Number(value.toFixed(1)) : Math.round(value))} ${units[at]}`
}

/** The texts that there are, in one line; null if there is none. */
export const joinTexts = (...texts: readonly (string | null | undefined)[]): string | null =>
  texts.filter(Boolean).join('; ') || null

/** The first `max` names, and how many more there are: `a, b and 3 more`. */
export const joinSome = (names: readonly string[], max: number, between = ', '): string =>
  `${names.slice(0, max).join(between)}${names.length > max ? ` and ${names.length - max} more` : ''}`

/** `14:03:02 UTC`, with its date if that is not the date of `nowMs`. */
export function utc(ms: number, nowMs: number = ms): string {
  const [date, time] = new Date(ms).toISOString().slice(0, 19).split('T') as [string, string]
  const today = new Date(nowMs).toISOString().slice(0, 10)
  return date === today ? `${time} UTC` : `${date} ${time} UTC`
}
