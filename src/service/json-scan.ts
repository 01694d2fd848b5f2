// What JSON.parse does not tell about a text: how deep it nests, which name an object has twice, and where a text is not
// Unicode. Promise kept here: no member of a body is dropped or replaced in silence. One quick pass over the bytes and one
// over the value; a place is looked for only where something is wrong.

import { pointerToken } from './problems.ts'

const quote = 0x22
const backslash = 0x5c

/** Levels of nesting, and members of objects, of a JSON text in UTF-8. Of anything else: some numbers. */
export function measure(bytes: Uint8Array): { depth: number; members: number } {
  let level = 0
  let depth = 0
  let members = 0
  let inText = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!
    if (inText) {
      if (byte === backslash) at += 1
      else if (byte === quote) inText = false
      continue
    }
    if (byte === quote) inText = true
    else if (byte === 0x3a /* : */) members += 1
    else if (byte === 0x7b /* { */ || byte === 0x5b /* [ */) {
      level += 1
      if (level > depth) depth = level
    } else if (byte === 0x7d /* } */ || byte === 0x5d /* ] */) level -= 1
  }
  return { depth, members }
}

/** Members of all objects of a value. Fewer than its text has: a name was there twice, and the last one won. */
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

/** RFC 6901 pointer to the first member, of a well-formed JSON text, whose name its object had already; or null. */
export function duplicateIn(json: string): string | null {
  const path: Place[] = []
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

/** An object or a list that is open, and where in it we are. */
interface Place {
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

function pointerTo(path: readonly Place[]): string {
  return path.map(({ name, index }) => `/${pointerToken(name ?? String(index))}`).join('')
}

/** RFC 6901 pointer to the first text that holds half of a surrogate pair, or to what has it in a name; or null. */
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
