// A database in memory, where rows wait for their merge: one for each file, shared by all mirrors of this process that write it.

import { rm } from 'node:fs/promises'
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api'
import { temporaryFolder } from './temporary.ts'

/** 140 MB are too few for a merge that fills a group of rows of 22 columns. */
const MEMORY_MB = 192
/** DuckDB counts a whole block for every written column, although little of it is used. */
const COLUMN_MB = 1

export type Staging = Awaited<ReturnType<typeof createStaging>>

async function createStaging(folder: string) {
  const instance = await DuckDBInstance.create(':memory:', {
    allocator_background_threads: 'true',
    autoinstall_known_extensions: 'false',
    memory_limit: `${MEMORY_MB}MB`,
    preserve_insertion_order: 'false',
    temp_directory: folder,
    // More of them wait for each other in a loop, which costs a third of the processor time and saves none.
    threads: '1',
  })
  let currentMb = MEMORY_MB
  return {
    /** A connection with temporary tables of its own. */
    async connect(): Promise<DuckDBConnection> {
      const connection = await instance.connect()
      try {
        await connection.run(`SET TimeZone = 'UTC'`)
        return connection
      } catch (error) {
        connection.closeSync()
        throw error
      }
    },

    /** Makes room for merges into a table with this many columns. */
    async widen(connection: DuckDBConnection, columns: number): Promise<void> {
      const memoryMb = MEMORY_MB + columns * COLUMN_MB
      if (memoryMb <= currentMb) return
      currentMb = memoryMb
      await connection.run(`SET memory_limit = '${memoryMb}MB'`)
    },

    /** Gives back what a merge took: with one thread DuckDB does so only when its limit is set. A failure changes nothing. */
    async trim(connection: DuckDBConnection): Promise<void> {
      await connection.run(`SET memory_limit = '${currentMb}MB'`).catch(() => {})
    },

    async end(): Promise<void> {
      instance.closeSync()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const stagings = new Map<string, { users: number; readonly made: Promise<Staging> }>()
let made = 0

/** @param file from `realFile` */
export async function openStaging(file: string): Promise<Staging> {
  let shared = stagings.get(file)
  if (!shared) {
    shared = { users: 0, made: createStaging(temporaryFolder(`staging-${++made}`, file)) }
    stagings.set(file, shared)
  }
  shared.users++
  try {
    return await shared.made
  } catch (error) {
    stagings.delete(file)
    throw error
  }
}

/** Each opener calls it once, with connections closed. The last call closes the database. */
export async function releaseStaging(file: string): Promise<void> {
  const shared = stagings.get(file)!
  if (--shared.users > 0) return
  stagings.delete(file)
  await (await shared.made).end()
}
