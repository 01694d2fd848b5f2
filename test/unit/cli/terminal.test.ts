// What a terminal of 80 columns shows.

import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTerminal, formatNumber, table } from '../../../src/cli/shared/terminal.ts'

test('a table that is too wide breaks its texts, and no number', () => {
  const rows = [
    [1, 'svc_contact', 'a message of many words, which is longer than what is left for it here'],
    [12_345, 'svc_company_with_a_name_of_its_own', null],
  ] as const
  const wide = table(['run', 'stream', 'message'], rows, Infinity).split('\n')
  expect(wide).toHaveLength(4)
  const narrow = table(['run', 'stream', 'message'], rows, 60).split('\n')
  for (const line of narrow) expect(line.length).toBeLessThanOrEqual(60)
  expect(narrow.join('\n')).toContain('12,345')
  const words = (lines: readonly string[]) =>
    lines
      .slice(2)
      .join(' ')
      .replaceAll(/[\s–]+/g, '')
  expect([...words(narrow)].toSorted()).toEqual([...words(wide)].toSorted())
  // Numbers are not cut, even where nothing fits.
  expect(table(['n'], [[1_234_567]], 3)).toContain('1,234,567')
})

test('columns without anything go first', () => {
  const rows = [['contacts', 'running', null, 12_345]] as const
  expect(table(['sync', 'state', 'verified through', 'rows'], rows, 30).split('\n')).toEqual([
    'sync      state      rows',
    '────────  ───────  ──────',
    'contacts  running  12,345',
  ])
})

test('a number and its percent sign stay together', () => {
  const rows = [['contacts', 'running, sending 8 %', 12_345]] as const
  expect(table(['sync', 'state', 'rows'], rows, 36).split('\n').slice(2)).toEqual([
    'contacts  running, sending    12,345',
    '          8 %',
  ])
})

test('a table that cannot be made narrow enough is a block for each row', () => {
  const header = ['table', 'state', 'service counts', '', 'rows', 'note']
  const rows = [
    ['crm.svc_contact', 'complete', 2_345, '=', 2_345, null],
    ['crm.svc_deal', 'failed', null, '', 12, 'it is held by another process'],
  ]
  expect(table(header, rows, 40).split('\n')).toEqual([
    'crm.svc_contact',
    '  state complete  service counts 2,345',
    '  =  rows 2,345',
    'crm.svc_deal',
    '  state failed  rows 12',
    '  note it is held by another process',
  ])
})

test('no table is wider than the screen, and no number and no word is broken', () => {
  const word = fc.stringMatching(/^[a-z_]{1,18}$/)
  const cell = fc.oneof(
    fc.nat(),
    fc.constant(null),
    fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' ')),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 9 }).chain((columns) =>
        fc.record({
          header: fc.array(word, { minLength: columns, maxLength: columns }),
          rows: fc.array(fc.array(cell, { minLength: columns, maxLength: columns }), {
            minLength: 1,
            maxLength: 4,
          }),
        }),
      ),
      fc.integer({ min: 40, max: 120 }),
      ({ header, rows }, width) => {
        const lines = table(header, rows, width).split('\n')
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
        const words = new Set(lines.join(' ').split(/\s+/))
        const given = rows.flat().flatMap((each) => (each === null ? [] : each))
        for (const one of given.flatMap((each) =>
          typeof each === 'number' ? formatNumber(each) : each.split(' '),
        ))
          expect(words).toContain(one)
      },
    ),
  )
})

test('where there is no terminal, a line that stays the same is written once', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let written = ''
  const stream = { isTTY: false, write: (text: string) => ((written += text), true) } as never
  const terminal = createTerminal({ out: stream, err: stream })
  for (const line of ['blocked', 'blocked', 'blocked', 'goes on', 'blocked']) {
    vi.advanceTimersByTime(10_000)
    terminal.live(line)
  }
  expect(written).toBe('blocked\ngoes on\nblocked\n')
})

test('the live line keeps whole words and numbers', () => {
  let written = ''
  const stream = (isTTY: boolean) =>
    ({ isTTY, columns: 60, write: (text: string) => ((written += text), true) }) as never
  const terminal = createTerminal({ out: stream(false), err: stream(true) })
  terminal.live('contacts  ████████ 100 %  8,000 of 8,000 rows  1,067/s, 0 s left  160 requests')
  expect(written.replace('\r\u001B[2K', '')).toBe('contacts  ████████ 100 %  8,000 of 8,000 rows')
})

test('a terminal that says that it has no columns counts as one of 80', () => {
  const { isTTY, columns } = process.stdout
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns }))
  Object.assign(process.stdout, { isTTY: true, columns: 0 })
  const rows = [['contacts', 'a text of some words that fits into eighty columns']] as const
  expect(table(['sync', 'text'], rows).split('\n')).toHaveLength(3)
  let written = ''
  const stream = { isTTY: true, columns: 0, write: (text: string) => ((written += text), true) }
  createTerminal({ out: stream as never, err: stream as never }).live('contacts  1 of 2 rows')
  expect(written).toContain('contacts  1 of 2 rows')
})
