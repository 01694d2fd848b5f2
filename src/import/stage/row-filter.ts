// A source, limited to the rows whose column has one value: for a reconciliation of a part.

import { SourceError } from '../../core/errors.ts'
import type { ReconcileScope } from '../../core/domain/purpose.ts'
import type { Source } from '../../sources/source.ts'
import { sourceCellText } from '../mapping/coerce.ts'
import { textHash } from '../mapping/map.ts'

/**
 * The rows of `source` with the value, numbered again; their lines stay.
 * @throws SourceError `where_column` for a column that the source does not have
 */
export function filterRows(
  source: Source,
  { column, digest }: NonNullable<ReconcileScope['where']>,
): Source {
  const index = source.columns.indexOf(column)
  if (index < 0)
    throw new SourceError(
      'where_column',
      `--where: the source has no column "${column}"; it has: ${source.columns.slice(0, 50).join(', ')}`,
    )
  let rows = 0
  return {
    columns: source.columns,
    async *chunks(rowsMax, signal) {
      for await (const chunk of source.chunks(rowsMax, signal)) {
        // A row with another number of cells than columns is included: it is not known which of its values is of the column.
        const chosen = chunk.filter(
          ({ cells }) =>
            cells.length !== source.columns.length ||
            textHash(sourceCellText(cells[index] ?? '')) === digest,
        )
        yield chosen.map((row) => ({ ...row, ordinal: ++rows }))
      }
    },
    readShare: () => source.readShare?.() ?? null,
    summary: () => ({ rows, digest: source.summary().digest }),
    close: () => source.close(),
  }
}
