// Which files a query may read: those in the folders of its warehouse, and never one that contains a secret.

import { closeSync, openSync, readSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { SyncError } from '../../core/errors.ts'
import { isLedgerFile } from '../../sqlite/own-tables.ts'
import type { ProjectFiles } from '../driver.ts'
import { quoteLiteral } from './sql.ts'

/** Runs a statement of ours, and returns its rows. */
export type AskRows = (sql: string) => Promise<readonly (readonly unknown[])[]>

/** Files that a pattern may match. */
const MATCHES_MAX = 100_000
const PATTERN = /[*?[{]/

export type FilePlaces = ProjectFiles & {
  /** Folders whose files may be read. Default: `folder`. */
  readonly files?: readonly string[] | undefined
  /** Where no file may be read: what to do instead. */
  readonly instead?: string
}

/** @param name a file in a query, or a pattern of names @throws SyncError `query_refused` */
export async function checkFile(name: string, places: FilePlaces, ask: AskRows): Promise<void> {
  if (places.instead !== undefined) throw refusedQuery('reads files', places.instead)
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name))
    throw refusedQuery('names an address', 'expected a file of this machine')
  const path = resolve(places.folder, name.replace(/^~(?=\/|$)/, homedir()))
  const roots = await Promise.all((places.files ?? [places.folder]).map(real))
  const secrets = await Promise.all((places.secrets ?? []).map(identity))
  if (!PATTERN.test(path)) return await checkOne(path, roots, secrets)
  const steps = path.split(sep)
  const first = steps.findIndex((step) => PATTERN.test(step))
  // Checked before any name is looked up.
  checkRoot(await real(steps.slice(0, first).join(sep) || sep), roots)
  const found = await ask(`SELECT file FROM glob(${quoteLiteral(path)}) LIMIT ${MATCHES_MAX + 1}`)
  if (found.length > MATCHES_MAX)
    throw refusedQuery('names very many files', `expected at most ${MATCHES_MAX}`)
  for (const [file] of found) await checkOne(String(file), roots, secrets)
}

async function checkOne(
  path: string,
  roots: readonly string[],
  secrets: readonly Identity[],
): Promise<void> {
  const file = await real(path)
  checkRoot(file, roots)
  const found = await identity(file)
  const isPrivate = 'reads a file that is private'
  for (const secret of secrets)
    if (isWithin(file, secret.path) || (secret.inode !== null && secret.inode === found.inode))
      throw refusedQuery(isPrivate, 'expected data files; keys and ledgers are none')
  // Where programs keep keys, by custom: `.env`, `.netrc`, `.git`, `.ssh`. A folder that `files` names is meant.
  const root = roots
    .filter((one) => isWithin(file, one))
    .toSorted((a, b) => b.length - a.length)[0]!
  if (/(?:^|[/\\])\./.test(relative(root, file)))
    throw refusedQuery(
      isPrivate,
      'expected data files; one whose name, or folder, begins with a point is none',
    )
  if (found.inode !== null && holdsKey(file))
    throw refusedQuery(isPrivate, 'expected data files; one with a private key is none')
  // A backup, or any other copy, whatever its name.
  if (found.inode !== null && isLedgerFile(file))
    throw refusedQuery(isPrivate, 'expected data files; copies of a ledger are none')
}

function checkRoot(path: string, roots: readonly string[]): void {
  if (roots.some((root) => isWithin(path, root))) return
  throw refusedQuery(
    'reads files outside of the folders that its warehouse names',
    "`files` of the warehouse lists those whose files may be read; by default it is the configuration's",
  )
}

/** Whether the path is the folder or file itself, or inside it. */
function isWithin(path: string, folder: string): boolean {
  const rest = relative(folder, path)
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest))
}

/** The path with links resolved, as far as it exists. */
async function real(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await real(parent), relative(parent, path))
  }
}

/** Bytes at the beginning of a file in which a private key is looked for: keys come with a certificate or two at most. */
const LOOKED_AT = 65_536
const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY|^PuTTY-User-Key-File-/m

/** Whether a file begins with a private key in text form, or with what comes before one: the key of a copy has any name. */
function holdsKey(path: string): boolean {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch {
    return false
  }
  try {
    const buffer = Buffer.alloc(LOOKED_AT)
    // One character for each byte; UTF-16, as some editors save it, has a zero next to each.
    const text = buffer.toString('latin1', 0, readSync(file, buffer, 0, LOOKED_AT, 0))
    return PRIVATE_KEY.test(text) || PRIVATE_KEY.test(text.replaceAll('\0', ''))
  } finally {
    closeSync(file)
  }
}

interface Identity {
  readonly path: string
  /** Device and inode: the same for a hard link. */
  readonly inode: string | null
}

async function identity(path: string): Promise<Identity> {
  const found = await stat(path).catch(() => null)
  const isFile = found?.isFile() ?? false
  return { path: await real(path), inode: isFile ? `${found!.dev}:${found!.ino}` : null }
}

/** The error for a query that does more than read, or reads what it may not. */
export const refusedQuery = (what: string, expected: string): SyncError =>
  new SyncError(
    'query_refused',
    `expected one SELECT that only reads; the query ${what}; ${expected}`,
  )
