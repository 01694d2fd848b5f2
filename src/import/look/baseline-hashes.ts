// Baseline hashes: what was sent last, property by property, as 32 bits each instead of the values. They show who changed a value
// that differs (design section 3, "reconcile"): base is what we sent last, theirs is now, ours is the source. They decide nothing
// else, so that two values of one hash (one in four thousand million) only name the wrong side.

import { parseJson, writeJson, type Json } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { RunSchema } from '../../ledger/ledger.ts'
import { foldCase } from '../mapping/key.ts'
import { canonicalValue } from './compare.ts'

const LENGTH = 6
const NONE = '.'.repeat(LENGTH)
/** Of a property that a record had before it was written, and that was kept: like no hash, so that it never counts as ours. */
export const KEPT_WITHOUT_BASE = '.'.repeat(LENGTH - 1) + '+'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Twelve bits as two digits of base 64, as URLs have them. */
const PAIRS = Array.from({ length: 4_096 }, (_, bits) => DIGITS[bits >>> 6]! + DIGITS[bits & 63]!)

/** All of it in small letters, as ledgers have the hashes of urls. */
const foldedUrl = (text: string): string => foldCase(text).replace(/\/$/, '')

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

const digitsOf = (hash: number): string =>
  PAIRS[hash >>> 20]! + PAIRS[(hash >>> 8) & 0xfff]! + PAIRS[(hash & 0xff) << 4]!

/** FNV-1a over the UTF-16 code units of the canonical text, in base 64. */
export function baselineHash(value: Json | undefined, fieldType: string): string {
  const single = Array.isArray(value) && value.length === 1 ? value[0] : value
  const plain = typeof single === 'string' ? hashOfPlain(single, fieldType) : null
  if (plain !== null) return digitsOf(plain)
  const text = canonicalValue(value, fieldType, foldedUrl)
  let hash = FNV_OFFSET
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    hash = Math.imul(hash ^ (unit & 0xff), FNV_PRIME)
    hash = Math.imul(hash ^ (unit >>> 8), FNV_PRIME)
  }
  return digitsOf(hash)
}

const [SPACE, SLASH, CAPITAL_A, CAPITAL_Z, TILDE] = [0x20, 0x2f, 0x41, 0x5a, 0x7e]

/**
 * The same of a text that is its own canonical text, as most are: without spaces around it, of ASCII, and in small letters where
 * capitals do not count. Null if that is not certain.
 */
function hashOfPlain(text: string, fieldType: string): number | null {
  if (fieldType === 'number' || fieldType === 'datetime') return null
  const isUrl = fieldType === 'url'
  const folds = isUrl || fieldType === 'email'
  let hash = FNV_OFFSET
  let unit = SPACE
  for (let index = 0; index < text.length; index++) {
    unit = text.charCodeAt(index)
    if (unit > TILDE || (unit <= SPACE && index === 0)) return null
    if (folds && unit >= CAPITAL_A && unit <= CAPITAL_Z) return null
    // The upper half of the code unit is zero.
    hash = Math.imul(Math.imul(hash ^ unit, FNV_PRIME), FNV_PRIME)
  }
  return unit <= SPACE || (isUrl && unit === SLASH) ? null : hash
}

/** The mapped properties, in the order of their hashes. */
const namesOf = (config: ImportConfig): readonly string[] =>
  Object.keys(config.properties).toSorted()

/** Hashes the values of an item: one hash for each mapped property, or points if the item leaves it out. */
export function createItemHasher(
  config: ImportConfig,
  schema: RunSchema,
): (sent: Readonly<Record<string, Json>>) => string {
  const fields = namesOf(config).map((name) => ({ name, type: typeOf(schema, name) }))
  return (sent) => {
    let marks = ''
    for (const { name, type } of fields) {
      const value = sent[name]
      // No object inherits a text.
      const isOwn = typeof value === 'string' || Object.hasOwn(sent, name)
      marks += isOwn ? baselineHash(value, type) : NONE
    }
    return marks
  }
}

const typeOf = (schema: RunSchema | null, name: string): string => schema?.[name]?.type ?? 'text'

/** Hashes the value of one property, as `createItemHasher` does. */
export const createFieldHasher =
  (schema: RunSchema | null) =>
  (name: string, value: Json | undefined): string =>
    baselineHash(value, typeOf(schema, name))

/** Hashes by property as one text, in the order of the mapped properties; points if there is none. */
export const formatBaseline = (marks: ReadonlyMap<string, string>, config: ImportConfig): string =>
  namesOf(config)
    .map((name) => marks.get(name) ?? NONE)
    .join('')

/** The first character of what follows the hashes of the mapped properties; no digit of a hash. */
const LEFTOVERS = '{'

/** The same with those of properties that the mapping has no more: as a JSON object behind it. */
export function formatWritten(marks: ReadonlyMap<string, string>, config: ImportConfig): string {
  const left = [...marks].filter(([name]) => !Object.hasOwn(config.properties, name))
  const text = formatBaseline(marks, config)
  return left.length === 0 ? text : text + writeJson(Object.fromEntries(left.toSorted()))
}

/** All hashes of a text, also those of properties that the mapping had no more. */
export function parseWritten(marks: string, config: ImportConfig): ReadonlyMap<string, string> {
  const at = marks.indexOf(LEFTOVERS)
  const left = at < 0 ? {} : (parseJson(marks.slice(at)) as Readonly<Record<string, string>>)
  return new Map([...Object.entries(left), ...parseBaseline(marks, config)])
}

/** Hashes by property, of the run that sent them: of its mapping alone. A property that was left out is not among them. */
export function parseBaseline(text: string, config: ImportConfig): ReadonlyMap<string, string> {
  const [marks = ''] = text.split(LEFTOVERS, 1)
  const found = new Map<string, string>()
  for (const [index, name] of namesOf(config).entries()) {
    const mark = marks.slice(index * LENGTH, (index + 1) * LENGTH)
    if (mark !== NONE && mark.length === LENGTH) found.set(name, mark)
  }
  return found
}
