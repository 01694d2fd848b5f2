// What an import's `from` is set to, one type for each kind of source.

import type { Json } from '../core/json.ts'

/** What a row of a file with too few or too many cells does: it ends the reading, or it alone is set aside. */
export type RaggedRows = 'refuse' | 'reject'

/** A CSV file as the source of an import. */
export interface CsvFrom {
  /** Absolute path. */
  readonly csv: string
  readonly delimiter?: string | undefined
  readonly quote?: string | null | undefined
  readonly encoding?: string | undefined
  /** Default: `reject`. */
  readonly ragged?: RaggedRows | undefined
}

/** A SQL query as the source of an import. */
export interface QueryFrom {
  readonly query: string
  /** Name of the warehouse that answers it. */
  readonly warehouse: string
  /** The value of `:watermark`: the greatest value that this column of the query's answers has had, at first `initial`. */
  readonly watermark?: { readonly column: string; readonly initial: string } | undefined
}

/** The records of a Records Service as the source of an import. */
export interface RecordsFrom {
  readonly records: {
    /** Name of the connection whose records they are. */
    readonly connection: string
    readonly object_type: string
    /** A filter tree (specification section 2.11). Default: every readable record. */
    readonly filter?: Json | undefined
    /** Names of the properties that are read. Default: every readable one. */
    readonly properties?: readonly string[] | undefined
  }
}

export type SourceSettings = CsvFrom | QueryFrom | RecordsFrom
