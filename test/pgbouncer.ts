// A real PgBouncer in front of a PostgreSQL, for tests: the one on this machine (`PGBOUNCER` names another), or Debian's package,
// which root may install. It ends with the test file, and leaves nothing behind.

import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { lastLines, runProgram } from '../src/dev/run-program.mjs'
import { HANG_MS } from './hang.ts'

/** Debian's nobody: PgBouncer does not run as root. */
const NOBODY = 65_534
const INSTALL_MAX_MS = 8 * 60_000

export interface Pgbouncer {
  /** The URL of a database behind it; whoever connects is the user that it has at the server. */
  url(database: string): string
  stop(): Promise<void>
}

/**
 * Answers when it is there; with `waits`, when its server has answered too.
 * @param server a URL of the server, with the user of its sessions
 * @param settings such as `pool_mode`; default: those of PgBouncer
 */
export async function startPgbouncer(
  server: string,
  settings: Readonly<Record<string, string>>,
  { waits = true } = {},
): Promise<Pgbouncer> {
  const program = await findPgbouncer()
  const { hostname, port, username, password } = new URL(server)
  const own = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-pgbouncer-'))
  chmodSync(folder, 0o755)
  const file = join(folder, 'pgbouncer.ini')
  const quoted = (text: string) => `'${decodeURIComponent(text).replaceAll("'", "''")}'`
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: own,
    unix_socket_dir: '',
    auth_type: 'any',
    admin_users: 'client',
    ...settings,
  }
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=${hostname} port=${port || 5432} user=${quoted(username)} password=${quoted(password)}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
      '',
    ].join('\n'),
  )
  const isRoot = process.getuid?.() === 0
  const child = spawn(program, [file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => (log = (log + String(bytes)).slice(-20_000)))
  const url = (database: string) => `postgres://client@127.0.0.1:${own}/${database}`
  const stop = async () => {
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await untilItAnswers(
      url(waits ? new URL(server).pathname.slice(1) : 'pgbouncer'),
      child,
      () => log,
    )
  } catch (error) {
    await stop()
    throw error
  }
  return { url, stop }
}

async function untilItAnswers(url: string, child: ChildProcess, log: () => string): Promise<void> {
  const deadline = Date.now() + HANG_MS
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      return
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`PgBouncer does not answer: ${String(error)}\n${lastLines(log(), 10)}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    } finally {
      await client.end().catch(() => {})
    }
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

let found: Promise<string> | null = null

/** @throws Error that says what was tried, and what to do */
const findPgbouncer = (): Promise<string> => (found ??= find())

async function find(): Promise<string> {
  const there = installed()
  if (there !== undefined) return there
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n']
  const apt = [...asRoot, 'apt-get', '-o', 'DPkg::Lock::Timeout=300', '-y', '-q']
  const said: string[] = []
  for (const what of [['update'], ['install', '--no-install-recommends', 'pgbouncer']]) {
    const [program, ...args] = [...apt, ...what]
    const { code, how, output } = await runProgram(program!, args, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      maxMs: INSTALL_MAX_MS,
    })
    if (code !== 0) said.push(`${[program, ...args].join(' ')}: ${how}\n${lastLines(output, 4)}`)
  }
  const now = installed()
  if (now !== undefined) return now
  throw new Error(
    `No PgBouncer: install it, or set PGBOUNCER to the path of one. What was tried:\n${said.join('\n')}`,
  )
}

const installed = (): string | undefined =>
  [
    process.env['PGBOUNCER'] ?? '',
    ...[...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'].map((folder) =>
      join(folder, 'pgbouncer'),
    ),
  ].find((path) => path !== '' && existsSync(path))

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
