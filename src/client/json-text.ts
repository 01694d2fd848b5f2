// The JSON of a request. Promise kept here: nothing that JSON cannot hold changes on its way: NaN would arrive as null, and a
// null clears a property.

import { SyncError } from '../core/errors.ts'
import { writeJson, type Json } from '../core/json.ts'
import { LosslessNumber } from '../core/lossless-number.ts'

/** @throws SyncError `body_invalid` for a value that JSON cannot hold, with the name of its property */
export function jsonText(body: object): string {
  let isLossless = false
  try {
    const text = JSON.stringify(body, function (this: Holder, name: string, value: unknown) {
      // JSON.stringify passes such a number as its text already.
      if (this[name] instanceof LosslessNumber) isLossless = true
      return checked(value, name, Array.isArray(this))
    })
    return isLossless ? writeJson(body as Json) : text
  } catch (error) {
    if (error instanceof SyncError) throw error
    // A circle, or nesting too deep.
    throw invalid('values that JSON can hold were expected, without circles')
  }
}

type Holder = Readonly<Record<string, unknown>>

function checked(value: unknown, name: string, inList: boolean): unknown {
  const expected = expectedOf(value, inList)
  if (expected === null) return value
  const got = typeof value === 'number' ? String(value) : typeof value
  throw invalid(`${JSON.stringify(name)}: ${expected} was expected, got ${got}`, name)
}

/** What was expected instead of a value that JSON cannot hold; null if JSON can hold it. */
function expectedOf(value: unknown, inList: boolean): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'a finite number'
  if (typeof value === 'bigint') return 'a number, or a text of digits,'
  // An undefined property is left out, and so unchanged; in a list it would become null.
  if (value === undefined) return inList ? 'a value' : null
  return typeof value === 'function' || typeof value === 'symbol' ? 'a JSON value' : null
}

function invalid(message: string, name?: string): SyncError {
  return new SyncError('body_invalid', `Body: ${message}`, name === undefined ? {} : { name })
}
