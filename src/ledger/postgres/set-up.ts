// A schema of the ledger's own: created, migrated and checked. `schema_version` holds the version of its tables.

import { systemClock } from '../../core/ports.ts'
import type { SetUp } from '../../sqlite/migrate.ts'
import type { PostgresDatabase, Session, ErrorSubject } from './session.ts'
import { FIRST_SCHEMA, newestSchema, unreadableHint } from '../statements/schema.ts'
import { MIGRATIONS } from './migrations.ts'
import { POSTGRES_MIN } from '../../postgres/version.ts'

const setUpMaxMs = 10 * 60_000
const askAgainMs = 200

/** The version of its tables; 0 if there is no ledger yet. */
async function versionOf(session: Session, schema: string): Promise<number> {
  const found = await session.one('SELECT to_regclass($1) IS NOT NULL AS found', [
    `${schema}.schema_version`,
  ])
  if (found?.['found'] !== true) return 0
  return Number((await session.one('SELECT version FROM schema_version'))?.['version'] ?? 0)
}

/**
 * Waits until no other process sets the schema up. It asks again and again: a statement that waits for a lock is ended after
 * seconds, and the other process may take minutes.
 */
async function alone(session: Session, schema: string, tooLate: () => Error): Promise<void> {
  const deadline = systemClock.now() + setUpMaxMs
  for (;;) {
    const got = await session.one(
      'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS got',
      [`records-sync schema ${schema}`],
    )
    if (got?.['got'] === true) return
    if (systemClock.now() >= deadline) throw tooLate()
    await systemClock.sleep(askAgainMs)
  }
}

/** Makes the schema what this release needs, or throws why it cannot. */
export async function setUp(
  db: PostgresDatabase,
  schema: string,
  mayBe: SetUp,
  { noun, code, fail }: ErrorSubject,
): Promise<void> {
  const refuse = (what: string, message: string) => fail(`${code}_${what}`, message, 'ledger')
  const server = await db.one(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('server_version_num')::integer / 10000 AS version`,
  )
  if (Number(server?.['version']) < POSTGRES_MIN)
    throw refuse(
      'engine',
      `The ${noun} ${db.place} is PostgreSQL ${Number(server?.['version'])}; ${POSTGRES_MIN} or newer is needed`,
    )
  if (server?.['encoding'] !== 'UTF8')
    throw refuse(
      'encoding',
      `The ${noun} ${db.place} is a database of encoding ${String(server?.['encoding'])}; create one with ENCODING 'UTF8'`,
    )
  const newest = newestSchema(MIGRATIONS)
  const check = (version: number) => {
    if (version > newest)
      throw refuse(
        'newer',
        `The ${noun} ${db.place} has schema version ${version}; this release knows up to ${newest}. Upgrade records-sync`,
      )
    return version
  }
  const version = check(await versionOf(db, schema))
  if (version === newest) return
  if (version === 0 && mayBe === 'never')
    throw refuse('missing', `There is no ${noun} at ${db.place} yet; it is made by the first run`)
  if (version > 0 && version < FIRST_SCHEMA)
    throw refuse(
      'unreadable',
      `The ${noun} ${db.place} has schema version ${version}, and this release reads ${FIRST_SCHEMA} and later; it was left as it is. ${unreadableHint(`pg_dump --schema=${schema}`)}`,
    )
  if (version > 0 && mayBe !== 'upgrade')
    throw refuse(
      'older',
      `The ${noun} ${db.place} is of an older release (schema version ${version}; this one has ${newest}); \`records-sync ledger upgrade\` brings it to this one (a backup is yours to make: pg_dump --schema=${schema})`,
    )
  await db.transaction(async (session) => {
    await alone(session, schema, () =>
      refuse(
        'busy',
        `The ${noun} ${db.place} has been set up by another process for ${setUpMaxMs / 60_000} minutes; see what it does, or end it`,
      ),
    )
    // It asks first: to create a schema that exists needs a permission that the owner of the schema may lack.
    if (!(await session.one('SELECT FROM pg_namespace WHERE nspname = $1', [schema])))
      await session.run(`CREATE SCHEMA ${schema}`)
    // Read again under the lock: another process may have migrated meanwhile.
    const before = check(await versionOf(session, schema))
    if (before === 0) {
      await session.run('CREATE TABLE schema_version (version integer NOT NULL)')
      await session.run('INSERT INTO schema_version VALUES (0)')
    }
    const missing = MIGRATIONS.slice(Math.max(0, before - FIRST_SCHEMA + 1))
    for (const migration of missing) await session.script(migration)
    await session.run('UPDATE schema_version SET version = $1', [newest])
  })
}
