// What a person typed on the page of corrections, compared with the rows as the ledger has them, and checked as a run would. Promise kept
// here: a field that was not touched changes nothing, whatever a page cannot show of its value.

import { findSync, type Config } from '../../../config/index.ts'
import { ownValue, type Json } from '../../core/json.ts'
import { cellText, correctedCell, type SpreadsheetRow } from '../../corrections/index.ts'
import { mappingChecker } from '../../import/index.ts'
import { printable } from '../../report/escape.ts'
import { shortened } from '../../report/plan-rows.ts'
import { jobOf } from '../../runs/job.ts'
import { fieldOf, rowFieldOf } from '../pages/corrections.ts'
import { TEXT } from '../texts.ts'
import type { CorrectionsPage, LeftRowCells } from '../views/corrections.ts'

const { corrections: words } = TEXT

type Fields = Readonly<Record<string, string>>

export interface TypedCells {
  /** Rows with a changed cell, whole. */
  readonly rows: readonly SpreadsheetRow[]
  /** All fields of rows that are left, by name. */
  readonly typed: ReadonlyMap<string, string>
  /** What was expected, by the name of the field. */
  readonly errors: ReadonlyMap<string, string>
  /** Of rows that were brought in or sent again since. */
  readonly notes: readonly string[]
  /** Places of columns with an error that the page did not have. */
  readonly columns: readonly number[]
}

const FIELD = /^c\.([1-9]\d{0,14})\.(\d{1,5})$/
/** As a browser sends a text that it was given. */
const sentText = (text: string): string => printable(text).replaceAll(/\r\n?/g, '\n')

export async function readTypedCells(
  config: Config,
  page: CorrectionsPage,
  fields: Fields,
): Promise<TypedCells> {
  const typed = new Map<string, string>()
  const errors = new Map<string, string>()
  const notes = new Set<string>()
  const cellsOf = new Map<number, Map<number, string>>()
  const columns = page.view.columns.length
  for (const [name, value] of Object.entries(fields)) {
    const [, row = '', column = ''] = FIELD.exec(name) ?? []
    if (row === '' || Number(column) >= columns) continue
    const left = page.rows.get(Number(row))
    if (left === undefined) notes.add(words.notLeft(Number(row)))
    else if (fields[rowFieldOf(Number(row))] !== left.version) notes.add(staleOf(left, fields, row))
    else {
      typed.set(name, value)
      const cells = cellsOf.get(Number(row)) ?? new Map<number, string>()
      cellsOf.set(Number(row), cells.set(Number(column), value))
    }
  }
  const rows = [...cellsOf].flatMap(([ordinal, cells]) => {
    const found = correctedRow(page.rows.get(ordinal)!, cells, columns)
    for (const column of found.damaged) errors.set(fieldOf(ordinal, column), words.damaged)
    return found.isChanged ? [{ ordinal, raw: found.raw }] : []
  })
  const shown = new Set<number>()
  for (const [field, column, expected] of await cellErrors(config, page, rows)) {
    errors.set(field, expected)
    if (!page.view.shown.includes(column)) shown.add(column)
  }
  return { rows, typed, errors, notes: [...notes], columns: [...shown] }
}

/** Why a row is not taken of a page that shows other cells of it. */
function staleOf({ of }: LeftRowCells, fields: Fields, row: string): string {
  const isSentSince = fields[rowFieldOf(Number(row))]?.split('-')[0] !== String(of)
  return isSentSince ? words.newer(of) : words.correctedSince(Number(row))
}

function correctedRow(
  { raw, kept }: LeftRowCells,
  typed: ReadonlyMap<number, string>,
  columns: number,
) {
  const damaged: number[] = []
  let isChanged = false
  const cells = Array.from({ length: columns }, (_, at): Json => {
    const was = raw[at] ?? null
    const before = kept?.[at] ?? was
    const found = typed.get(at)?.replaceAll(/\r\n?/g, '\n')
    if (found === undefined || found === sentText(cellText(before))) return before
    if (found === sentText(cellText(was))) {
      isChanged = true
      return was
    }
    const corrected = correctedCell(was, found, true)
    if (corrected.is === 'restored') damaged.push(at)
    if (corrected.is === 'changed') isChanged = true
    return corrected.cell
  })
  return { raw: cells, isChanged: isChanged || damaged.length > 0, damaged }
}

/** What the mapping of the sync says of the rows: field, column, and what was expected. */
async function cellErrors(
  config: Config,
  { run, view }: CorrectionsPage,
  rows: readonly SpreadsheetRow[],
): Promise<(readonly [field: string, column: number, expected: string])[]> {
  if (rows.length === 0 || run.schema === null) return []
  const now = ownValue(config.syncs, run.sync) === undefined ? null : findSync(config, run.sync)
  const sync = now?.kind === 'import' ? now : jobOf(run, 'import').sync
  const check = await mappingChecker(sync, run.schema, view.columns)
  if (check === null) return []
  return rows.flatMap(({ ordinal, raw }) =>
    check(raw).flatMap(({ column, detail }) => {
      const at = column === null ? -1 : view.columns.indexOf(column)
      return at < 0 ? [] : [[fieldOf(ordinal, at), at, shortened(detail) ?? ''] as const]
    }),
  )
}
