// Whose tables those of a schema are: the row of the books that says so.

import { ofOtherProject, type Holder } from '../../core/mirror.ts'
import type { Ask } from './attached.ts'
import { tableColumns, tableIn, type SchemaPlace } from './schema.ts'
import { quoteLiteral } from './sql.ts'

const BOOK = '_records_sync_mirror'

/** Null where there are no books. In a transaction. */
export async function readHolder(ask: Ask, schema: string): Promise<Holder | null> {
  const columns = await tableColumns(ask, schema, BOOK)
  if (columns.length === 0) return null
  // An older release made it without the column.
  const column = columns.includes('project') ? 'project' : 'NULL'
  const [row] = await ask(`SELECT owner, ${column} FROM ${tableIn(schema, BOOK)}`)
  const [owner = null, project = null] = (row ?? []) as (string | null)[]
  return owner === null ? null : { owner, project }
}

/** Notes the project where there is none. In a transaction. @throws SyncError `warehouse_other_project` */
export async function noteProject(
  ask: Ask,
  { place, schema }: SchemaPlace,
  project: string,
): Promise<void> {
  const holder = (await readHolder(ask, schema))!
  if (holder.project === project) return
  if (holder.project !== null) throw ofOtherProject(`The warehouse ${place}`, holder, project)
  const book = tableIn(schema, BOOK)
  await ask(`ALTER TABLE ${book} ADD COLUMN IF NOT EXISTS project VARCHAR`)
  await ask(`UPDATE ${book} SET project = ${quoteLiteral(project)}`)
}

/** False where the schema is not the project's. In a transaction. */
export async function takeOver(
  ask: Ask,
  schema: string,
  [from, to]: readonly [from: string, to: string],
): Promise<boolean> {
  const holder = await readHolder(ask, schema)
  if (holder === null || holder.project !== from) return false
  await ask(`UPDATE ${tableIn(schema, BOOK)} SET project = ${quoteLiteral(to)}`)
  return true
}
