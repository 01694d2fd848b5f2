// What `check` says of the first rows of a file.

import { expect, it } from 'vitest'
import { firstRowsWarnings } from '../../../src/cli/commands/check-rows.ts'
import type { Source, SourceRow } from '../../../src/sources/source.ts'

const source = (cells: readonly string[][]): Source => ({
  columns: ['id', 'sum'],
  async *chunks(rowsMax) {
    const rows: SourceRow[] = cells.map((row, at) => ({
      ordinal: at + 1,
      line: at + 2,
      cells: row,
    }))
    for (let at = 0; at < rows.length; at += rowsMax) yield rows.slice(at, at + rowsMax)
  },
  summary: () => ({ rows: cells.length, digest: '' }),
  close: async () => {},
})

/** Takes rows whose second cell is a number. */
const mapping: Parameters<typeof firstRowsWarnings>[1] = {
  notes: () => [],
  map({ ordinal, line, cells: [key, sum] }) {
    const place = { ordinal, line, raw: '' }
    if (/^\d+$/.test(String(sum)))
      return { ...place, valid: true, key: String(key), payload: '', hash: '' }
    const detail = 'expected a number; `decimal: ","` reads it'
    const wrong = { reason: 'not_a_number', column: 'sum', field: 'svc_sum', value: '', detail }
    return { ...place, valid: false, key: null, ...wrong }
  },
}

const cells = (bad: number, good = 0) =>
  Array.from({ length: bad + good }, (_, at) => [`${at}`, at < bad ? 'x' : '7'])

it.each([
  [3, 0, 'all 3 rows would be set aside as invalid, most often not_a_number in sum: expected'],
  [1, 0, 'the only row would be set aside as invalid, most often not_a_number in sum: expected'],
  [1_200, 0, 'all of the first 1,000 rows would be set aside as invalid, most often not_a'],
  [2, 1, '2 of 3 rows would be set aside as invalid, most often not_a_number in sum: expected'],
  [501, 900, '501 of the first 1,000 rows would be set aside as invalid, most often not_a_number'],
])('fails where %d rows cannot be sent and %d can', async (bad, good, expected) => {
  const { failed, warnings } = await firstRowsWarnings(source(cells(bad, good)), mapping)
  expect(failed).toContain(expected)
  expect(warnings).toEqual([])
})

it.each([
  [0, 1],
  [1, 1],
  [500, 500],
  [500, 900],
])('passes where %d rows cannot be sent and %d can', async (bad, good) => {
  expect(await firstRowsWarnings(source(cells(bad, good)), mapping)).toEqual({
    failed: null,
    warnings: [],
  })
})
