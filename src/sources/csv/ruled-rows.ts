// The rows of a file as its settings rule: which records are rows, how many cells they have, and which at the end are no data. Promise
// kept here: a file that was cut off is not read as complete.

import type { SourceRow } from '../source.ts'
import { DataRows, type RowRules } from './data-rows.ts'
import type { CsvFault } from './faults.ts'
import { Footer } from './footer.ts'
import { raggedRow } from './records.ts'
import type { CsvSettings } from './settings.ts'

const CUT_OFF =
  ' (was the file cut off? `footer: 1` under `from` says that the last row is no data, and more that several are not; `ragged: pad` that empty cells may lack at the end of rows)'
const CUT_OFF_AT_END =
  ', and no line break behind it (was the file cut off? `ragged: pad` takes a short row with a line break behind it)'

/** Works once the header is read. */
export class RuledRows {
  readonly #namesOf: () => Omit<RowRules, 'ragged' | 'nulls'>
  readonly #settings: Pick<CsvSettings, 'ragged' | 'nulls' | 'footer'>
  readonly #fault: CsvFault
  readonly #footer: Footer
  #data: DataRows | undefined
  #columns = 0

  constructor(
    namesOf: () => Omit<RowRules, 'ragged' | 'nulls'>,
    settings: Pick<CsvSettings, 'ragged' | 'nulls' | 'footer'>,
    fault: CsvFault,
  ) {
    this.#namesOf = namesOf
    this.#settings = settings
    this.#fault = fault
    this.#footer = new Footer(settings.footer ?? 0, fault)
  }

  /** @throws SourceError csv_header, csv_ragged_row */
  rowsOf(records: readonly SourceRow[]): readonly SourceRow[] {
    if (this.#data === undefined) {
      const names = this.#namesOf()
      const { ragged, nulls } = this.#settings
      this.#data = new DataRows({ ...names, ragged, nulls })
      this.#columns = names.columns.length
    }
    const rows = this.#footer.pass(this.#data.take(records))
    if (this.#settings.ragged === 'refuse') rows.forEach((row) => this.#requireWhole(row))
    return rows
  }

  /** @param hasBreak whether the text ends with a line break @throws SourceError csv_footer, csv_ragged_row */
  end(hasBreak: boolean): void {
    const { ragged, footer = 0 } = this.#settings
    const short = footer > 0 ? undefined : this.#data?.lastShort
    if (short !== undefined && (ragged !== 'pad' || !hasBreak)) {
      const place = { found: short.cells.length, expected: this.#columns, line: short.line }
      const why = ragged === 'pad' ? CUT_OFF_AT_END : CUT_OFF
      throw raggedRow(this.#fault, place, { what: 'the last row', why })
    }
    this.#footer.end({
      columns: this.#columns,
      hasBreak,
      requireWhole: (row) => {
        if (ragged === 'refuse') this.#requireWhole(row)
      },
    })
  }

  warnings(): readonly string[] {
    return this.#data?.warnings() ?? []
  }

  #requireWhole({ cells, line }: SourceRow): void {
    const [found, expected] = [cells.length, this.#columns]
    if (found !== expected) throw raggedRow(this.#fault, { found, expected, line })
  }
}
