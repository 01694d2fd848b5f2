// A query with a watermark, and what it answers.

import type { ImportConfig } from '../../../config/index.ts'
import type { Source } from '../../../src/sources/source.ts'

export const QUERY = {
  query: 'SELECT * FROM people WHERE at > :watermark',
  warehouse: 'lake',
  watermark: { column: 'at', initial: '0' },
} as ImportConfig['from']

/** A query whose answer has these rows. */
export const answer =
  (reached: string, rows: readonly (readonly string[])[], columns = ['id', 'first']) =>
  (): Source => ({
    columns,
    async *chunks() {
      yield rows.map((cells, index) => ({ ordinal: index + 1, line: index + 1, cells: [...cells] }))
    },
    summary: () => ({
      rows: rows.length,
      digest: 'd'.repeat(64),
      watermark: { column: 'at', order: 'number', value: reached },
    }),
    close: async () => {},
  })
