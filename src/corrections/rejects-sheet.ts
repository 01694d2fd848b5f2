// Writes rejects as lines of CSV for a spreadsheet: the original columns, then what is wrong with the row and what would be
// accepted.

import type { ImportConfig } from '../../config/index.ts'
import { propertyOfField } from '../core/domain/error-field.ts'
import { IN_DOUBT, inDoubtDetail } from '../core/domain/in-doubt.ts'
import { mappedColumns } from '../core/domain/mapped-columns.ts'
import type { Json } from '../core/json.ts'
import { jobOf } from '../runs/job.ts'
import type { ReportedItem, Run } from '../ledger/ledger.ts'
import { acceptedValues } from './accepted-values.ts'
import { cellText, csvCell } from './cells.ts'
import { rejectColumnNames, REJECT_COLUMNS, rowReference } from './reject-columns.ts'

/** Without it, Excel reads the file in one of its own old encodings. */
export const BYTE_ORDER_MARK = '\uFEFF'

/** What was expected; for several cells, each with its column. */
const expectedOf = ({ detail, column, more }: ReportedItem): string | null =>
  more.length === 0
    ? detail
    : [{ column, detail }, ...more].map((one) => `${one.column}: ${one.detail}`).join('; ')

/** The same, and of a row in doubt why it is. */
export const rejectDetail = (item: ReportedItem, { mode }: Pick<ImportConfig, 'mode'>): string =>
  (item.inDoubt ? inDoubtDetail(mode, expectedOf(item)) : expectedOf(item)) ?? ''

/** What is wrong with a row, in one word. */
export const rejectReason = (item: ReportedItem): string =>
  item.reason ?? item.code ?? (item.inDoubt ? IN_DOUBT : item.state)

/** That of the source, with which the programs of its owners open such files. */
export function rejectsDelimiter(run: Parameters<typeof jobOf>[0]): string {
  const { from } = jobOf(run, 'import').sync.import
  return 'csv' in from && from.delimiter !== undefined && from.delimiter !== '"'
    ? from.delimiter
    : ','
}

/**
 * How the rows of a run are written. `header` and `line` return lines of CSV; `propertyOf` returns the property that an error is
 * about, null if it is about the whole record.
 * @param exact whether cells that a spreadsheet would run as formulas stay unchanged
 */
export function createRejectsSheet(
  run: Pick<Run, 'id' | 'kind' | 'purpose' | 'of' | 'config' | 'schema' | 'sourceColumns'>,
  exact: boolean,
) {
  const { import: config } = jobOf(run, 'import').sync
  const columns = run.sourceColumns ?? []
  const names = rejectColumnNames(columns)
  const schema = new Map(Object.entries(run.schema ?? {}))
  const accepted = new Map<string, string>()
  const delimiter = rejectsDelimiter(run)
  const lineOf = (cells: readonly (Json | undefined)[]) =>
    `${cells.map((cell) => csvCell(cellText(cell), exact)).join(delimiter)}\n`

  const isMapped = (property: string) => Object.hasOwn(config.properties, property)
  const propertyOf = ({ field }: ReportedItem): string | null => propertyOfField(field, isMapped)
  const acceptedFor = (property: string): string => {
    const known = accepted.get(property)
    if (known !== undefined) return known
    const words = acceptedValues(config, property, schema.get(property))
    accepted.set(property, words)
    return words
  }
  return {
    /** What a cell of the property must have to be accepted; empty if that is not known. */
    acceptedOf: (property: string): string => (isMapped(property) ? acceptedFor(property) : ''),
    header: lineOf([...columns, ...REJECT_COLUMNS.map((part) => names[part])]),
    propertyOf,
    line(item: ReportedItem): string {
      const property = propertyOf(item)
      const mapping =
        property !== null && isMapped(property) ? config.properties[property] : undefined
      const about: Record<(typeof REJECT_COLUMNS)[number], string> = {
        line: String(item.line),
        row: rowReference(run.id, item.ordinal, item.attempt?.run),
        state: item.state,
        reason: rejectReason(item),
        column: [
          item.column ?? mappedColumns(mapping ?? {})[0] ?? property ?? item.field ?? '',
          ...item.more.map(({ column, field }) => column ?? field ?? ''),
        ].join(', '),
        value: item.value ?? '',
        detail: rejectDetail(item, config),
        accepted: property !== null && mapping ? acceptedFor(property) : '',
        request_id: item.requestId ?? '',
      }
      return lineOf([
        ...columns.map((_, index) => item.raw?.[index]),
        ...REJECT_COLUMNS.map((part) => about[part]),
      ])
    },
  }
}
