// A JSON file that a person wrote, read whole and bounded. Promise kept here: what is read is exactly what is in the
// file; if it is not JSON, or could be read in two ways, the error names the place.

import { readFileSync, statSync } from 'node:fs'
import {
  brokenTextIn,
  duplicateIn,
  measure,
  membersOf,
  withoutRounding,
} from '../http/json-scan.ts'

const bytesMax = 4 * 1_024 * 1_024
const depthMax = 100

/** @throws the error that `refuse` makes from the reason: where in the file, and what was expected */
export function readJsonFile(path: string, refuse: (reason: string) => Error): unknown {
  const bytes = readBytes(path, refuse)
  const text = decoded(bytes)
  if (text === null) throw refuse('UTF-8 was expected')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse(`${placeOf(text, faultIn(text) ?? 0)}: well-formed JSON was expected`)
  }
  // Before any code walks the value: it may do so recursively.
  const { depth, members, mayRound } = measure(bytes)
  if (depth > depthMax) {
    throw refuse(`at most ${depthMax} levels of lists and objects were expected`)
  }
  if (membersOf(value) !== members) {
    throw refuse(`${duplicateIn(text)}: this name stands twice in its object`)
  }
  const broken = brokenTextIn(value)
  if (broken !== null)
    throw refuse(`${broken || 'the file'}: half of a surrogate pair is no character`)
  if (mayRound) value = JSON.parse(withoutRounding(text))
  return value
}

function readBytes(path: string, refuse: (reason: string) => Error): Uint8Array {
  const reading = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
      throw refuse(`it cannot be read (${code})`)
    }
  }
  const facts = reading(() => statSync(path))
  if (!facts.isFile()) throw refuse('a regular file was expected')
  if (facts.size > bytesMax) throw refuse(`at most ${bytesMax} bytes were expected`)
  return reading(() => readFileSync(path))
}

/** Without the byte order mark that some editors write; null if it is not UTF-8. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}

function placeOf(text: string, index: number): string {
  const before = text.slice(0, index).split('\n')
  return `line ${before.length}, column ${before.at(-1)!.length + 1}`
}

const blank = /[ \t\r\n]*/y
const token =
  // oxlint-disable-next-line no-control-regex -- JSON allows none of them in a text
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Index of the first character that JSON does not allow at its place, the end included; null for well-formed JSON. */
export function faultIn(text: string): number | null {
  /** What is open, outermost first. */
  const open: ('{' | '[')[] = []
  let next: 'value' | 'name' | 'colon' | 'end' = 'value'
  let mayClose = false
  for (let at = 0; ;) {
    blank.lastIndex = at
    at += blank.exec(text)![0].length
    if (next === 'end' && open.length === 0) return at === text.length ? null : at
    token.lastIndex = at
    const found = token.exec(text)?.[0]
    if (found === undefined) return at
    const inside = open.at(-1)
    if (found === '}' || found === ']') {
      if (!mayClose || inside !== (found === '}' ? '{' : '[')) return at
      open.pop()
      next = 'end'
    } else if (next === 'end') {
      if (found !== ',') return at
      next = inside === '{' ? 'name' : 'value'
      mayClose = false
    } else if (next === 'name') {
      if (!found.startsWith('"')) return at
      next = 'colon'
      mayClose = false
    } else if (next === 'colon') {
      if (found !== ':') return at
      next = 'value'
    } else if (found === '{' || found === '[') {
      open.push(found)
      next = found === '{' ? 'name' : 'value'
      mayClose = true
    } else {
      if (found === ',' || found === ':') return at
      next = 'end'
      mayClose = true
    }
    at += found.length
  }
}
