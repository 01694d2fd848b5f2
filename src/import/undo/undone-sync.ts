// The sync that an undo writes with: that of the run which it undoes, as it was configured then, but updates alone, and with nothing
// that belongs to a reading of the source.

import type { ImportSync } from '../../../config/index.ts'
import type { Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'

/** @param now the sync as it is configured now: the connection, and with it the key, is of now */
export function undoneSync(now: ImportSync, old: Run): ImportSync {
  const { sync } = jobOf(old, 'import')
  const {
    links: _links,
    missing_rows: _missing,
    delete_when: _when,
    rows_min: _least,
    creates_max_percent: _creates,
    clears_max_percent: _clears,
    ...kept
  } = sync.import
  const { to, verify } = now.import
  return { ...now, import: { ...kept, to, verify, mode: 'update', keep_before: true } }
}
