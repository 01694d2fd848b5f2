// How a quota looks on the screen, from rows that the real OrgQuota made against the service's real limiter.

import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readQuotaView, type QuotaView } from '../../../src/client/pacer/view.ts'
import { printQuota } from '../../../src/cli/views/quota.ts'
import type { Terminal } from '../../../src/cli/shared/terminal.ts'
import { quotaRow, type Work } from './quota-row.ts'

const org = 'https://api.example.com org 4711'
const names = { a: 'worker 4711 on host-a', b: 'worker 4712 on host-b' }

const works = {
  fixed: {
    limit: 600,
    seconds: 150,
    others: 1,
    settings: { reserve: 0.2 },
    users: { [names.a]: { import: 5 }, [names.b]: { import: 3, backfill: 2 } },
  },
  rolling: {
    model: 'sliding',
    limit: 600,
    seconds: 150,
    others: 3,
    users: { [names.a]: { mirror: 5 } },
  },
  learning: { limit: 6_000, seconds: 3, users: { [names.a]: { import: 50, interactive: 1 } } },
  unlimited: { limit: null, seconds: 5, users: { [names.a]: { import: 5 } } },
  closed: {
    limit: 600,
    seconds: 48,
    users: { [names.a]: { import: 5 } },
    last: { status: 503, retryAfter: '90' },
  },
  refused: {
    limit: 600,
    seconds: 48,
    users: { [names.a]: { import: 5 } },
    last: { status: 429, limit: '600', remaining: '0', retryAfter: '3' },
  },
  empty: { limit: 600, seconds: 0, users: { [names.a]: { import: 5 } } },
} as const satisfies Record<string, Work>

function seen(work: Work, laterMs = 0): { view: QuotaView; nowMs: number } {
  const { state, nowMs } = quotaRow(work)
  return { view: readQuotaView(org, state, nowMs + laterMs), nowMs: nowMs + laterMs }
}

function printed({ view, nowMs }: { view: QuotaView; nowMs: number }, width = 72): string[] {
  const lines: string[] = []
  const terminal: Terminal = {
    out: (line = '') => void lines.push(...line.split('\n')),
    err: () => {},
    live: () => {},
    endLive: () => {},
    style: (_, text) => text,
  }
  printQuota(terminal, view, { nowMs, width })
  return lines
}

const lineOf = (lines: readonly string[], start: string) =>
  lines.find((line) => line.trimStart().startsWith(start))

test('the bar has the last minute in proportion: ours, others, free, kept', () => {
  const fixed = seen(works.fixed)
  const { ours, others } = fixed.view.lastMinute
  expect(ours).toBeGreaterThan(300)
  expect(others).toBeGreaterThan(40)
  const lines = printed(fixed)
  expect(lines[0]).toBe(org)
  const used = Math.round(((ours + others) / 600) * 100)
  expect(lines[1]).toBe(`  in use: ${used} % of the limit in the last minute`)
  const bar = lines[2]!.trim()
  expect(bar).toMatch(/^█+▒+░*·+$/)
  expect(bar).toHaveLength(70)
  const cells = (sign: string) => bar.split(sign).length - 1
  expect(Math.abs(cells('█') - (ours * 70) / 600)).toBeLessThan(1)
  expect(Math.abs(cells('▒') - (others * 70) / 600)).toBeLessThan(1)
  const unused = 600 - ours - others
  const kept = Math.min(unused, 120 - others)
  expect(Math.abs(cells('·') - (kept * 70) / 600)).toBeLessThan(1)
  expect(lines[3]).toBe(
    `  █ ${ours} ours   ▒ ${others} others, estimated   ░ ${unused - kept} free   · ${kept} kept for others`,
  )
})

test('more than the limit, in the minute around a reset, still fits into the bar', () => {
  const { view, nowMs } = seen(works.fixed)
  const lines = printed({ view: { ...view, lastMinute: { ours: 900, others: 300 } }, nowMs })
  expect(lines[1]).toContain('in use: 200 %')
  expect(lines[2]!.trim()).toBe('█'.repeat(53) + '▒'.repeat(17))
  expect(lines[3]).toBe('  █ 900 ours   ▒ 300 others, estimated   ░ 0 free')
})

test('each kind of window in plain words', () => {
  const windowOf = (given: { view: QuotaView; nowMs: number }) => {
    const lines = printed(given, 100)
    return lineOf(lines, 'window')?.replace(/^ *window */, '')
  }
  const fixed = seen(works.fixed)
  expect(fixed.view.regime).toBe('window')
  expect(windowOf(fixed)).toMatch(
    /^fixed window, next reset (between 14:02:59 and 14:03:00|at 14:03:00) UTC, in 1\d s$/,
  )
  const rolling = seen(works.rolling)
  expect(rolling.view.regime).toBe('rolling')
  expect(windowOf(rolling)).toBe('rolling 60 s: every request counts for a minute')
  const learning = seen(works.learning)
  expect(learning.view.regime).toBe('learning')
  expect(windowOf(learning)).toMatch(/^still learning its kind/)
  const bucket = { ...rolling, view: { ...rolling.view, regime: 'bucket' as const } }
  expect(windowOf(bucket)).toBe('bucket: it refills evenly, 10 requests a second')
  expect(windowOf(seen(works.unlimited))).toBeUndefined()
})

