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
  map({ ordinal, line, cells: [key, sum] }) {
    const place = { ordinal, line, raw: '' }
    if (/^\d+$/.test(String(sum)))
      return { ...place, valid: true, key: String(key), payload: '', hash: '' }
    const detail = 'expected a number; `decimal: ","` reads it'
    const wrong = { reason: 'not_a_number', column: 'sum', field: 'svc_sum', value: '', detail }
    return { ...place, valid: false, key: null, ...wrong }
  },
}

it.each([
  [3, 'all 3 rows would be set aside as invalid, most often not_a_number in sum: expected'],
  [1, 'the only row would be set aside as invalid, most often not_a_number in sum: expected'],
  [1_200, 'all of the first 1,000 rows would be set aside as invalid, most often not_a'],
])('says that none of %d rows can be sent', async (rows, expected) => {
  const cells = Array.from({ length: rows }, (_, at) => [`${at}`, 'x'])
  const [warning, ...more] = await firstRowsWarnings(source(cells), mapping)
  expect(warning).toContain(expected)
  expect(more).toEqual([])
})

it('says nothing where one row can be sent', async () => {
  expect(
    await firstRowsWarnings(
      source([
        ['1', 'x'],
        ['2', '7'],
      ]),
      mapping,
    ),
  ).toEqual([])
})
