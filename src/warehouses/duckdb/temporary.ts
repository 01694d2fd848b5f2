// Where DuckDB puts what does not fit into its memory: a folder of this process, which other users can neither enter nor create
// first. It is removed with the process; what a killed process left is removed by the next one that needs such a folder.

import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Blocked } from '../../core/errors.ts'
import { tooManyOpenFiles } from '../../core/open-files.ts'
import { isRunning } from '../processes.ts'

const PREFIX = 'records-sync-tmp'
const hashOf = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length)

/** The namespace of these process ids: those of another container mean nothing here. */
function numberSpace(): string {
  let space = ''
  try {
    space = readlinkSync('/proc/self/ns/pid')
  } catch {
    // Not Linux.
  }
  return hashOf(`${hostname()} ${space}`, 8)
}

let home: string | undefined

/** A folder of this process alone, for its work on one file. DuckDB creates it when needed. */
export function temporaryFolder(purpose: string, path: string): string {
  return join(homeOfProcess(), `${purpose}-${hashOf(path, 16)}`)
}

/** Why no temporary file can be made, and what to do; null: nothing is known to be wrong. */
export function temporaryProblem(folder: string = tmpdir()): string | null {
  const name = `the folder for temporary files, ${folder} (TMPDIR),`
  try {
    if (!statSync(folder).isDirectory())
      return `${name} is a file; set it to a folder: export TMPDIR=/tmp`
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? `${name} does not exist; make it: mkdir -p ${folder}; or name another: export TMPDIR=/tmp`
      : `${name} cannot be written by this user (${code}); make it writable: chmod u+rwx ${folder}; or name another: export TMPDIR=/tmp`
  }
}

/** How often a run asks for the folder again, ms. */
const ASKED_AGAIN_MS = 10_000

/** Created again if the system's temporary folder was cleaned. @throws Blocked */
function homeOfProcess(): string {
  if (home !== undefined && existsSync(home)) return home
  const space = numberSpace()
  let made: string
  try {
    removeLeftovers(tmpdir(), space)
    // With mode 700, and under a free name: if another user creates such a folder first, this process gets another one.
    made = mkdtempSync(join(tmpdir(), `${PREFIX}-${space}-${process.pid}-`))
  } catch (error) {
    const full = tooManyOpenFiles(error)
    if (full) throw full
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const why =
      temporaryProblem() ??
      `the folder for temporary files, ${tmpdir()} (TMPDIR), takes no more (${code}); free some room on its disk, or name another: export TMPDIR=/tmp`
    throw new Blocked('disk', why, ASKED_AGAIN_MS)
  }
  process.once('exit', () => rmSync(made, { recursive: true, force: true }))
  return (home = made)
}

/** Removes what our ended processes left behind. */
export function removeLeftovers(folder: string, space: string = numberSpace()): void {
  const pattern = new RegExp(`^${PREFIX}-${space}-(\\d+)-[A-Za-z0-9]{6}$`)
  for (const name of readdirSync(folder)) {
    const pid = Number(pattern.exec(name)?.[1] ?? 0)
    if (pid === 0 || pid === process.pid || isRunning(pid)) continue
    const path = join(folder, name)
    try {
      const stat = lstatSync(path)
      if (stat.isDirectory() && stat.uid === process.getuid?.())
        rmSync(path, { recursive: true, force: true })
    } catch {
      // Another process was faster.
    }
  }
}
