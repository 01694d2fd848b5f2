// A DuckDB file as a warehouse: its settings, and what the register knows of it.

import { z } from 'zod'
import { pathSetting } from '../../settings/parts.ts'
import { warehouseDriver } from '../driver.ts'
import { loadDuckdb } from './installed.ts'

/** Instead of a file: a database for queries that read only other files. */
const IN_MEMORY = ':memory:'

export const duckdb = warehouseDriver({
  name: 'duckdb',
  settings: {
    duckdb: pathSetting({ except: IN_MEMORY })
      .optional()
      .describe(
        'DuckDB file, relative to this file, or `:memory:` for queries that read only Parquet, CSV and JSON files. Exactly one of `duckdb` and `postgres`.',
      ),
    files: z
      .array(pathSetting())
      .optional()
      .describe(
        'Folders, relative to this file, whose Parquet, CSV and JSON files queries of a DuckDB warehouse may read; `[]` for none. Keys, ledgers and `/proc` are never read. Default: the folder of this file.',
      ),
  },
  needs: [],
  load: loadDuckdb,
  async open(name, place, options) {
    const { openDuckdb } = await import('./index.ts')
    return await openDuckdb(name, place, options)
  },
  mirrors: {
    problem: (given) =>
      given['duckdb'] === IN_MEMORY
        ? 'is in memory only; a mirror needs a DuckDB file or a PostgreSQL database'
        : null,
    async open(name, place, schema, options) {
      const { openDuckdbMirror } = await import('./mirror.ts')
      return await openDuckdbMirror(name, place, schema, options)
    },
  },
  file: ({ duckdb: path }) => (path === IN_MEMORY ? null : { path, endings: ['.wal'] }),
})
