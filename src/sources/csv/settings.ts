// A CSV file as a source: its settings.

import { z } from 'zod'
import type { Settings } from '../../settings/choice.ts'
import { betweenNumbers, pathSetting, textList, textSetting } from '../../settings/parts.ts'

function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label)
    return true
  } catch {
    return false
  }
}

/** Names of tables, as a query writes them without quotes. */
const TABLE = /^[a-z_][a-z0-9_]{0,62}$/

export const csvSettings = {
  csv: pathSetting()
    .optional()
    .describe('CSV file, relative to this file. Its first line names the columns.'),
  delimiter: z
    .string()
    .regex(/^[^\r\n\0\ufeff]$/u, 'expected one character, such as `,`, `;` or `"\\t"`')
    .optional()
    .describe('Character between the cells of a CSV file. Default: `,`.'),
  quote: z
    .string()
    .regex(/^[^\r\n\0\ufeff]$/u, 'expected one character, or null for none')
    .nullable()
    .optional()
    .describe(
      'Character around cells that hold the delimiter or a new line; null for none. Default: `"`.',
    ),
  encoding: z
    .string()
    .refine(isEncoding, 'expected an encoding such as `utf-8`, `windows-1252` or `utf-16le`')
    .optional()
    .describe('Encoding of the file. Default: what its byte order mark says, else UTF-8.'),
  ragged: z
    .enum(['refuse', 'reject'])
    .optional()
    .describe(
      'What a row of a CSV file with too few or too many cells does: `reject` sets it aside alone (`row_ragged`), `refuse` stops before anything is written. A last row with too few cells always stops, because the file may be cut off. Default: `reject`.',
    ),
  footer: betweenNumbers(1, 100)
    .int('expected a whole number')
    .optional()
    .describe(
      'Rows at the end of a CSV file that are no data, such as the notes of a report. Each has one value at most, in fewer cells than the header has; otherwise the run stops, because the file may be cut off. A run says that they are left out. Default: none.',
    ),
  nulls: textList()
    .optional()
    .describe(
      'Cells of a CSV file that mean no value, such as `\\N` of a database. Default: none.',
    ),
  sql: textSetting()
    .optional()
    .describe(
      'One SQL query over a CSV file, whose rows are imported instead: a SELECT from the table `rows`, which has the columns of the file as texts, and the line of each row in `_line`. It needs DuckDB: docs/transformations.md.',
    ),
  tables: z
    .record(
      z.string().regex(TABLE, 'expected a name of a-z, 0-9 and _ that does not begin with a digit'),
      pathSetting(),
    )
    .optional()
    .describe(
      'Other CSV files that `sql` may read, by the names of their tables, relative to this file. They are read with the same delimiter, quotes and encoding.',
    ),
}

export type CsvSettings = Settings<typeof csvSettings, 'csv'>
