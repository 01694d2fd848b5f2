// Whose tables those of a schema are: the row of the books that says so.

import { ofOtherProject, type Holder } from '../../core/mirror.ts'
import { tableIn, type SchemaPlace } from './schema.ts'
import type { Lease } from './connections.ts'

const BOOK = '_records_sync_mirror'

/** Null where there are no books. */
export async function readHolder(lease: Lease, home: SchemaPlace): Promise<Holder | null> {
  const book = tableIn(home, BOOK)
  const { rows: found } = await lease.ask('SELECT pg_catalog.to_regclass($1)', [book])
  if (found[0]![0] === null) return null
  // An older release made it without the column.
  const { rows } = await lease.ask(`SELECT owner, to_jsonb(m) ->> 'project' FROM ${book} AS m`)
  const [owner = null, project = null] = rows[0] ?? []
  return owner === null ? null : { owner, project }
}

/** Notes the project where there is none. In a transaction. @throws SyncError `warehouse_other_project` */
export async function noteProject(lease: Lease, home: SchemaPlace, project: string): Promise<void> {
  const holder = (await readHolder(lease, home))!
  if (holder.project === project) return
  if (holder.project !== null) throw ofOtherProject(`The warehouse ${home.place}`, holder, project)
  const book = tableIn(home, BOOK)
  await lease.ask(`ALTER TABLE ${book} ADD COLUMN IF NOT EXISTS project text`)
  await lease.ask(`UPDATE ${book} SET project = $1`, [project])
}

/** False where the schema is not the project's. */
export async function takeOver(
  lease: Lease,
  home: SchemaPlace,
  [from, to]: readonly [from: string, to: string],
): Promise<boolean> {
  const project = (await readHolder(lease, home))?.project ?? null
  if (project === null) return false
  const book = tableIn(home, BOOK)
  const set = `UPDATE ${book} SET project = $2 WHERE project = $1`
  return (await lease.ask(set, [from, to])).count > 0
}
