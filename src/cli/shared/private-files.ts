// The files of a project that hold rows, and so are their owner's alone: 600, in folders of 700. What is made now is so; what an
// older release made may not be.

import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { warehouseOf } from '../../warehouses/index.ts'

/** Rights of others than the owner. */
const OTHERS = 0o077
/** Folder that is ours, whatever it holds. */
const OUR_FOLDER = '.records-sync'
/** How many files and folders in it are checked, and how deep. */
const ENTRIES_MAX = 10_000
const DEPTH_MAX = 4

export interface ExposedFile {
  readonly path: string
  readonly isFolder: boolean
  /** Its permissions, such as `644`. */
  readonly mode: string
}

/** The private files and folders that other users of this machine may read, write or list. */
export function findExposedFiles(config: Config): readonly ExposedFile[] {
  const found: ExposedFile[] = []
  const seen = new Set<string>()
  const look = (path: string, depth: number): void => {
    if (seen.has(path) || seen.size >= ENTRIES_MAX) return
    seen.add(path)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    // A user chose what a link leads to.
    if (!stat || stat.isSymbolicLink() || (!stat.isFile() && !stat.isDirectory())) return
    const isFolder = stat.isDirectory()
    if ((stat.mode & OTHERS) !== 0)
      found.push({ path, isFolder, mode: (stat.mode & 0o777).toString(8) })
    if (!isFolder || depth === 0) return
    for (const name of namesIn(path)) look(join(path, name), depth - 1)
  }
  for (const path of placesOf(config)) look(path, DEPTH_MAX)
  return found
}

/** Takes the rights of others away. Returns those that could not be changed. */
export function restrictFiles(files: readonly ExposedFile[]): readonly ExposedFile[] {
  return files.filter(({ path, isFolder }) => {
    try {
      chmodSync(path, isFolder ? 0o700 : 0o600)
      return false
    } catch {
      return true
    }
  })
}

function placesOf(config: Config): string[] {
  const folder = dirname(config.file)
  const places = [join(folder, OUR_FOLDER)]
  const withSidecars = (path: string, endings: readonly string[]) =>
    places.push(path, ...endings.map((ending) => `${path}${ending}`))
  if ('sqlite' in config.ledger) {
    const { sqlite } = config.ledger
    const home = dirname(sqlite)
    if (basename(home) === OUR_FOLDER) places.push(home)
    withSidecars(sqlite, ['-wal', '-shm', '.lock'])
    withSidecars(join(home, 'quota.db'), ['-wal', '-shm', '.lock'])
  }
  const mirrored = new Set(
    Object.values(config.syncs).flatMap((sync) => (sync.kind === 'mirror' ? [sync.mirror.to] : [])),
  )
  for (const name of mirrored) {
    const warehouse = config.warehouses[name]
    const file = warehouse && warehouseOf(warehouse).file(warehouse)
    if (file) withSidecars(file.path, file.endings)
  }
  return places
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
