// The body of a request: its media type before a byte of it is read, then its JSON. Promise kept here: a handler gets exactly
// what was sent, in Unicode, of bounded size and depth; a body that could be read in two ways is refused, and a number that a
// double cannot hold becomes Infinity, which no value may be.

import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { brokenTextIn, duplicateIn, measure, membersOf, withoutRounding } from './json-scan.ts'
import { PARTS_MAX } from '../limits/sizes.ts'
import { RequestRefused, malformed, outOfRange, type RefusalFacts } from '../problems.ts'

export const BODY_BYTES_MAX = 4 * 1_024 * 1_024
/** Levels of lists and objects in a body; a filter that is too deep, with 9 levels of its own, is refused well before. */
export const BODY_DEPTH_MAX = 500

export const tooLarge: RefusalFacts = {
  status: 413,
  code: 'request_invalid',
  detail: `A body of at most ${BODY_BYTES_MAX} bytes was expected`,
}

/** Why a request's body is not read, or null. */
export function refusalOfBody(headers: IncomingHttpHeaders): RequestRefused | null {
  const bytes = Number(headers['content-length'] ?? 0)
  if (bytes > BODY_BYTES_MAX) return new RequestRefused(tooLarge)
  if (bytes === 0 && headers['transfer-encoding'] === undefined) return null
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity') {
    const detail = 'A body without Content-Encoding was expected'
    return unsupported(detail, { 'Accept-Encoding': 'identity' })
  }
  const [type, ...parameters] = (headers['content-type'] ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((each) => each.startsWith('charset='))
  if (type !== 'application/json') {
    return unsupported('A body of Content-Type application/json was expected')
  }
  return isUtf8Name(charset) ? null : unsupported('A body in the charset utf-8 was expected')
}

function isUtf8Name(charset: string | undefined): boolean {
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset)
}

function unsupported(detail: string, headers?: Record<string, string>): RequestRefused {
  return new RequestRefused({ status: 415, code: 'request_invalid', detail, headers })
}

/** The JSON of a body; undefined if there is none. @throws Refusal 400 */
export function parseBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  if (!isUtf8(bytes)) throw malformed('The body is not well-formed UTF-8')
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformed('The body begins with a byte order mark: JSON without one was expected')
  }
  // Before parsing: later code may walk the value recursively.
  const { depth, members, parts, mayRound } = measure(bytes)
  if (depth > BODY_DEPTH_MAX) {
    throw malformed(`The body is nested deeper than ${BODY_DEPTH_MAX} levels`)
  }
  if (parts > PARTS_MAX) {
    const detail = `The body has ${parts} members and list items; at most ${PARTS_MAX} were expected`
    throw outOfRange(detail, '')
  }
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
    if (mayRound) value = JSON.parse(withoutRounding(text))
  } catch {
    throw malformed('The body is not well-formed JSON')
  }
  if (membersOf(value) !== members) {
    throw malformed('This name stands twice in its object', duplicateIn(text) ?? '')
  }
  const broken = text.includes('\\u') ? brokenTextIn(value) : null
  if (broken !== null) throw malformed('Half of a surrogate pair is no character', broken)
  return value
}
