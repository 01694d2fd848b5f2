// The ports of what `dev` brings. Runs and mirrors know a service by its address: at another port it is another service to them. So a
// folder keeps the port at which its service was first started, and that of its console, which people have in bookmarks.

import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What keeps a port of its own. */
type Kept = 'service' | 'console'

const portFile = (stateDir: string, of: Kept): string => join(stateDir, `dev-${of}.port`)

/** Null where none was kept, or where it cannot be read. */
export function keptPort(stateDir: string, of: Kept): number | null {
  try {
    const port = Number(readFileSync(portFile(stateDir, of), 'utf8').trim())
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null
  } catch {
    return null
  }
}

/** Keeps the first one. */
export function keepPort(stateDir: string, of: Kept, port: number): void {
  if (keptPort(stateDir, of) !== null) return
  writeFileSync(portFile(stateDir, of), `${port}\n`, { mode: 0o600 })
}

/** The process that listens on a port of loopback, such as `process 4711 (node)`; null where the system does not tell. */
export function listenerOn(port: number): string | null {
  try {
    const sockets = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => socketsOn(table, port))
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      if (holdsOneOf(pid, sockets)) {
        const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
        return `process ${pid} (${name})`
      }
  } catch {
    // Not Linux, or a process that has just ended.
  }
  return null
}

/** `0A`: it listens. */
const LISTENS = '0A'

/** The sockets that listen on a port, as links of open files name them. */
function socketsOn(table: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return readFileSync(table, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((cells) => cells[1]?.endsWith(`:${hex}`) && cells[3] === LISTENS)
    .map((cells) => `socket:[${cells[9]}]`)
}

/** Processes of other users are not told. */
function holdsOneOf(pid: string, sockets: readonly string[]): boolean {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).some((name) => sockets.includes(linkAt(join(folder, name))))
  } catch {
    return false
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
