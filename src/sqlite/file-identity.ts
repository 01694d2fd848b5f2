// Whether a path still leads to the file that was opened at it. A SQLite file that was removed or replaced still works for a
// process that has it open; but no other process sees what is written there then.

import { readFileSync, realpathSync, statSync, type BigIntStats } from 'node:fs'

const statOf = (path: string): BigIntStats | null =>
  statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null

/** Device and inode; null if there is no such file. */
const identityOf = (path: string): string | null => {
  const facts = statOf(path)
  return facts && `${facts.dev}:${facts.ino}`
}

/** The file's number in its file system, which distinguishes it from a copy, whatever its path; 0 if there is none. */
export function fileNumber(path: string): bigint {
  try {
    return statOf(path)?.ino ?? 0n
  } catch {
    return 0n
  }
}

/**
 * The number of further names (hard links) of the file; 0 if there is no file, or none that can be checked. Each of two names
 * has its own write-ahead log, and each loses the other's writes.
 */
export function countHardLinks(path: string): number {
  try {
    const facts = statOf(path)
    return facts?.isFile() ? Number(facts.nlink) - 1 : 0
  } catch {
    return 0
  }
}

/** Linux's list of the mounts that this process sees. */
export const MOUNT_INFO = '/proc/self/mountinfo'

/**
 * Whether the file is mounted by itself, as containers mount single files. The log that SQLite keeps next to it is then not the
 * log of a process that has the file in its own folder. Only Linux has such mounts.
 */
export function isMountedAlone(path: string, mountInfo: string = MOUNT_INFO): boolean {
  try {
    const real = realpathSync(path)
    return readFileSync(mountInfo, 'utf8')
      .split('\n')
      .some((line) => unescaped(line.split(' ')[4] ?? '') === real)
  } catch {
    return false
  }
}

/** Spaces and some other characters are octal numbers: `\040`. */
const unescaped = (place: string): string =>
  place.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  )

/** The files of one open database: itself, and, once they were seen, its write-ahead log and that log's index. */
export class FileIdentity {
  readonly #names: readonly string[]
  readonly #known = new Map<string, string>()

  /** @param withLog also the log and its index: for a file that stays open, so that they stay too */
  constructor(path: string, withLog = true) {
    this.#names = withLog ? [path, `${path}-wal`, `${path}-shm`] : [path]
    this.isReplaced()
  }

  /** Whether one of them was removed or replaced since it was first seen. */
  isReplaced(): boolean {
    for (const name of this.#names) {
      const known = this.#known.get(name)
      let now: string | null
      try {
        now = identityOf(name)
      } catch {
        // A folder without permission to read it says nothing about the file.
        continue
      }
      if (known === undefined) {
        if (now !== null) this.#known.set(name, now)
      } else if (now !== known) return true
    }
    return false
  }
}
