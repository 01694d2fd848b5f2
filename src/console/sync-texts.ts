// The words of the page of a sync.

import { countText } from '../core/format.ts'

export const SYNC_TEXT = {
  upToRows: (rows: number) => `up to ${countText(rows, 'row')} in a run`,
  history: 'History',
  historyLead: (runs: number) =>
    runs === 1
      ? 'What became of the rows of the run.'
      : `What became of the rows of the last ${runs} runs, a column each, the newest at the right.`,
  settings: 'What it does, and when',
  mode: 'Mode',
  after: 'Runs after',
  schedule: 'Schedule',
  nextTimes: 'Next times',
  mapping: 'Mapping',
  rejectsOf: (run: number) => `Rejects are those of run ${run}, the last one that had some.`,
  column: 'Column',
  property: 'Property',
  lastRejects: 'Last rejects',
  isKey: 'key',
  link: (association: string, to: string) => `link ${association} to ${to}`,
  tables: 'Tables',
  tablesLead: 'As the newest run left them.',
  table: 'Table',
  state: 'State',
  upTo: 'Up to date as of',
  tableRows: 'Rows',
  serviceCounts: 'Service counts',
  deleted: 'Deleted',
  misfits: 'Misfits',
  constant: 'a constant',
  schemaChanges: {
    title: 'Schema changes',
    newest: (shown: number) => `The newest ${shown}; the ledger has all of them (schema_changes).`,
    when: 'Found',
    property: 'Property',
    what: 'What changed',
    handling: 'What became of the table',
    columns: (names: readonly string[]) =>
      `${names.length === 1 ? 'column' : 'columns'} ${names.join(', ')}`,
  },
} as const
