// Who holds the write lock of a SQLite file, where the operating system says so (Linux, in /proc).

import { readFileSync, readlinkSync, readdirSync, statSync, type Stats } from 'node:fs'

export interface WriteLockHolder {
  readonly pid: number
  /** Such as `sqlite3`. */
  readonly program: string
}

/** Where SQLite's locks are: of a file with a log in the index of the log, of one without in the file itself. */
const LOG_WRITE = 120
const FILE_PENDING = 0x40000000

/** The other process that holds it; null if none does, or if that is not known. */
export function writeLockHolder(path: string): WriteLockHolder | null {
  return (
    holderOf(`${path}-shm`, (first, last) => first <= LOG_WRITE && LOG_WRITE <= last) ??
    holderOf(path, (_, last) => last >= FILE_PENDING)
  )
}

/** `sqlite3 (process 4711)` */
export const holderText = ({ pid, program }: WriteLockHolder): string =>
  `${program} (process ${pid})`

function holderOf(path: string, isWrite: (first: number, last: number) => boolean) {
  try {
    const file = statSync(path)
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      // `7: POSIX  ADVISORY  WRITE 4711 fe:01:1048 120 120`; one that waits has an arrow behind its number.
      const [, kind, , access, pid = '', inode, first, last] = line.split(/\s+/)
      if (kind !== 'POSIX' || access !== 'WRITE' || !inode?.endsWith(`:${file.ino}`)) continue
      const end = last === 'EOF' ? Infinity : Number(last)
      if (!isWrite(Number(first), end) || Number(pid) === process.pid) continue
      if (isDevice(inode, file) || hasOpen(pid, path))
        return { pid: Number(pid), program: nameOf(pid) }
    }
  } catch {
    // Another system, or a file that is gone.
  }
  return null
}

/** `MAJOR:MINOR:INODE`, the first two in hexadecimal. */
function isDevice(inode: string, { dev }: Pick<Stats, 'dev'>): boolean {
  const [major, minor] = inode.split(':').map((part) => parseInt(part, 16))
  return major === ((dev >> 8) & 0xfff) && minor === ((dev & 0xff) | ((dev >> 12) & 0xfff00))
}

/** Some file systems have another device than that of their locks. */
function hasOpen(pid: string, path: string): boolean {
  try {
    const { dev, ino } = statSync(path)
    return readdirSync(`/proc/${pid}/fd`).some((name) => {
      const open = `/proc/${pid}/fd/${name}`
      if (!readlinkSync(open).startsWith('/')) return false
      const found = statSync(open)
      return found.dev === dev && found.ino === ino
    })
  } catch {
    return false
  }
}

const nameOf = (pid: string): string => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
