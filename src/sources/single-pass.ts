// A source that is read once, and gives its summary only after the last row.

import type { Source, SourceFault, SourceRow, SourceSummary } from './source.ts'

interface Reading extends Omit<Source, 'chunks' | 'summary'> {
  readonly fault: SourceFault
  /** Returns the summary after the last row. */
  readonly read: (
    rowsMax: number,
    signal: AbortSignal | undefined,
  ) => AsyncGenerator<readonly SourceRow[], SourceSummary, undefined>
}

/** A second reading fails with `source_read_twice`, an early summary with `source_not_read`. */
export function singlePass({ fault, read, ...source }: Reading): Source {
  let hasBegun = false
  let summary: SourceSummary | undefined
  return {
    ...source,
    async *chunks(rowsMax, signal) {
      if (hasBegun)
        throw fault('source_read_twice', 'the source was read before; expected one reading')
      hasBegun = true
      summary = yield* read(rowsMax, signal)
    },
    summary() {
      if (summary !== undefined) return summary
      throw fault('source_not_read', 'the summary is known after the last row only')
    },
  }
}