test('numbers that are not believed, and until when', () => {
  const { view, nowMs } = seen(works.rolling)
  const remainingIgnoredUntilMs = nowMs + 3_600_000
  const lines = printed({ view: { ...view, remaining: null, remainingIgnoredUntilMs }, nowMs }, 200)
  expect(lineOf(lines, 'remaining')).toMatch(
    /^ *remaining +not believed until 15:02:42 UTC, or until it moves: it did not change with our requests/,
  )
  expect(lineOf(printed({ view, nowMs }, 200), 'remaining')).not.toContain('not believed')
})

test('who used what and who waits, by process and priority', () => {
  const { view, nowMs } = seen(works.fixed)
  const lines = printed({ view, nowMs }).map((line) => line.trim().replaceAll(/ {2,}/g, '  '))
  const from = lines.indexOf('who  for  last minute  waiting') + 2
  const rows = view.users.flatMap((user) =>
    (['import', 'backfill'] as const)
      .filter((priority) => user.lastMinute[priority] + user.waiting[priority] > 0)
      .map((priority, index) =>
        [
          ...(index === 0 ? [user.name] : []),
          priority,
          user.lastMinute[priority],
          user.waiting[priority],
        ].join('  '),
      ),
  )
  expect(rows).toHaveLength(3)
  expect(lines.slice(from, from + 3)).toEqual(rows)
  const expected = view.available!
  expect(lines).toContain(
    `import  ${expected.import}  ${(expected.import * 50).toLocaleString('en-US')}`,
  )
})

test('a process that is gone, one that is idle, and more than fit', () => {
  expect(lineOf(printed(seen(works.rolling)), names.a)).toMatch(/ mirror +\d+ +5$/)
  // It does not wait any more.
  expect(lineOf(printed(seen(works.rolling, 30_000)), names.a)).toMatch(/ mirror +\d+ +0$/)
  const quiet = printed(seen(works.rolling, 200_000))
  expect(quiet[1]).toBe('  quiet: no request for 3 min 20 s')
  expect(lineOf(quiet, 'remaining')).toMatch(/\d when last asked$/)
  const idle = {
    limit: 600,
    seconds: 20,
    users: { [names.a]: { import: 1 }, [names.b]: {}, c: {} },
  }
  expect(printed(seen(idle)).map((line) => line.trim())).toContain('not shown: 2 idle')
  const many = Object.fromEntries(
    Array.from({ length: 25 }, (_, index) => [`worker ${index}`, { import: 2 }]),
  )
  const crowd = printed(seen({ limit: 6_000, seconds: 20, users: many }))
  expect(crowd.filter((line) => line.startsWith('  worker'))).toHaveLength(20)
  expect(crowd).toContain('  not shown: 5 more at work')
})

test('what is wrong is said first', () => {
  const closed = printed(seen(works.closed))
  expect(closed[1]).toBe('  closed for 1 min 30 s: the service asked to wait')
  expect(lineOf(closed, 'closed  ')).toBe('  closed     until 14:02:30 UTC')
  expect(lineOf(closed, 'refused')).toMatch(/0 with 429, 1 with 503 \(\d\.\d per 1,000\)$/)
  const refused = seen(works.refused)
  const { requests } = refused.view.totals
  expect(lineOf(printed(refused), 'refused')).toBe(
    `  refused    1 with 429 (${(1_000 / requests).toFixed(1)} per 1,000), 0 with 503`,
  )
  const totals = { ...refused.view.totals, requests: 1_000_000 }
  expect(lineOf(printed({ ...refused, view: { ...refused.view, totals } }), 'refused')).toContain(
    '1 with 429 (under 0.1 per 1,000)',
  )
})

test('before the first answer, and without a limit', () => {
  const empty = printed(seen(works.empty))
  expect(empty[1]).toBe('  in use; the limit is not known yet')
  expect(lineOf(empty, 'limit')).toBe('  limit      not known before the first answer')
  const unlimited = printed(seen(works.unlimited))
  expect(unlimited[1]).toBe('  in use, without a limit')
  expect(unlimited.join()).not.toMatch(/[░·]|can expect/)
})

test('no line is longer than the screen, and no name steers the terminal', () => {
  const all = Object.values(works).flatMap((work) => [seen(work), seen(work, 30_000)])
  const name = fc.string({ unit: 'binary', maxLength: 80 })
  fc.assert(
    fc.property(
      fc.integer({ min: 48, max: 140 }),
      fc.constantFrom(...all),
      name,
      (width, given, called) => {
        const users = given.view.users.map((user) => ({ ...user, name: called }))
        for (const line of printed({ ...given, view: { ...given.view, users } }, width)) {
          expect(line.length, line).toBeLessThanOrEqual(width)
          // oxlint-disable-next-line no-control-regex -- control characters are what must not come
          expect(line).not.toMatch(/[\u0000-\u001F\u007F-\u009F]/)
        }
      },
    ),
  )
})

test('docs/pacing.md shows what is printed', () => {
  const page = readFileSync(new URL('../../../docs/pacing.md', import.meta.url), 'utf8')
  const shown = /```text\n(https[\s\S]*?)\n```/.exec(page)![1]!
  // The numbers may be others.
  const form = (lines: readonly string[]) =>
    lines.map((line) =>
      line
        .replaceAll(/[█▒░·─]{2,}/g, '=')
        .replaceAll(/between .* and|at /g, 'at ')
        .replaceAll(/[\d,:]*\d/g, '#')
        .replaceAll(/ +/g, ' '),
    )
  const flat = (lines: readonly string[]) => lines.join('\n').replaceAll(/,?\n +(in|appl)/g, ', $1')
  expect(flat(form(shown.split('\n')))).toBe(flat(form(printed(seen(works.fixed)))))
})
