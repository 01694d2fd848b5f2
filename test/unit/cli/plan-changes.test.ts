// What a person sees of a plan's rows: as much as a screen has room for.

import { expect, test } from 'vitest'
import {
  FirstChanges,
  lookedUpText,
  printFirstChanges,
} from '../../../src/cli/views/plan-changes.ts'
import { noVerdicts, type RowVerdict } from '../../../src/core/domain/row-changes.ts'
import { LosslessNumber } from '../../../src/core/lossless-number.ts'
import { PropertyTotals, type PlannedChange } from '../../../src/import/index.ts'
import { changedValueText } from '../../../src/report/plan-rows.ts'

const row = (line: number, verdict: RowVerdict, properties = 1): PlannedChange => ({
  line,
  key: `k${line}`,
  verdict,
  recordId: null,
  changes: Array.from({ length: properties }, (_, at) => ({
    property: `p${at}`,
    before: 'old',
    after: 'new',
  })),
})

function screen(rows: readonly PlannedChange[], isScreen = true): string {
  const lines: string[] = []
  const first = new FirstChanges(20, 1_000_000, (each) => each)
  const verdicts = noVerdicts()
  for (const each of rows) {
    first.add(each)
    verdicts[each.verdict] += 1
  }
  const terminal = {
    isScreen,
    out: (line = '') => void lines.push(line),
    err: () => {},
    live: () => {},
    endLive: () => {},
    style: (style: string, text: string) => `<${style}>${text}</>`,
  }
  printFirstChanges(terminal, first, verdicts)
  return lines.join('\n')
}

test('values are text as people read them', () => {
  expect(changedValueText('text')).toBe('text')
  expect(changedValueText(null)).toBeNull()
  expect(changedValueText([])).toBeNull()
  expect(changedValueText(['one'])).toBe('one')
  expect(changedValueText(['a', 'b'])).toBe('["a","b"]')
  expect(changedValueText(new LosslessNumber('9007199254740993'))).toBe('9007199254740993')
  expect(changedValueText({ amount: '1.50', unit: 'EUR' })).toBe('{"amount":"1.50","unit":"EUR"}')
  expect(changedValueText(false)).toBe('false')
})

test('what stays as others have it is named in a row that changes other properties', () => {
  const kept = { property: 'phone', before: 'theirs', after: 'ours', kept: true } as const
  const changed = row(2, 'update')
  expect(screen([{ ...changed, changes: [...changed.changes, kept] }])).toContain(
    'phone: <red>theirs</> stays, because others changed it (the row has <green>ours</>)',
  )
  const totals = new PropertyTotals()
  totals.add({ verdict: 'update', changes: [...changed.changes, kept] })
  expect(totals.sorted).toEqual([
    { property: 'p0', rows: 1, cleared: 0 },
    { property: 'phone', rows: 0, cleared: 0, kept: 1 },
  ])
})

test('the first rows of each verdict are a coloured diff', () => {
  const text = screen([row(2, 'update'), row(3, 'create'), row(4, 'update', 12)])
  expect(text).toContain('<yellow>~ k2</>  <dim>line 2</>\n    p0: <red>old</> → <green>new</>')
  expect(text).toContain('<green>+ k3</>  <dim>line 3</>\n    p0: <green>new</>')
  expect(text).toContain('    and 2 more properties')
  expect(text.indexOf('create, 1 row')).toBeLessThan(text.indexOf('update, 2 rows'))
  const many = Array.from({ length: 9 }, (_, at) => row(at + 2, 'update'))
  expect(screen(many)).toContain('update, the first 3 of 9 rows')
  expect(screen(many)).not.toContain('k5')
  const equal = Array.from({ length: 9 }, (_, at) => row(at + 2, 'equal', 0))
  expect(screen(equal)).toContain('equal, the first 5 of 9 rows')
  expect(screen(many, false)).toBe(
    '\nNo row is shown here, as this is no terminal: --out FILE writes all of them',
  )
})

test('no more rows, and no more characters, are kept than have a place', () => {
  const verdicts = { ...noVerdicts(), update: 3, create: 1 }
  const first = new FirstChanges(2, 1_000, (each) => each)
  first.add(row(2, 'update'))
  first.add(row(3, 'update'))
  expect(first.has(verdicts)).toBe(false)
  first.add(row(4, 'update'))
  first.add(row(5, 'create'))
  expect(first.has(verdicts)).toBe(true)
  expect(first.all.map(({ line }) => line)).toEqual([2, 3, 5])
  const short = new FirstChanges(20, 8, (each) => each)
  for (let line = 2; line < 9; line++) short.add(row(line, 'update'))
  expect(short.all).toHaveLength(1)
  expect(short.has({ ...noVerdicts(), update: 7 })).toBe(true)
})

test('what was not looked up is said', () => {
  const lookedUp = { done: true, rows: 500, planned: 10_000, requests: 5 }
  expect(lookedUpText({ lookedUp, bounds: { sample: 500 } })).toBe(
    'Looked up 500 of 10,000 rows to send, with 5 requests (--sample 500): what a run does with the others is not known',
  )
  const whole = { ...lookedUp, rows: 10_000 }
  expect(lookedUpText({ lookedUp: whole, bounds: { limitRequests: 900 } })).toBe(
    'Looked up 10,000 of 10,000 rows to send, with 5 requests',
  )
})
