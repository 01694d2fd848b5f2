// A CSV file as a source: what the register knows of it.

import { sourceDriver } from '../driver.ts'
import { csvSettings } from './settings.ts'

export const csv = sourceDriver({
  name: 'csv',
  settings: csvSettings,
  needs: [],
  defaults: { delimiter: ',', quote: '"', ragged: 'reject' },
  hasUnits: false,
  isLocal: true,
  check({ delimiter, quote }, complain) {
    if (quote !== null && (delimiter ?? ',') === (quote ?? '"'))
      complain([], 'expected two different characters as `delimiter` and `quote`')
  },
  cellOf({ nulls = [] }, value, text) {
    if (typeof value === 'object' && value !== null) return undefined
    return nulls.includes(text) ? '' : text
  },
  describe: (from) => `file ${from.csv.split(/[/\\]/).at(-1)}`,
  warehouse: () => null,
  isIncremental: () => false,
  windowProblem: () => 'a CSV file has no time, so it is always read whole; leave out from and to',
  async open(_sync, { csv: path, ...dialect }) {
    const { openCsv } = await import('./index.ts')
    return await openCsv({ path, ...dialect })
  },
})
