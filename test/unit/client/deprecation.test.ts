// What the headers `Deprecation` and `Sunset` announce, in all the forms that services write.

import { expect, test } from 'vitest'
import { deprecationText, readDeprecation } from '../../../src/client/deprecation.ts'
import { DEFAULT_QUOTA_SETTINGS, OrgQuota } from '../../../src/client/pacer/org-quota.ts'
import { readQuotaView } from '../../../src/client/pacer/view.ts'

const NOW = Date.UTC(2026, 10, 28, 12)
const ms = (iso: string) => Date.parse(iso)

/** The form in each header, and the time that it means; null: announced without a date that can be read. */
const FORMS: readonly [text: string, meant: string | null][] = [
  ['@1688169599', '2023-06-30T23:59:59Z'],
  ['@0', '1970-01-01T00:00:00Z'],
  [' @1688169599 ', '2023-06-30T23:59:59Z'],
  ['@1688169599;link="x"', '2023-06-30T23:59:59Z'],
  ['1688169599', '2023-06-30T23:59:59Z'],
  ['Sun, 30 Jun 2030 23:59:59 GMT', '2030-06-30T23:59:59Z'],
  ['Sun, 30 Jun 2030 23:59:59 UTC', '2030-06-30T23:59:59Z'],
  ['Sun, 30 Jun 2030 23:59:59 +0000', '2030-06-30T23:59:59Z'],
  ['Sunday, 30-Jun-30 23:59:59 GMT', '2030-06-30T23:59:59Z'],
  ['Sun Jun 30 23:59:59 2030', '2030-06-30T23:59:59Z'],
  ['2030-06-30', '2030-06-30T00:00:00Z'],
  ['2030-06-30T23:59:59Z', '2030-06-30T23:59:59Z'],
  ['2030-06-30T23:59:59+02:00', '2030-06-30T21:59:59Z'],
  ['2030-06-30T23:59:59', '2030-06-30T23:59:59Z'],
  ['2030-06-30 23:59', '2030-06-30T00:00:00Z'],
  ['"2030-06-30"', '2030-06-30T00:00:00Z'],
  ['date="Sun, 30 Jun 2030 23:59:59 GMT"', '2030-06-30T23:59:59Z'],
  ['Mon, 01 Jul 2030 00:00:00 GMT, Sun, 30 Jun 2030 23:59:59 GMT', '2030-06-30T23:59:59Z'],
  ['@1893456000, @1688169599', '2023-06-30T23:59:59Z'],
  ['true', null],
  ['?1', null],
  ['1', null],
  ['version="v1"', null],
  ['@-5', null],
  ['@1.5', null],
  ['@', null],
  ['@99999999999999999999', null],
  ['@999999999999', null],
  ['1688169599000', null],
  ['2030-02-30', null],
  ['Sat, 30 Feb 2030 23:59:59 GMT', null],
  ['soon', null],
  ['<script>alert(1)</script>', null],
  ['\u001b[31mred\u001b[0m', null],
  ['{"__proto__":1}', null],
  ['9'.repeat(100_000), null],
  ['Sun, '.repeat(20_000), null],
  ['@'.repeat(50_000), null],
]

test.each(FORMS)('the form %j', (text, meant) => {
  const at = meant === null ? null : ms(meant)
  expect(readDeprecation(text, undefined, NOW)).toEqual({ sinceMs: at, sunsetMs: null })
  expect(readDeprecation(undefined, text, NOW)).toEqual({ sinceMs: null, sunsetMs: at })
  expect(readDeprecation(text, text, NOW)).toEqual({ sinceMs: at, sunsetMs: at })
})

test.each([undefined, '', '  ', 'false', 'False', ' ?0 '])('%j announces nothing', (text) => {
  expect(readDeprecation(text, undefined, NOW)).toBeNull()
  expect(readDeprecation(undefined, text, NOW)).toBeNull()
})

test('the words say since when, until when, and that the day has come; they quote nothing', () => {
  const said = (deprecation?: string, sunset?: string) =>
    deprecationText(readDeprecation(deprecation, sunset, NOW)!, NOW)
  expect(said('@1793491200', 'Thu, 31 Dec 2026 00:00:00 GMT')).toContain(
    'is deprecated since 2026-11-01; from 2026-12-31 on requests may fail',
  )
  expect(said('2027-01-01')).toContain('will be deprecated on 2027-01-01; no day of its end')
  expect(said('<b>', '\u001b[31m')).toBe(said('true'))
  expect(said('true', '2026-11-28')).toContain('2026-11-28, and that day has come')
  expect(said('true', '2026-11-29')).toContain('from 2026-11-29 on')
})

test('the row of an org keeps the newest announcement for a day, and no text of it', () => {
  const user = { id: 'w', name: 'w' }
  const wanted = { interactive: 1, import: 0, mirror: 0, backfill: 0 }
  let nowMs = NOW
  let state: string | null = null
  const answered = (headers: { deprecation?: string; sunset?: string }) => {
    const exchange = { user, everyMs: 0, settings: DEFAULT_QUOTA_SETTINGS }
    const quota = OrgQuota.restore(state, nowMs)
    const [permit] = quota.exchange({ ...exchange, wanted, reports: [] }, nowMs).permits
    nowMs += 100
    const end = { status: 200, limit: '600', remaining: '599', ...headers }
    const report = { id: permit!.id, sentMs: nowMs - 50, endedMs: nowMs, end }
    const none = { ...wanted, interactive: 0 }
    quota.exchange({ ...exchange, wanted: none, reports: [report] }, nowMs)
    state = quota.state(nowMs)
    return readQuotaView('org', state, nowMs).deprecation
  }
  expect(answered({})).toBeNull()
  const sunset = 'Sun, 30 Jun 2030 23:59:59 GMT'
  const meant = { sinceMs: null, sunsetMs: ms('2030-06-30T23:59:59Z') }
  expect(answered({ deprecation: '<b>secret</b>', sunset })).toEqual(meant)
  expect(state).not.toMatch(/secret|Jun/)
  // Other operations announce nothing.
  expect(answered({})).toEqual(meant)
  expect(answered({ sunset: 'soon' })).toEqual({ sinceMs: null, sunsetMs: null })
  nowMs += 86_400_000
  expect(answered({})).toBeNull()
})
