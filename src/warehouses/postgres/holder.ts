// Whose tables those of a schema are: the row of the books that says so.

import { checkHolder, type Holder, type HolderClaim } from '../../core/mirror.ts'
import { tableIn, type SchemaPlace } from './schema.ts'
import type { Lease } from './connections.ts'

const BOOK = '_records_sync_mirror'

/** Null where there are no books. */
export async function readHolder(lease: Lease, home: SchemaPlace): Promise<Holder | null> {
  const book = tableIn(home, BOOK)
  const { rows: found } = await lease.ask('SELECT pg_catalog.to_regclass($1)', [book])
  if (found[0]![0] === null) return null
  // An older release made it without the columns.
  const { rows } = await lease.ask(
    `SELECT owner, to_jsonb(m) ->> 'project', to_jsonb(m) ->> 'sync' FROM ${book} AS m`,
  )
  const [owner = null, project = null, sync = null] = rows[0] ?? []
  return owner === null ? null : { owner, project, sync }
}

/** Notes project and sync where there are none. In a transaction. @throws SyncError as `checkHolder` */
export async function noteHolder(
  lease: Lease,
  home: SchemaPlace,
  claim: HolderClaim,
): Promise<void> {
  const holder = (await readHolder(lease, home))!
  checkHolder(`The warehouse ${home.place}`, holder, claim)
  const book = tableIn(home, BOOK)
  for (const column of ['project', 'sync'] as const) {
    if (holder[column] === claim[column] || claim[column] === null) continue
    await lease.ask(`ALTER TABLE ${book} ADD COLUMN IF NOT EXISTS ${column} text`)
    await lease.ask(`UPDATE ${book} SET ${column} = $1`, [claim[column]])
  }
}

/** No sync of it keeps the schema then, until the next one asks. False where the schema is not the project's. */
export async function takeOver(
  lease: Lease,
  home: SchemaPlace,
  [from, to]: readonly [from: string, to: string],
): Promise<boolean> {
  const holder = await readHolder(lease, home)
  if (holder === null || holder.project === null) return false
  const book = tableIn(home, BOOK)
  const free = holder.sync === null ? '' : ', sync = NULL'
  const set = `UPDATE ${book} SET project = $2${free} WHERE project = $1`
  return (await lease.ask(set, [from, to])).count > 0
}
