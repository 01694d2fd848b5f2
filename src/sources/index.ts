// The register of sources: a source is its folder and its line here. Settings, checks and openers follow from what it states.

import { SourceError } from '../core/errors.ts'
import { mappedColumns, namedColumns, type NamesColumns } from '../core/domain/mapped-columns.ts'
import { driverOf, type SettingsOf } from '../settings/choice.ts'
import { csv } from './csv/driver.ts'
import type { SourceDriver, SourceOpeners } from './driver.ts'
import { withLocalTimes, withNames } from './named-columns.ts'
import { query } from './query/driver.ts'
import { records } from './records/driver.ts'
import { FROM_THE_START, type Source } from './source.ts'

export const SOURCES = [
  csv, //
  query,
  records,
] satisfies readonly SourceDriver[]

/** What an import's `from` is set to. */
export type SourceSettings = SettingsOf<(typeof SOURCES)[number]>

export type { SourceOpeners } from './driver.ts'
export { FROM_THE_START } from './source.ts'

/** What the source of an import can do. */
export const sourceOf = (from: SourceSettings): SourceDriver => driverOf(SOURCES, from)

/** Whether rows are the records of a Records Service. */
export const isRecords = (from: SourceSettings): boolean => 'records' in from

/** Why a source cannot be read in a window, in one sentence for people; null if it can, as far as its settings say. */
export const windowProblem = (from: SourceSettings): string | null =>
  sourceOf(from).windowProblem(from)

/**
 * @param extent default: all of a file or of records, a query from the start
 * @throws SourceError if the source cannot be opened, has no usable header, or has no window; Blocked if it cannot be reached now
 */
export async function openSource(
  {
    name,
    import: config,
  }: {
    readonly name: string
    readonly import: NamesColumns & { readonly from: SourceSettings }
  },
  openers: SourceOpeners,
  signal?: AbortSignal,
  extent = FROM_THE_START,
): Promise<Source> {
  const { from } = config
  const problem = extent.window === null ? null : windowProblem(from)
  if (problem !== null)
    throw new SourceError('source_window', `Sync "${name}" cannot be read in a window: ${problem}`)
  const source = await sourceOf(from).open(name, from, openers, extent, signal)
  const zoned = Object.values(config.properties ?? {}).flatMap((mapping) =>
    mapping.zone === undefined ? [] : mappedColumns(mapping),
  )
  const named = withLocalTimes(withNames(source, namedColumns(config)), zoned)
  const names = Object.values(config.properties ?? {}).flatMap(mappedColumns)
  const line = names.every((column) => named.columns.includes(column))
    ? null
    : (source.lineWith?.(names) ?? null)
  if (line === null || line === 1) return named
  await source.close()
  throw new SourceError(
    'csv_header',
    `Sync "${name}": its mapping names columns that the header lacks, and line ${line} of the file has them all; write \`header: ${line}\` under \`from\``,
  )
}

/**
 * What cells become, from a CSV file next to the source: two columns, with the delimiter, quotes and encoding of a source that is a
 * CSV file.
 * @param same makes the form in which cells are compared @throws SourceError with the line of what is wrong
 */
export async function readPairs(
  path: string,
  from: SourceSettings,
  same: (text: string) => string,
): Promise<ReadonlyMap<string, string | null>> {
  const pairs = await import('./csv/pairs.ts')
  return await pairs.readCsvPairs(path, 'csv' in from ? from : {}, same)
}
