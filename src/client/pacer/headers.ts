// Parses the numbers of specification section 8 strictly, so that no garbage becomes a wait. Promise kept here: whatever the
// text, the result is a wait of at most five minutes, or null for "not a valid number".

/**
 * The longest wait that is accepted: after a longer one the service is asked again. A quota per minute never needs more, and a
 * wrong text, such as milliseconds, must not close an org for a day.
 */
export const RETRY_AFTER_MAX_MS = 5 * 60 * 1_000

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const time = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)`
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const month = `(?<month>${months.join('|')})`
/** The three forms of RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime. */
const dateForms = [
  new RegExp(String.raw`^${day}, (?<date>\d\d) ${month} (?<year>\d{4}) ${time} GMT$`),
  new RegExp(String.raw`^${day}[a-z]{3,6}, (?<date>\d\d)-${month}-(?<year>\d\d) ${time} GMT$`),
  new RegExp(String.raw`^${day} ${month} (?<date>[ \d]\d) ${time} (?<year>\d{4})$`),
]

/**
 * Milliseconds to wait, 0 to `maxMs`, from the text of `Retry-After`: whole seconds or an HTTP-date (a past one is 0). A date is
 * on the service's clock: it counts from the `Date` of the same answer, and from our clock only without one. Null if it is
 * neither: `-5`, `1.5`, `120junk`, an impossible date, or absent.
 */
export function parseRetryAfter(
  value: string | null | undefined,
  nowMs: number,
  date?: string | null,
  maxMs = RETRY_AFTER_MAX_MS,
): number | null {
  const text = value?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, maxMs)
  const atMs = parseHttpDate(text, nowMs)
  if (atMs === null) return null
  const sinceMs = parseHttpDate(date?.trim() ?? '', nowMs) ?? nowMs
  return Math.min(Math.max(0, atMs - sinceMs), maxMs)
}

/** A count from the text of `RateLimit-Limit` or `RateLimit-Remaining`; null if it is not a whole number. */
export function parseLimit(value: string | null | undefined): number | null {
  const text = value?.trim() ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** The fields of the IETF's draft, if a service sends them: `RateLimit: "default";r=50;t=30`. */
export interface DraftFields {
  /** `r`: requests left. */
  readonly remaining: number | null
  /** `t`: seconds until the window ends. */
  readonly resetIn: number | null
  /** `q` of a policy whose window `w` is a minute, or is not given. */
  readonly limit: number | null
}

const MINUTE_S = 60
const fieldCharsMax = 1_000

/** Reads `RateLimit` and `RateLimit-Policy`; of several policies only one for a minute gives our limit. */
export function parseDraftFields(
  rateLimit: string | null | undefined,
  policy: string | null | undefined,
): DraftFields {
  const limits = items(policy).filter((item) => (item.get('w') ?? MINUTE_S) === MINUTE_S)
  const told = items(rateLimit)
  // If there are several quotas, it is unknown which one is ours.
  const only = told.length === 1 ? told[0]! : null
  return {
    remaining: only?.get('r') ?? null,
    resetIn: only?.get('t') ?? null,
    limit: limits.length === 1 ? (limits[0]!.get('q') ?? null) : null,
  }
}

/** The whole-number parameters of each item of a structured list. */
function items(field: string | null | undefined): ReadonlyMap<string, number>[] {
  const text = field?.trim() ?? ''
  if (text === '' || text.length > fieldCharsMax) return []
  return text.split(',').map((item) => {
    const parameters = new Map<string, number>()
    for (const [, name, value] of item.matchAll(/;\s*([a-z]+)=(\d{1,15})(?=\s*(?:;|$))/g))
      parameters.set(name!, Number(value))
    return parameters
  })
}

export function parseHttpDate(text: string, nowMs: number): number | null {
  const parts = dateForms.map((form) => form.exec(text)?.groups).find((groups) => groups)
  if (!parts) return null
  const date = Number(parts['date'])
  const [hour, minute, second] = [parts['hour'], parts['minute'], parts['second']].map(Number)
  if (hour! > 23 || minute! > 59 || second! > 60) return null
  let year = Number(parts['year'])
  // RFC 9110: a two-digit year more than 50 years ahead belongs to the previous century.
  if (parts['year']!.length === 2) {
    year += 2_000
    if (year > new Date(nowMs).getUTCFullYear() + 50) year -= 100
  }
  const dayMs = Date.UTC(year, months.indexOf(parts['month']!), date)
  // 30 February would silently become 1 March.
  if (new Date(dayMs).getUTCDate() !== date) return null
  return dayMs + ((hour! * 60 + minute!) * 60 + second!) * 1_000
}
