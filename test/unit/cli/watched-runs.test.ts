// The live runs on a screen of any width, as lines, and as objects.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ControlVerb } from '../../../src/cli/shared/control-keys.ts'
import type { Run } from '../../../src/ledger/ledger.ts'
import {
  watchedLine,
  watchedToJson,
  watchFrame,
  type Frame,
  type WatchedRun,
} from '../../../src/cli/views/watched-runs.ts'

const context = {
  hint: (command: string) => `records-sync ${command}`,
  terminal: { style: (_: string, text: string) => text },
}

const START = Date.parse('2026-11-22T10:00:00Z')

const watched = (
  id: number,
  more: Partial<WatchedRun> = {},
  run: Partial<Run> = {},
): WatchedRun => ({
  run: {
    id,
    sync: 'contacts',
    kind: 'import',
    purpose: 'sync',
    state: 'running',
    reason: null,
    message: null,
    openedAt: new Date(START).toISOString(),
    ...run,
  } as Run,
  progress: {
    phase: 'sending',
    percent: 58,
    counters: null,
    amount: '116,000 of 200,000 rows',
    work: { done: 116_000, total: 200_000 },
    details: ['2,320 requests', '12 rejected'],
  },
  pace: { rate: 980, leftMs: 86_000 },
  quota: 'quota 520 of 600 a minute, 80 by others',
  stillMs: 0,
  ...more,
})

const frame = (more: Partial<Frame> = {}): Frame => ({
  width: 79,
  height: 24,
  nowMs: START + 185_000,
  selected: 12,
  isAsking: false,
  ...more,
})

test('a run has phase, bar, rows, rate, time left, requests, quota, and keys', () => {
  expect(watchFrame([watched(12)], frame(), context)).toEqual([
    '› contacts  run 12  sending 58 %  3 min 05 s',
    '  ██████████████░░░░░░░░░░  116,000 of 200,000 rows  980/s, 1 min 26 s left',
    '  2,320 requests  12 rejected  quota 520 of 600 a minute, 80 by others',
    '',
    'q quit; runs go on  p pause  r resume  c cancel',
  ])
})

test('what a run waits for is said, with the command', () => {
  const lines = (run: Partial<Run>, more: Partial<WatchedRun> = {}) =>
    watchFrame([watched(12, more, run)], frame(), context).join('\n')
  expect(lines({ state: 'paused', message: 'the CRM is being moved' })).toContain(
    'paused: the CRM is being moved; goes on with records-sync resume 12',
  )
  expect(
    lines({ state: 'blocked', reason: 'approval', message: '40 rows wait' }).replaceAll('\n', ''),
  ).toContain('40 rows wait; waits for records-sync approve 12, or reject')
  expect(lines({}, { stillMs: 59_999 })).not.toContain('worker')
  expect(lines({}, { stillMs: 61_000 })).toContain(
    'nothing has changed for 1 min 01 s; is a worker running? Start one with\n  records-sync worker',
  )
  expect(
    lines({}, { stillMs: 61_000, quota: 'waits for the quota until 10:05:00 UTC' }),
  ).not.toContain('worker')
})

test('a cancel is asked, and names the run', () => {
  const lines = watchFrame(
    [watched(12), watched(13)],
    frame({ selected: 13, isAsking: true }),
    context,
  )
  expect(lines.join(' ')).toContain('Cancel run 13 of contacts?')
  expect(lines.join(' ')).not.toContain('p pause')
})

test('what a key asked for is shown until the run does it', () => {
  const lines = (verb: ControlVerb) =>
    watchFrame(
      [watched(12), watched(13)],
      frame({ asked: (run) => (run === 12 ? verb : null) }),
      context,
    ).join('\n')
  expect(lines('pausing')).toContain('› contacts  run 12  pausing  sending 58 %')
  expect(lines('pausing')).toContain(
    '  a pause is asked for; what is in flight is finished first\n',
  )
  expect(lines('pausing')).toContain('  contacts  run 13  sending 58 %')
  expect(lines('cancelling')).toContain('run 12  cancelling  sending 58 %')
  expect(lines('resuming')).toContain('  it is asked to go on\n')
})

