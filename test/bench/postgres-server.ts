// A PostgreSQL server as a benchmark wants it: it stores what it commits, cleans up by itself, and tells what it cost.

import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { startPostgres } from '../postgres.ts'

const SETTINGS = [
  'max_connections=200',
  'shared_buffers=512MB',
  'max_wal_size=8GB',
  'shared_preload_libraries=pg_stat_statements',
]
/** A clock tick of /proc, as Linux gives it to programs on every machine. */
const TICKS_PER_SECOND = 100

export interface BenchServer {
  /** Of the process that all others of the server belong to; this machine's. */
  readonly pid: number
  newDatabase(): Promise<string>
  /** What it has to clean up there would be measured with the next one. */
  drop(url: string): Promise<void>
  stop(): Promise<void>
}

export async function startBenchServer(): Promise<BenchServer> {
  const server = await startPostgres(SETTINGS)
  const home = await server.newDatabase()
  const rows = await ask(home, `SELECT pg_read_file('postmaster.pid') AS file`)
  return {
    pid: Number(String(rows[0]!['file']).split('\n')[0]),
    async newDatabase() {
      const url = await server.newDatabase()
      await ask(url, 'CREATE EXTENSION pg_stat_statements')
      return url
    },
    async drop(url) {
      await ask(home, `DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    },
    stop: () => server.stop(),
  }
}

/** Runs one statement on a connection of its own. */
export async function ask(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Ticks of a process, of its children that have ended, and its parent's id. */
function statOf(pid: number): { parent: number; own: number; ended: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    return { parent: fields[1]!, own: fields[11]! + fields[12]!, ended: fields[13]! + fields[14]! }
  } catch {
    // It has just ended.
    return null
  }
}

/** Processor seconds of a process and of all that it has started, so far. */
export function processorSeconds(pid: number): number {
  const root = statOf(pid)
  let ticks = root ? root.own + root.ended : 0
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : null
    if (stat?.parent === pid) ticks += stat.own
  }
  return ticks / TICKS_PER_SECOND
}

/** The statements that cost the server most, of one database. */
export async function dearestStatements(
  url: string,
  limit: number,
): Promise<Record<string, unknown>[]> {
  return await ask(
    url,
    `SELECT calls, round(total_exec_time) AS ms, regexp_replace(left(query, 110), '\\s+', ' ', 'g') AS statement
     FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
     ORDER BY total_exec_time DESC LIMIT ${limit}`,
  )
}

/** Processor seconds that the whole machine has used so far. */
export function busySeconds(): number {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user! + nice! + system! + irq! + softirq!) / TICKS_PER_SECOND
}
