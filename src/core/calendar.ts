// Days of the calendar.

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True for a day of the proleptic Gregorian calendar, years 1 to 9999. */
export function isCalendarDay(year: number, month: number, day: number): boolean {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1) return false
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return day <= DAYS[month - 1]! + (leap && month === 2 ? 1 : 0)
}

const ISO_DAY = /^\d{4}-\d{2}-\d{2}$/

/** Whether a text is a day as `2026-01-31`. */
export const isIsoDay = (text: string): boolean =>
  ISO_DAY.test(text) &&
  isCalendarDay(Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8)))
