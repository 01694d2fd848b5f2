// A CSV file as a source: what the register knows of it.

import { isJsonObject } from '../../core/json.ts'
import { sourceDriver } from '../driver.ts'
import { csvSettings } from './settings.ts'

export const csv = sourceDriver({
  name: 'csv',
  settings: csvSettings,
  needs: [],
  defaults: { delimiter: ',', quote: '"', ragged: 'reject' },
  hasUnits: false,
  isLocal: true,
  check({ delimiter, quote, escape, sql, tables, ragged }, complain) {
    if (quote !== null && (delimiter ?? ',') === (quote ?? '"'))
      complain([], 'expected two different characters as `delimiter` and `quote`')
    if (escape !== undefined && quote === null)
      complain(
        ['escape'],
        '`escape` is for quotes inside cells in quotes; remove `quote: null`',
        'key',
      )
    if (escape !== undefined && (escape === (quote ?? '"') || escape === (delimiter ?? ',')))
      complain(['escape'], 'expected another character than `delimiter` and `quote`')
    if (sql === undefined && tables !== undefined)
      complain(['tables'], '`tables` are for the query of `sql`; add it, or remove `tables`', 'key')
    if (sql !== undefined && ragged === 'reject')
      complain(
        ['ragged'],
        'a row with too few or too many cells has no place in a table, so `sql` needs `ragged: refuse` or `ragged: pad`',
      )
    if (isJsonObject(tables) && Object.hasOwn(tables, 'rows'))
      complain(
        ['tables', 'rows'],
        '`rows` is the table of the file itself; expected another name',
        'key',
      )
  },
  cellOf({ nulls = [], sql }, value, text) {
    // A query may make lists.
    if (typeof value === 'object' && value !== null) return sql === undefined ? undefined : value
    return nulls.includes(text) ? '' : text
  },
  describe: ({ csv: path, sql }) =>
    `${sql === undefined ? '' : 'a query over '}file ${path.split(/[/\\]/).at(-1)}`,
  warehouse: () => null,
  isIncremental: () => false,
  windowProblem: () => 'a CSV file has no time, so it is always read whole; leave out from and to',
  async stamp({ csv: path, sql, tables = {} }) {
    const { stampOf } = await import('./file.ts')
    return await stampOf([path, ...(sql === undefined ? [] : Object.values(tables))])
  },
  async open(_sync, { csv: path, sql, tables = {}, ...dialect }, openers, _extent, signal) {
    if (sql === undefined) {
      const { openCsv } = await import('./index.ts')
      return await openCsv({ path, ...dialect })
    }
    const { openQueriedCsv } = await import('./queried.ts')
    const query = { sql, tables }
    return await openQueriedCsv({ path, ...dialect }, query, openers.openTextTables, signal)
  },
})
