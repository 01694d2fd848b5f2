// The register of sources: a source is its folder and its line here. Settings, checks and openers follow from what it states.

import { SourceError } from '../core/errors.ts'
import { driverOf, type SettingsOf } from '../settings/choice.ts'
import { csv } from './csv/driver.ts'
import type { SourceDriver, SourceOpeners } from './driver.ts'
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

/** What the source of an import can do. */
export const sourceOf = (from: SourceSettings): SourceDriver => driverOf(SOURCES, from)

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
    import: { from },
  }: { readonly name: string; readonly import: { readonly from: SourceSettings } },
  openers: SourceOpeners,
  signal?: AbortSignal,
  extent = FROM_THE_START,
): Promise<Source> {
  const problem = extent.window === null ? null : windowProblem(from)
  if (problem !== null)
    throw new SourceError('source_window', `Sync "${name}" cannot be read in a window: ${problem}`)
  return await sourceOf(from).open(name, from, openers, extent, signal)
}
