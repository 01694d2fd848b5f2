// A SQL query as a source: what the register knows of it.

import { queryParameters } from '../../core/domain/query-parameters.ts'
import { sourceDriver } from '../driver.ts'
import { querySettings } from './settings.ts'

export const query = sourceDriver({
  name: 'query',
  settings: querySettings,
  needs: ['warehouse'],
  hasUnits: false,
  isLocal: false,
  /** A query that uses `:watermark` must declare it, and a declared one must be used. */
  check({ query: sql, watermark: declared }, complain) {
    if (typeof sql !== 'string') return
    const isUsed = queryParameters(sql).has('watermark')
    if (isUsed && declared === undefined)
      complain(
        ['query'],
        'the query uses `:watermark`; say what it is, such as `watermark: { column: updated_at, initial: "1970-01-01T00:00:00Z" }` with a column of the answer',
      )
    if (!isUsed && declared !== undefined)
      complain(
        ['watermark'],
        'the query does not use `:watermark`; write `WHERE updated_at >= :watermark` in it, or remove `watermark`',
        'key',
      )
  },
  cellOf: (_from, value) => value,
  describe: ({ warehouse }) => `a query of warehouse ${warehouse}`,
  warehouse: ({ warehouse }) => warehouse,
  isIncremental: (from) => from.watermark !== undefined,
  windowProblem({ query: sql }) {
    const used = queryParameters(sql)
    if (used.has('from') || used.has('to')) return null
    return (
      'its query uses neither `:from` nor `:to`, so nothing would bound it; leave out from and to, or write ' +
      'into the query, for a column `day`: `WHERE (:from IS NULL OR day >= :from) AND (:to IS NULL OR day < :to)`'
    )
  },
  stamp: async () => null,
  async open(sync, from, { openWarehouse }, extent, signal) {
    const { openQuery } = await import('./index.ts')
    return await openQuery(sync, from, openWarehouse, signal, extent)
  },
})
