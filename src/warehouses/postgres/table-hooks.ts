// What people added to a table that affects our statements: triggers, rules, row security. Rules and row security silently make
// statements do something else, so they are refused; check-stored.ts checks what triggers do.

import { SyncError } from '../../core/errors.ts'
import { joinSome } from '../../core/format.ts'
import type { SchemaPlace } from '../mirror/session.ts'
import type { Lease } from './connections.ts'

/** Names that a message lists. */
const NAMED_MAX = 3

export interface TableHook {
  readonly table: string
  readonly kind: 'trigger' | 'rule' | 'security'
  /** The name of a trigger or rule, with its table, as in SQL. */
  readonly name: string
}

/** What people added to tables of a schema, and to their partitions, that affects our statements. */
async function readTableHooks(
  lease: Lease,
  { schema }: SchemaPlace,
  tables: readonly string[],
): Promise<TableHook[]> {
  const { rows } = await lease.ask(
    `WITH RECURSIVE tree (root, oid, depth) AS (
       SELECT c.relname::text, c.oid, 0 FROM pg_catalog.pg_class AS c
       JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
       WHERE n.nspname = $1 AND c.relname = ANY ($2::text[]) AND c.relkind IN ('r', 'p')
       UNION ALL SELECT tree.root, i.inhrelid, tree.depth + 1 FROM tree JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.oid
     )
     SELECT root, 'trigger', pg_catalog.format('%I ON %s', t.tgname, t.tgrelid::pg_catalog.regclass)
       FROM tree JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = tree.oid
       WHERE NOT t.tgisinternal AND t.tgenabled <> 'D'
     UNION SELECT root, 'rule', pg_catalog.format('%I ON %s', r.rulename, r.ev_class::pg_catalog.regclass)
       FROM tree JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = tree.oid
       WHERE tree.depth = 0 AND r.ev_type <> '1' AND r.ev_enabled <> 'D'
     UNION SELECT root, 'security', tree.oid::pg_catalog.regclass::text
       FROM tree WHERE tree.depth = 0 AND pg_catalog.row_security_active(tree.oid)
     ORDER BY 1, 2, 3`,
    [schema, tables],
  )
  return rows.map(([table, kind, name]) => ({
    table: table!,
    kind: kind as TableHook['kind'],
    name: name!,
  }))
}

/**
 * The triggers of tables.
 * @throws SyncError `warehouse_altered` if a table has a rule, or row security that applies to the mirror's user
 */
export async function checkTableHooks(
  lease: Lease,
  home: SchemaPlace,
  tables: readonly string[],
): Promise<readonly TableHook[]> {
  const hooks = await readTableHooks(lease, home, tables)
  const { table, name, kind } = hooks.find((one) => one.kind !== 'trigger') ?? {}
  if (kind === undefined) return hooks
  const where = `${home.schema}.${table}`
  throw alteredError(
    home,
    kind === 'rule'
      ? `${where} has a rule, which rewrites what is written to it; expected none: DROP RULE ${name}`
      : `${where} has row level security that holds for the mirror's user, which hides rows from it or keeps them from being written; expected none: ALTER TABLE ${name} NO FORCE ROW LEVEL SECURITY, or give the user BYPASSRLS`,
  )
}

/** Some of the names, for a message. */
export const someNames = (names: readonly string[]): string => joinSome(names, NAMED_MAX)

export const alteredError = ({ place }: SchemaPlace, what: string): SyncError =>
  new SyncError('warehouse_altered', `The warehouse ${place} was altered: ${what}`)