test('on a narrow screen every key is offered, in more lines', () => {
  const lines = watchFrame([watched(12), watched(13)], frame({ width: 39 }), context)
  expect(lines.slice(-2)).toEqual(['q quit; runs go on  p pause  r resume', 'c cancel  ↑ ↓ choose'])
})

test('without keys none is offered', () => {
  const lines = watchFrame([watched(12)], frame({ selected: null }), context)
  expect(lines.at(-1)).toBe('Ctrl-C ends watching; runs go on')
  expect(lines[0]).toBe('  contacts  run 12  sending 58 %  3 min 05 s')
})

test('where not all runs fit, the chosen one does, and the others are counted', () => {
  const runs = Array.from({ length: 9 }, (_, index) => watched(index + 1))
  const lines = watchFrame(runs, frame({ selected: 8, height: 14 }), context)
  expect(lines.length).toBeLessThan(14)
  expect(lines.find((line) => line.startsWith('›'))).toContain('run 8')
  expect(lines).toContain('7 more, not shown here')
})

test('no line is wider than the screen, and no number is cut', () => {
  const count = fc.nat({ max: 99_999_999 })
  const words = fc.constantFrom('svc_contact: 9 of 10 rows', 'the key is refused', 'ab')
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          sync: fc.stringMatching(/^[a-z_]{1,30}$/),
          state: fc.constantFrom<Run['state']>('running', 'paused', 'blocked'),
          message: words,
          percent: fc.option(fc.integer({ min: 0, max: 100 })),
          rows: count,
          rate: fc.option(count),
          requests: count,
        }),
        { minLength: 1, maxLength: 4 },
      ),
      fc.integer({ min: 24, max: 120 }),
      fc.integer({ min: 4, max: 40 }),
      (facts, width, height) => {
        const runs = facts.map(({ sync, state, message, percent, rows, rate, requests }, at) =>
          watched(
            at + 1,
            {
              progress: {
                ...watched(1).progress,
                percent,
                amount: `${rows} of ${rows} rows`,
                details: [`${requests} requests`],
              },
              pace: { rate, leftMs: rate },
            },
            { sync, state, message },
          ),
        )
        const numbers = (lines: readonly string[]) => lines.join(' ').match(/\d+/g) ?? []
        const whole = new Set(
          numbers(watchFrame(runs, frame({ selected: 1, width: 1_000, height: 1_000 }), context)),
        )
        const lines = watchFrame(runs, frame({ selected: 1, width, height }), context)
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
        expect(lines.length).toBeLessThanOrEqual(height)
        // How many are hidden is no number of a run.
        const shown = lines.filter((line) => !line.endsWith('not shown here'))
        for (const number of numbers(shown)) expect(whole).toContain(number)
      },
    ),
  )
})

test('elsewhere a run is one line, or one object', () => {
  expect(watchedLine(watched(12), context)).toBe(
    'contacts  run 12  ██████░░░░ sending 58 %  116,000 of 200,000 rows  980/s, 1 min 26 s left  2,320 requests  12 rejected  quota 520 of 600 a minute, 80 by others',
  )
  expect(watchedLine(watched(12, {}, { state: 'blocked', reason: 'service' }), context)).toMatch(
    /^contacts {2}run 12 {2}blocked: service {2}.* {2}blocked; asking again$/,
  )
  expect(watchedToJson(watched(12), START)).toEqual({
    at: '2026-11-22T10:00:00.000Z',
    sync: 'contacts',
    run: 12,
    kind: 'import',
    purpose: 'sync',
    state: 'running',
    reason: null,
    message: null,
    phase: 'sending',
    percent: 58,
    rows_per_second: 980,
    seconds_left: 86,
    quota: 'quota 520 of 600 a minute, 80 by others',
  })
})
