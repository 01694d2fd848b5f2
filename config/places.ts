// Where in the configuration the mistake is that only the service, or the source, could find.

import {
  CaUnusable,
  formatIssue,
  MappingError,
  MirrorInvalid,
  isOfKey,
  ServiceFailure,
  SourceError,
  SyncError,
  type MappingProblem,
} from '../src/core/errors.ts'
import { readDocument, type ConfigDocument } from './document.ts'
import type { Environment } from './environment.ts'
import { valueAt } from './issues.ts'
import { placeInLink } from './link-sync.ts'
import { readText } from './load.ts'

/**
 * The error, with `file:line:column` for each of its problems if it is about a mapping or a mirror, of the setting that names the file
 * if it is about a CSV file, and within the query if it is about one over such a file. The error is unchanged if the configuration cannot be read, or no longer has the sync.
 */
export async function placedMapping(
  error: unknown,
  file: string,
  env: Environment,
): Promise<unknown> {
  if (error instanceof SourceError) return await placedSource(error, file, env)
  const isMirror = error instanceof MirrorInvalid
  if (!isMirror && !(error instanceof MappingError && error.sync !== null)) return error
  try {
    const document = readDocument(await readText(file), env)
    const kind = isMirror ? 'mirror' : kindOfImport(document, error.sync!)
    const sync = ['syncs', error.sync!, kind]
    if (!document.has(sync)) return error
    const place = isMirror ? placeInMirror : placeInImport
    const placed = (problem: MappingProblem) =>
      formatIssue(file, { message: problem.message, ...place(document, sync, problem) })
    // In the order of the file, in which a person mends them.
    const found = error.found
      .map((problem) => ({ problem, at: place(document, sync, problem) }))
      .toSorted((a, b) => a.at.line - b.at.line || a.at.column - b.at.column)
      .map(({ problem }) => problem)
    return isMirror
      ? new MirrorInvalid(error.sync, found, placed)
      : new MappingError(error.sync, found, placed)
  } catch {
    return error
  }
}

async function placedSource(
  error: SourceError,
  file: string,
  env: Environment,
): Promise<SourceError> {
  if (error.sync === null) return error
  try {
    const document = readDocument(await readText(file), env)
    const from = ['syncs', error.sync, kindOfImport(document, error.sync), 'from']
    const isOfQuery = error.code.startsWith('query_') && document.has([...from, 'sql'])
    const path = [...from, isOfQuery ? 'sql' : 'csv']
    if (!document.has(path)) return error
    const { line, column } =
      isOfQuery && error.line !== undefined
        ? document.placeIn(path, error.line, error.column ?? 1)
        : document.place(path)
    return error.of(null, `${file}:${line}:${column}: ${error.message}`)
  } catch {
    return error
  }
}

/** `file:line:column` of the key of a connection; the file alone if it cannot be read. */
export const placeOfKey = (name: string, file: string, env: Environment): Promise<string> =>
  placeOfConnection(name, 'key', file, env)

/** Every Records Service has it: where it is not found, the address leads to something else. */
const isNoRecordsService = ({ kind, status, message }: ServiceFailure): boolean =>
  kind === 'problem' && status === 404 && message.startsWith('readSelf: ')

/**
 * The error, with `file:line:column` of the service of the connection if no Records Service answered there; else it is unchanged.
 */
export async function placedService(
  error: unknown,
  name: string,
  file: string,
  env: Environment,
): Promise<unknown> {
  // A key that cannot be used has its own place in the message, and no service was asked.
  if (!(error instanceof ServiceFailure) || isOfKey(error)) return error
  const isElsewhere = isNoRecordsService(error)
  if (error.kind === 'problem' && !isElsewhere) return error
  const place = await placeOfConnection(
    name,
    error instanceof CaUnusable ? 'ca' : 'service',
    file,
    env,
  )
  // The name of the operation says nothing here: any other would have failed as well.
  const what = error.message.replace(/^[A-Za-z]+: /, '')
  const hint = isElsewhere
    ? '; no Records Service is at this path; expected its base URL, without /rest/v1'
    : error.kind === 'no_answer' && !error.outcomeUnknown && !error.isExplained
      ? '; is the service running?'
      : ''
  return new SyncError(error.code, `${place}: ${what}${hint}`, error.details)
}

async function placeOfConnection(
  name: string,
  setting: 'ca' | 'key' | 'service',
  file: string,
  env: Environment,
): Promise<string> {
  try {
    const document = readDocument(await readText(file), env)
    const { line, column } = document.place(['connections', name, setting])
    return `${file}:${line}:${column}`
  } catch {
    return file
  }
}

type Place = ReturnType<ConfigDocument['place']>

/** How the file writes an import. */
const kindOfImport = (document: ConfigDocument, sync: string): 'import' | 'link' =>
  document.has(['syncs', sync, 'link']) ? 'link' : 'import'

function placeInImport(document: ConfigDocument, sync: string[], problem: MappingProblem): Place {
  const isLink = sync.at(-1) === 'link'
  const path = isLink ? placeInLink(problem.path) : problem.path
  if (isLink || path[0] === 'links') return placeBelow(document, sync, path)
  // `svc_id: id` is short for a mapping with a column.
  const [at, isShort] = document.has([...sync, ...path])
    ? [[...sync, ...path], false]
    : [[...sync, ...path.slice(0, 2)], path.length === 3]
  const isName = path.length === 2 && !isShort
  return document.place(at, isName ? 'key' : 'value')
}

/** The value at `path`, or that of the nearest setting above it which is there. */
function placeBelow(document: ConfigDocument, sync: string[], path: readonly string[]): Place {
  const steps = path.map((step) => (/^\d+$/.test(step) ? Number(step) : step))
  const length = steps.findIndex((_, at) => !document.has([...sync, ...steps.slice(0, at + 1)]))
  return document.place([...sync, ...(length < 0 ? steps : steps.slice(0, length))], 'value')
}

/** The entry of a list that is meant. */
function placeInMirror(
  document: ConfigDocument,
  sync: string[],
  { path: [setting = '', name = ''], at }: MappingProblem,
): Place {
  const value = valueAt(document.data, [...sync, setting])
  const entry = Array.isArray(value) ? value.indexOf(name) : name
  return document.place([...sync, setting, ...(entry === -1 || entry === '' ? [] : [entry])], at)
}
