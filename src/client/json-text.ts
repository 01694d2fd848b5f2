// The JSON of a request. Promise kept here: nothing that JSON cannot hold becomes something else on its way: NaN would
// arrive as null, and a null clears a property.

import { SyncError } from '../core/errors.ts'

/** @throws SyncError `body_invalid` for a value that JSON cannot hold, with the name it stands under */
export function jsonText(body: object): string {
  try {
    return JSON.stringify(body, checked)
  } catch (error) {
    if (error instanceof SyncError) throw error
    // A circle, or nesting too deep.
    throw invalid('values that JSON can hold were expected, without circles')
  }
}

function checked(this: unknown, name: string, value: unknown): unknown {
  const expected = expectedOf(value, Array.isArray(this))
  if (expected === null) return value
  const got = typeof value === 'number' ? String(value) : typeof value
  throw invalid(`${JSON.stringify(name)}: ${expected} was expected, got ${got}`, name)
}

/** What was expected in the place of a value that JSON cannot hold; null where it can. */
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
