// A PostgreSQL database as a warehouse: its settings, and what the register knows of it.

import { secretPlace } from '../../settings/parts.ts'
import { warehouseDriver } from '../driver.ts'

export const postgres = warehouseDriver({
  name: 'postgres',
  settings: {
    postgres: secretPlace(
      'URL',
      'its URL does not belong into this file, because it may hold a password; write `postgres: "${DWH_URL}"`, `postgres: { file: ./dwh-url }` or `postgres: { command: "…" }`',
    )
      .optional()
      .describe(
        'PostgreSQL database. Where its URL is, such as `postgres://user:password@host:5432/database`, never the URL itself: `"${NAME}"` (a variable of the environment), or a mapping with one of the following.',
      ),
  },
  needs: [],
  async open(name, { postgres: url }, options) {
    const { openPostgres } = await import('./index.ts')
    return await openPostgres(name, { url }, options)
  },
  mirrors: {
    async open(name, { postgres: url }, schema, options) {
      const { openPostgresMirror } = await import('./mirror.ts')
      return await openPostgresMirror(name, { url }, schema, options)
    },
  },
  file: () => null,
  async rights(warehouse) {
    const { roleWarnings } = await import('./role.ts')
    return await roleWarnings(warehouse)
  },
})
