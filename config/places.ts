// Where in the configuration a mapping is wrong that only the service, or the source, could tell.

import { formatIssue, MappingError } from '../src/core/errors.ts'
import { readDocument } from './document.ts'
import type { Environment } from './environment.ts'
import { readText } from './load.ts'

/**
 * The error, with `file:line:column` for each of its problems where it is one of a mapping; as it is where the file cannot be
 * read, or has the sync no more.
 */
export async function placedMapping(
  error: unknown,
  file: string,
  env: Environment,
): Promise<unknown> {
  if (!(error instanceof MappingError) || error.sync === null) return error
  const sync = ['syncs', error.sync, 'import']
  try {
    const document = readDocument(await readText(file), env)
    if (!document.has(sync)) return error
    return new MappingError(error.sync, error.found, ({ message, path }) => {
      // `svc_id: id` is short for a mapping with a column.
      const [at, isShort] = document.has([...sync, ...path])
        ? [[...sync, ...path], false]
        : [[...sync, ...path.slice(0, 2)], path.length === 3]
      const isName = path.length === 2 && !isShort
      return formatIssue(file, { message, ...document.place(at, isName ? 'key' : 'value') })
    })
  } catch {
    return error
  }
}
