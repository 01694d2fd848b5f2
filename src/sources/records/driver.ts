// The records of a Records Service as a source: what the register knows of it.

import { sourceDriver } from '../driver.ts'
import { recordsSettings } from './settings.ts'

export const records = sourceDriver({
  name: 'records',
  settings: recordsSettings,
  needs: [],
  hasUnits: true,
  isLocal: false,
  cellOf: (_from, value) => value,
  describe: ({ records: { object_type: type, connection } }) =>
    `${type} of connection ${connection}`,
  warehouse: () => null,
  isIncremental: () => false,
  // Their type decides: it has a modification time or not.
  windowProblem: () => null,
  stamp: async () => null,
  async open(_sync, from, { connect }, { window }, signal) {
    const { openRecords } = await import('./index.ts')
    const { client } = await connect(from.records.connection)
    return await openRecords(client, from.records, { signal, window })
  },
})
