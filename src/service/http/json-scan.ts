// What JSON.parse does not report about a text: how deep it nests, which name an object has twice, and where a text is not
// Unicode. Promise kept here: no member of a body is dropped or replaced silently. One quick pass over the bytes and one
// over the value; the place is searched for only if something is wrong.

import { isLossy } from '../../core/lossless-number.ts'
import { pointerToken } from '../problems.ts'

const quote = 0x22
const backslash = 0x5c

/** What a JSON text in UTF-8 holds. For any other text the numbers mean nothing. */
export interface Measures {
  /** Levels of nesting. */
  readonly depth: number
  /** Members of all objects. */
  readonly members: number
  /** Members, or items of lists, as far as they are several: a bound on the work that a body makes. */
  readonly parts: number
  /** Whether there may be a number that a double cannot hold: one of many digits, or with an exponent. */
  readonly mayRound: boolean
}

/** Digits of a decimal that every double preserves. */
const DIGITS_KEPT = 15

export function measure(bytes: Uint8Array): Measures {
  let level = 0
  let depth = 0
  let members = 0
  let commas = 0
  let inText = false
  let digits = 0
  let mayRound = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!
    if (inText) {
      if (byte === backslash) at += 1
      else if (byte === quote) inText = false
      continue
    }
    if (byte >= 0x30 /* 0 */ && byte <= 0x39 /* 9 */) {
      digits += 1
      if (digits > DIGITS_KEPT) mayRound = true
      continue
    }
    // A point continues the number; the e of true and false does no harm.
    if (byte === 0x2e /* . */) continue
    if (byte === 0x65 /* e */ || byte === 0x45 /* E */) mayRound ||= digits > 0
    digits = 0
    if (byte === quote) inText = true
    else if (byte === 0x3a /* : */) members += 1
    else if (byte === 0x2c /* , */) commas += 1
    else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
      level += 1
      if (level > depth) depth = level
    } else if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) level -= 1
  }
  return { depth, members, parts: Math.max(members, commas + 1), mayRound }
}

const numberForm = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const toInfinity = '1e999'

/**
 * The same well-formed JSON text, with each number that a double cannot hold replaced by one that is read as Infinity,
 * which no value may be: JSON.parse would round it silently.
 */
export function withoutRounding(json: string): string {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === quote) at = endOfText(json, at) - 1
    else if (code === 0x2d /* - */ || (code >= 0x30 && code <= 0x39)) {
      numberForm.lastIndex = at
      const text = numberForm.exec(json)![0]
      if (isLossy(text)) {
        parts.push(json.slice(from, at), toInfinity)
        from = at + text.length
      }
      at += text.length - 1
    }
  }
  return parts.length === 0 ? json : parts.join('') + json.slice(from)
}

/** Members of all objects of a value. If the text has more, a name occurred twice, and the last one won. */
export function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) for (const item of value) members += membersOf(item)
  else {
    const object = value as Record<string, unknown>
    for (const name in object) members += 1 + membersOf(object[name])
  }
  return members
}

/** RFC 6901 pointer to the first member of a well-formed JSON text whose name its object already had; or null. */
export function duplicateIn(json: string): string | null {
  const path: ScanPosition[] = []
  for (let at = 0; at < json.length; at += 1) {
    const place = path.at(-1)
    const char = json[at]
    if (char === '{') path.push({ names: new Set(), name: null, index: 0 })
    else if (char === '[') path.push({ names: null, name: null, index: 0 })
    else if (char === '}' || char === ']') path.pop()
    else if (char === ',') {
      place!.name = null
      place!.index += 1
    } else if (char === '"') {
      const end = endOfText(json, at)
      if (place?.names && place.name === null) {
        const name = JSON.parse(json.slice(at, end)) as string
        place.name = name
        if (place.names.has(name)) return pointerTo(path)
        place.names.add(name)
      }
      at = end - 1
    }
  }
  return null
}

/** An object or a list that is open, and the present position in it. */
interface ScanPosition {
  /** Null: a list. */
  readonly names: Set<string> | null
  /** Null: the name comes next. */
  name: string | null
  index: number
}

/** The index after the closing quote of the text that begins at `start`. */
function endOfText(json: string, start: number): number {
  let at = start + 1
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

function pointerTo(path: readonly ScanPosition[]): string {
  return path.map(({ name, index }) => `/${pointerToken(name ?? String(index))}`).join('')
}

/** RFC 6901 pointer to the first text that holds half of a surrogate pair, or to the value that has it in a name; or null. */
export function brokenTextIn(value: unknown, at = ''): string | null {
  if (typeof value === 'string') return isUnicode(value) ? null : at
  if (typeof value !== 'object' || value === null) return null
  for (const [name, item] of Object.entries(value)) {
    if (!isUnicode(name)) return at
    const place = brokenTextIn(item, `${at}/${pointerToken(name)}`)
    if (place !== null) return place
  }
  return null
}

const loneSurrogate = /\p{Surrogate}/u
const isUnicode = (text: string) => !loneSurrogate.test(text)
