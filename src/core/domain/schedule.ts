// When a sync starts by itself, as configured: an interval or a cron line. Temporal keeps the time; this file only checks what
// can be written.

/** A sync's schedule with every default filled in. */
export interface ScheduleConfig {
  /** An interval, ms, counted from 1970-01-01T00:00Z; or */
  readonly every_ms?: number
  /** a cron line, read in `time_zone`. */
  readonly cron?: string
  /** IANA name. */
  readonly time_zone: string
  readonly jitter_seconds: number
  readonly catch_up_minutes: number
}

const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}
const everyMinMs = 10_000
const everyMaxMs = 366 * 86_400_000

/** Milliseconds of `15 minutes`, `1 day`, `hour`; undefined if it is no interval, or not from 10 seconds to 366 days. */
export function parseEvery(text: string): number | undefined {
  const match = /^(?:(\d{1,9})\s*)?([a-z]+?)s?$/i.exec(text.trim())
  const unit = match ? UNIT_MS[match[2]!.toLowerCase()] : undefined
  if (!match || unit === undefined) return undefined
  const ms = Number(match[1] ?? 1) * unit
  return ms >= everyMinMs && ms <= everyMaxMs ? ms : undefined
}

/** `every 15 minutes`, `every day`; the inverse of `parseEvery`. */
export function everyText(ms: number): string {
  const [unit, size] = Object.entries(UNIT_MS).findLast(([, each]) => ms % each === 0) ?? [
    'second',
    1_000,
  ]
  const count = ms / size
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`
}

/** `every 15 minutes`, or `cron 0 6 * * 1-5 in Europe/Berlin`. */
export function scheduleText(schedule: Pick<ScheduleConfig, 'every_ms' | 'cron' | 'time_zone'>) {
  const { every_ms: every, cron, time_zone: zone } = schedule
  return every === undefined ? `cron ${cron} in ${zone}` : everyText(every)
}

export const CRON_EXPECTED =
  'a cron line of five fields (minute, hour, day of the month, month, day of the week), such as `0 6 * * 1-5`'

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const FIELDS: readonly { min: number; max: number; names: readonly string[] }[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 7, names: DAYS },
]

export function isCron(text: string): boolean {
  const fields = text.trim().split(/\s+/)
  return fields.length === FIELDS.length && fields.every((field, at) => isField(field, FIELDS[at]!))
}

function isField(field: string, { min, max, names }: (typeof FIELDS)[number]): boolean {
  const valueOf = (word: string): number => {
    const name = names.indexOf(word.toLowerCase())
    if (name >= 0) return name + min
    return /^\d{1,2}$/.test(word) ? Number(word) : Number.NaN
  }
  const isIn = (value: number) => value >= min && value <= max
  return field.split(',').every((part) => {
    const [range = '', step, ...rest] = part.split('/')
    if (rest.length > 0 || (step !== undefined && !/^[1-9]\d?$/.test(step))) return false
    if (range === '*') return true
    const [from = '', to, ...more] = range.split('-')
    if (more.length > 0) return false
    const [first, last] = [valueOf(from), valueOf(to ?? from)]
    return isIn(first) && isIn(last) && first <= last
  })
}
