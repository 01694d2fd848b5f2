// The rows of a plan as a file: NDJSON with a line for each row, or CSV with a line for each property.

import { extname } from 'node:path'
import { ConfigError } from '../../core/errors.ts'
import { writeJson, type Json } from '../../core/json.ts'
import { BYTE_ORDER_MARK, cellText, csvCell } from '../../corrections/index.ts'
import type { PlannedChange, UndoneChange } from '../../import/index.ts'
import { replaceFile } from './replace-file.ts'

type Change = PlannedChange | UndoneChange

interface PlanFormat {
  readonly head: string
  line(row: Change): string
}

/** With the names that other commands print. */
export const changeToJson = ({ line, key, verdict, recordId, changes }: Change) => ({
  line,
  key,
  verdict,
  record_id: recordId,
  changes,
})

const csvLine = (cells: readonly Json[]): string =>
  `${cells.map((cell) => csvCell(cellText(cell), false)).join(',')}\n`

const FORMATS: Readonly<Record<string, PlanFormat>> = {
  '.ndjson': {
    head: '',
    line: (row) => `${writeJson(changeToJson(row) as unknown as Json)}\n`,
  },
  '.csv': {
    head:
      BYTE_ORDER_MARK +
      csvLine(['line', 'key', 'verdict', 'record_id', 'property', 'before', 'after', 'kept']),
    line: ({ line, key, verdict, recordId, changes }) => {
      const row = [line, key, verdict, recordId]
      // A row that changes nothing has a line too.
      return changes.length === 0
        ? csvLine([...row, null, null, null, null])
        : changes
            .map(({ property, before, after, kept = false }) =>
              csvLine([...row, property, before, after, kept ? 'kept' : null]),
            )
            .join('')
    },
  },
}

/** @throws ConfigError for a file that is of neither kind */
export function planFormat(path: string): PlanFormat {
  const format = FORMATS[extname(path).toLowerCase()]
  if (format) return format
  throw new ConfigError('--out', `${path}: expected a name that ends in .ndjson or .csv`)
}

/** Writes all rows, page by page. Returns how many. @throws ConfigError if it cannot be written */
export async function writePlanFile(
  path: string,
  pages: AsyncIterable<readonly PlannedChange[]>,
): Promise<number> {
  let rows = 0
  await fillPlanFile(path, async (put) => {
    for await (const page of pages) {
      rows += page.length
      await put(page)
    }
  })
  return rows
}

/** Writes what `fill` puts; without a path nothing is written. @throws ConfigError if it cannot be written */
export async function fillPlanFile(
  path: string | undefined,
  fill: (put: (rows: readonly Change[]) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (path === undefined) return await fill(async () => {})
  const format = planFormat(path)
  await replaceFile(path, async (put) => {
    await put(format.head)
    await fill(async (rows) => await put(rows.map((row) => format.line(row)).join('')))
  })
}
