// What makes a value of a cell, and what becomes of one.

import type { Json } from '../../core/json.ts'
import type { PropertyMapping } from '../../../config/index.ts'

/** What a coercion needs to know of the property. */
export interface CoercionContext {
  readonly mapping: PropertyMapping
  /** JSON shape of the value on the wire: `string`, `number`, `boolean`, `object`, `array`. */
  readonly valueType: string
  /** Allowed values and their labels; empty if every value is allowed. */
  readonly options: ReadonlyMap<string, string>
  /** Allowed ISO 4217 codes; empty if every code is allowed. */
  readonly units: ReadonlySet<string>
  /** Whether people wrote the cells, as in a file; else another program gave them. */
  readonly isOfTexts?: boolean
}

export type Coerced =
  | {
      readonly ok: true
      readonly value: Json
      /** Of a time: it was finer than records keep it. */
      readonly isCut?: true
    }
  | {
      readonly ok: false
      readonly reason: string
      readonly expected: string
      /** Of an amount: its unit is wrong, not its number. */
      readonly isOfUnit?: true
    }

export type Coercion = (cell: string, context: CoercionContext) => Coerced
