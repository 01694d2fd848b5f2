// The registry of sources: from a sync's configuration to an opened source. A new source is one more line here.

import { SourceError } from '../core/errors.ts'
import { windowProblem } from '../core/windows.ts'
import type { Warehouse } from '../warehouses/warehouse.ts'
import { openCsv } from './csv/index.ts'
import { openQuery } from './query/index.ts'
import { openRecords, type SourceClient } from './records/index.ts'
import type { SourceSettings } from './settings.ts'
import { FROM_THE_START, type Source } from './source.ts'

/** Opens what a source refers to by its name in the configuration. */
export interface SourceOpeners {
  openWarehouse(name: string, signal?: AbortSignal): Promise<Warehouse>
  connect(connection: string): Promise<{ client: SourceClient }>
}

/**
 * @param extent default: all of a file or of records, a query from the start
 * @throws SourceError if the source cannot be opened, has no usable header, or has no window; Blocked if it cannot be reached now
 */
export async function openSource(
  sync: { readonly name: string; readonly import: { readonly from: SourceSettings } },
  openers: SourceOpeners,
  signal?: AbortSignal,
  extent = FROM_THE_START,
): Promise<Source> {
  const { from } = sync.import
  const problem = extent.window === null ? null : windowProblem(from)
  if (problem !== null)
    throw new SourceError(
      'source_window',
      `Sync "${sync.name}" cannot be read in a window: ${problem}`,
    )
  if ('csv' in from) return await openCsv({ ...from, path: from.csv })
  if ('records' in from) {
    const { client } = await openers.connect(from.records.connection)
    return await openRecords(client, from.records, { signal, window: extent.window })
  }
  return await openQuery(sync.name, from, openers.openWarehouse, signal, extent)
}
