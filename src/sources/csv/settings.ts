// A CSV file as a source: its settings.

import { z } from 'zod'
import type { Settings } from '../../settings/choice.ts'
import { betweenNumbers, pathSetting, textList, textSetting } from '../../settings/parts.ts'

function isEncoding(label: string): boolean {
  try {
    new TextDecoder(encodingLabel(label))
    return true
  } catch {
    return false
  }
}

/** Encodings by the numbers of code pages, as Windows calls them. */
const CODE_PAGES: Readonly<Record<string, string>> = {
  cp932: 'shift_jis',
  cp936: 'gb18030',
  cp949: 'euc-kr',
  cp950: 'big5',
}

/** The encoding as the WHATWG standard calls it. */
export const encodingLabel = (label: string): string =>
  CODE_PAGES[
    label
      .trim()
      .toLowerCase()
      .replace(/^(?:windows-?|ms-?)?(?=9[345]\d$)/, 'cp')
  ] ?? label

/** Names of tables, as a query writes them without quotes. */
const TABLE = /^[a-z_][a-z0-9_]{0,62}$/

export const csvSettings = {
  csv: pathSetting()
    .optional()
    .describe('CSV file, relative to this file. Its first line names the columns.'),
  header: z
    .union([z.literal('none'), betweenNumbers(1, 1_000).int('expected a whole number')], {
      error: 'expected the number of a line, from 1 to 1000, or `none`',
    })
    .optional()
    .describe(
      'Line of a CSV file that names the columns; the lines before it are not read. `none`: there is no such line, and columns are named by their number: `#1`, `#2`. Default: the first line that is not blank.',
    ),
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
  escape: z
    .string()
    .regex(/^[^\r\n\0\ufeff\w\s]$/u, 'expected one character, such as `"\\\\"`')
    .optional()
    .describe(
      'Character before a quote, or before itself, inside a cell in quotes, such as the backslash in exports of MySQL. Default: quotes are doubled.',
    ),
  skip_space: z
    .boolean()
    .optional()
    .describe(
      'Whether white space next to a delimiter is no part of the cell: `1, "Lovelace, Ada"`. Default: false.',
    ),
  encoding: z
    .string()
    .refine(isEncoding, 'expected an encoding such as `utf-8`, `windows-1252` or `utf-16le`')
    .optional()
    .describe('Encoding of the file. Default: what its byte order mark says, else UTF-8.'),
  ragged: z
    .enum(['refuse', 'reject', 'pad'])
    .optional()
    .describe(
      'What a row of a CSV file with too few or too many cells does: `reject` sets it aside alone (`row_ragged`), `refuse` stops before anything is written, `pad` gives it the empty cells that it lacks, and takes empty ones beyond the last column away. A last row with too few cells stops, because the file may be cut off; with `pad` only without a line break behind it. Default: `reject`.',
    ),
  footer: betweenNumbers(1, 100)
    .int('expected a whole number')
    .optional()
    .describe(
      'Rows at the end of a CSV file that are no data, such as the notes of a report, or a line of totals. None of them may look like a row of data; otherwise the run stops, because the file may be cut off. A run says that they are left out. Default: none.',
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

/** What other files are read with that stand next to a CSV file. */
export type CsvMarks = Pick<
  CsvSettings,
  'delimiter' | 'quote' | 'escape' | 'skip_space' | 'encoding'
>

export const marksOf = ({ delimiter, quote, escape, skip_space, encoding }: Partial<CsvMarks>) => ({
  delimiter,
  quote,
  escape,
  skip_space,
  encoding,
})

export type CsvSettings = Settings<typeof csvSettings, 'csv'>
