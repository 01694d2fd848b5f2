// Instants in their one form: UTC, with as many digits of a second as count, at most six.

const INSTANT =
  /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,12}))?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * `2026-01-31T08:15:00.5Z`, or null where `value` is no RFC 3339 time with an offset, of the years 1 to 9999. Digits beyond
 * the sixth are cut off; `exact` refuses them, unless they are zero.
 */
export function instantOf(value: unknown, exact = false): string | null {
  if (typeof value !== 'string') return null
  const match = INSTANT.exec(value)
  if (!match) return null
  const [, year, month, day, hour, minute, second, digits = '', offset] = match
  if (exact && !/^0*$/.test(digits.slice(6))) return null
  const time = `${hour}:${minute}:${second}`
  const ms = Date.parse(`${year}-${month}-${day}T${time}${offset!.toUpperCase()}`)
  if (Number.isNaN(ms) || !isDay(Number(year), Number(month), Number(day))) return null
  const utc = new Date(ms).toISOString()
  // An offset may lead out of the years 1 to 9999.
  if (utc.length !== 24 || utc < '0001') return null
  const fraction = digits.slice(0, 6).replace(/0+$/, '')
  return `${utc.slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}Z`
}

/** Whether the Gregorian calendar has this day. */
export function isDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  if (month !== 2) return day <= ([4, 6, 9, 11].includes(month) ? 30 : 31)
  return day <= ((year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28)
}
