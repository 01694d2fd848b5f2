// The first rows of a source, cell by cell next to the value that a run would send. Cells are shown to the person who asks for them, and
// go nowhere else.

import type { ImportConfig } from '../../../config/index.ts'
import { mappedColumns } from '../../core/domain/mapped-columns.ts'
import { formatNumber } from '../../core/format.ts'
import { ownValue, parseJson, type Json } from '../../core/json.ts'
import { sourceCellText, type compileMapping } from '../../import/index.ts'
import { shownValue } from '../../mapping-tests/index.ts'
import type { SourceRow } from '../../sources/source.ts'
import { safeText, table, type Terminal } from '../shared/terminal.ts'

/** A property of a row. */
export interface ShownProperty {
  readonly property: string
  /** Those that it reads; none for a constant. */
  readonly columns: readonly string[]
  readonly cells: readonly string[]
  /** As it would be sent; null: the row is set aside. */
  readonly value: string | null
  /** What is wrong with the cell; null: nothing. */
  readonly reason: string | null
  readonly detail: string | null
  /** Whether cells or value are cut: they are longer than is shown. */
  readonly cut: boolean
}

export interface ShownRow {
  readonly sync: string
  readonly line: number
  readonly ok: boolean
  /** What is wrong with the whole row; null: nothing. */
  readonly reason: string | null
  readonly detail: string | null
  readonly properties: readonly ShownProperty[]
}

/** Characters of a cell or value; a terminal shows less. */
const TEXT_CHARS = 10_000

/** A text as long as is shown; one that is cut says how long it is. */
const shortened = (text: string): string => {
  if (text.length <= TEXT_CHARS) return text
  const whole = `… (cut; ${formatNumber(text.length)} characters)`
  return text.slice(0, TEXT_CHARS).replace(/[\ud800-\udbff]$/, '') + whole
}

/** @param mapping of `config` */
export function shownRow(
  sync: string,
  row: SourceRow,
  {
    config,
    columns,
    mapping,
  }: {
    readonly config: ImportConfig
    /** Of the source. */
    readonly columns: readonly string[]
    readonly mapping: Pick<ReturnType<typeof compileMapping>, 'map'>
  },
): ShownRow {
  const item = mapping.map(row)
  const errors = item.valid ? [] : [item, ...(item.more ?? [])]
  const sent = item.valid
    ? (parseJson(item.payload) as { properties: Record<string, Json> }).properties
    : null
  const ofRow = errors.find(({ field }) => field === null)
  const cellOf = (column: string) => sourceCellText(row.cells[columns.indexOf(column)] ?? '')
  return {
    sync,
    line: row.line,
    ok: item.valid,
    reason: ofRow?.reason ?? null,
    detail: ofRow?.detail ?? null,
    properties: Object.entries(config.properties).map(([property, one]) => {
      const error = errors.find(({ field }) => field === property)
      const { unit_column: unit } = one
      const read = [...mappedColumns(one), ...(unit === undefined ? [] : [unit])]
      // Cells of a row with another number of them may be under wrong columns.
      const cells = ofRow === undefined ? read.map(cellOf) : []
      const value = sent === null ? null : shownValue(ownValue(sent, property))
      return {
        property,
        columns: read,
        cells: cells.map(shortened),
        value: value === null ? null : shortened(value),
        reason: error?.reason ?? null,
        detail: error?.detail == null ? null : shortened(error.detail),
        cut: [...cells, value ?? ''].some((text) => text.length > TEXT_CHARS),
      }
    }),
  }
}

const CELL_CHARS = 300
const INDENT = 8

export function printFirstRows(terminal: Terminal, rows: readonly ShownRow[]): void {
  for (const { sync, line, ok, reason, detail, properties } of rows) {
    const state = ok ? terminal.style('green', 'sent  ') : terminal.style('red', 'aside ')
    const why = reason === null ? '' : `: ${reason}: ${safeText(detail ?? '', CELL_CHARS)}`
    terminal.out(`${state}  ${safeText(sync)}, line ${line}${why}`)
    const lines = properties.map((one) =>
      [one.columns.join(' + '), one.cells.join(' + '), one.property, resultOf(one)].map((cell) =>
        cell === '' ? null : safeText(cell, CELL_CHARS),
      ),
    )
    for (const text of table(['column', 'cell', 'property', 'value'], lines).split('\n'))
      terminal.out(`${' '.repeat(INDENT)}${text}`)
  }
}

const resultOf = ({ value, reason, detail }: ShownProperty): string =>
  reason === null ? (value ?? '') : `${reason}: ${detail}`
