// What the user of a PostgreSQL may do next to reading. A transaction that may only read keeps rows as they are; functions
// of the server can do more, as far as the role lets them.

import type { Warehouse } from '../warehouse.ts'

const ROLES = [
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_execute_server_program',
  'pg_write_all_data',
  'pg_signal_backend',
  'pg_checkpoint',
  'pg_maintain',
]

const QUERY = `WITH me AS (SELECT * FROM pg_catalog.pg_roles WHERE rolname = current_user)
  SELECT 'is a superuser' FROM me WHERE rolsuper
  UNION ALL SELECT 'may replicate' FROM me WHERE rolreplication AND NOT rolsuper
  UNION ALL SELECT 'may create roles' FROM me WHERE rolcreaterole AND NOT rolsuper
  UNION ALL SELECT 'is a member of ' || r.rolname FROM pg_catalog.pg_roles r, me
    WHERE r.rolname IN (${ROLES.map((role) => `'${role}'`).join()})
      AND pg_catalog.pg_has_role(me.oid, r.oid, 'MEMBER') AND NOT me.rolsuper`

/** What a person should know of the role, one line each; none if it may only read. */
export async function roleWarnings(warehouse: Warehouse): Promise<string[]> {
  const { chunks } = await warehouse.read(QUERY)
  const found: string[] = []
  for await (const rows of chunks(100)) found.push(...rows.map(([what]) => String(what)))
  if (found.length === 0) return []
  return [
    `its user ${found.join(', ')}: functions that a query calls can then do more than read (docs/warehouses.md); expected a user with SELECT alone`,
  ]
}
