// Whose tables those of a schema are: the row of the books that says so.

import { checkHolder, type Holder, type HolderClaim } from '../../core/mirror.ts'
import type { Ask } from './attached.ts'
import { tableColumns, tableIn, type SchemaPlace } from './schema.ts'
import { quoteLiteral } from './sql.ts'

const BOOK = '_records_sync_mirror'

/** Null where there are no books. In a transaction. */
export async function readHolder(ask: Ask, schema: string): Promise<Holder | null> {
  const columns = await tableColumns(ask, schema, BOOK)
  if (columns.length === 0) return null
  // An older release made it without the columns.
  const stored = (name: string) => (columns.includes(name) ? name : 'NULL')
  const [row] = await ask(
    `SELECT owner, ${stored('project')}, ${stored('sync')} FROM ${tableIn(schema, BOOK)}`,
  )
  const [owner = null, project = null, sync = null] = (row ?? []) as (string | null)[]
  return owner === null ? null : { owner, project, sync }
}

/** Notes project and sync where there are none. In a transaction. @throws SyncError as `checkHolder` */
export async function noteHolder(
  ask: Ask,
  { place, schema }: SchemaPlace,
  claim: HolderClaim,
): Promise<void> {
  const holder = (await readHolder(ask, schema))!
  checkHolder(`The warehouse ${place}`, holder, claim)
  const book = tableIn(schema, BOOK)
  const changed = (['project', 'sync'] as const).filter(
    (column) => claim[column] !== null && holder[column] !== claim[column],
  )
  // DuckDB alters no table that its transaction has updated: all columns come before the first value.
  for (const column of changed)
    await ask(`ALTER TABLE ${book} ADD COLUMN IF NOT EXISTS ${column} VARCHAR`)
  for (const column of changed)
    await ask(`UPDATE ${book} SET ${column} = ${quoteLiteral(claim[column]!)}`)
}

/** No sync of it keeps the schema then, until the next one asks. False where it is not the project's. In a transaction. */
export async function takeOver(
  ask: Ask,
  schema: string,
  [from, to]: readonly [from: string, to: string],
): Promise<boolean> {
  const holder = await readHolder(ask, schema)
  if (holder === null || holder.project !== from) return false
  const free = holder.sync === null ? '' : ', sync = NULL'
  await ask(`UPDATE ${tableIn(schema, BOOK)} SET project = ${quoteLiteral(to)}${free}`)
  return true
}
