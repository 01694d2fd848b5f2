// What is found out about the cells of a column: how a mapping would have to read them, and how many of them fit.

import type { PropertyMapping } from '../../../config/index.ts'

/** What a mapping says of how its cells are read. */
export type ReadingSettings = Pick<
  PropertyMapping,
  | 'type'
  | 'split'
  | 'unit'
  | 'unit_column'
  | 'format'
  | 'window'
  | 'zone'
  | 'decimal'
  | 'thousands'
  | 'symbol'
  | 'negative'
  | 'pattern'
  | 'else'
  | 'true'
  | 'false'
>

/** What only a person knows. `whether`: the one answer, or none. */
export interface Question {
  /** A unit is any code of a currency, a zone any name of one; the others have the answers to choose from. */
  readonly about: 'days' | 'marks' | 'unit' | 'zone' | 'whether'
  readonly text: string
  /** What a person does with the line that waits; left out where its comment says enough. */
  readonly hint?: string
  readonly answers: readonly ReadingSettings[]
}

export interface CellReading {
  readonly settings: ReadingSettings
  /** The share of the values that can be read so. */
  readonly fits: number
  /** What the values are, in words; empty for texts. */
  readonly what: string
  readonly question?: Question
  /** What else the values may be, which no answer chooses from. */
  readonly doubt?: string
  /** Why the values cannot be read, where they cannot. */
  readonly problem?: string
}

/** What the other columns of the file show, and the other names of the service. */
export interface Hints {
  /** The decimal separator, where some column shows it beyond doubt. */
  readonly decimal: ',' | '.' | null
  /** Whether days come before months, where some column shows it beyond doubt. */
  readonly dayFirst: boolean | null
  /** Columns whose values are codes of currencies. */
  readonly unitColumns: readonly string[]
  /** What most names of the service begin with, such as `svc_`. */
  readonly prefix: string
}

/** Below this share of values that fit, a column is not mapped: each of the others would be a rejected row. */
export const FITS_MIN = 0.6
/** So much of a column has to be of one kind to show something of the whole file, or why it does not fit. */
export const KIND_MIN = 0.8

/** Tries one way to read the cells: the share of values that fit. */
export type Trial = (settings: ReadingSettings) => number
