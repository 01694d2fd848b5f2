// JSON values, and the one canonical text of a value, from which hashes and digests are made.
// Promises kept here: equal values have equal text, whatever the order of their keys; numbers that JavaScript cannot
// hold are read and written digit by digit.

import { LosslessNumber, canonicalNumber, parseLossless } from './lossless-number.ts'

export type Json = string | number | boolean | null | LosslessNumber | readonly Json[] | JsonObject
export type JsonObject = { readonly [key: string]: Json }

/** Levels of a value of the service, or of a source; a deeper one is kept as the text of its JSON, or set aside. */
export const JSON_DEPTH_MAX = 500

/** Whether a value is nested in more than 500 levels. */
export const isTooDeep = (value: Json): boolean =>
  someInside(value, (_, depth) => depth > JSON_DEPTH_MAX)

/** Whether it holds for the value, or for one inside it; `depth` is 0 for the value itself. Any depth is looked at. */
export function someInside(
  value: unknown,
  holds: (one: unknown, depth: number) => boolean,
): boolean {
  if (!isNested(value)) return holds(value, 0)
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    const inner: unknown[] = []
    for (const one of level) {
      if (holds(one, depth)) return true
      if (isNested(one)) for (const part of Object.values(one)) inner.push(part)
    }
    level = inner
  }
  return false
}

/** An array, or an object with members. */
const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof LosslessNumber)

/** The canonical JSON text of `value`: keys in code-unit order, no white space, one text for each number's value. */
export const canonicalJson = (value: Json): string =>
  writtenBy(value, {
    scalar: (one) =>
      one instanceof LosslessNumber ? (canonicalNumber(one.text) ?? one.text) : JSON.stringify(one),
    names: (object) => Object.keys(object).toSorted(),
  })

/** How a text of JSON is written. */
interface Form {
  scalar(value: unknown): string
  /** The members that are written, in their order. */
  names(object: Readonly<Record<string, unknown>>): readonly string[]
}

/** Without recursion: a value of any depth has a text. */
function writtenBy(value: unknown, { scalar, names }: Form): string {
  if (!isNested(value)) return scalar(value)
  const open: { of: object; names: readonly string[] | null; next: number; end: number }[] = []
  let text = ''
  let current: unknown = value
  for (;;) {
    if (isNested(current)) {
      const of: object = current
      const own = Array.isArray(of) ? null : names(of as Record<string, unknown>)
      open.push({ of, names: own, next: 0, end: own?.length ?? (of as unknown[]).length })
      text += own === null ? '[' : '{'
    } else text += scalar(current)
    let level = open.at(-1)
    while (level !== undefined && level.next === level.end) {
      text += level.names === null ? ']' : '}'
      open.pop()
      level = open.at(-1)
    }
    if (level === undefined) return text
    if (level.next > 0) text += ','
    const name = level.names === null ? String(level.next) : level.names[level.next]!
    if (level.names !== null) text += `${JSON.stringify(name)}:`
    const one = (level.of as Record<string, unknown>)[name]
    // As JSON.stringify does: bodies may hold dates.
    current = one instanceof Date ? one.toJSON() : one
    level.next++
  }
}

/** Like `JSON.parse`, with a `LosslessNumber` if JavaScript holds no such number. @throws SyntaxError, RangeError */
export function parseJson(text: string): Json {
  return parseLossless(text) as Json
}

/** Quotes, backslashes, control characters and halves of surrogate pairs: what JSON escapes, or may. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const MAY_ESCAPE = /["\\\0-\u001f\ud800-\udfff]/

/** Like `JSON.stringify`, in a third of the time for a short text. */
const quoted = (text: string): string =>
  MAY_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`

/** Like `JSON.stringify`, with the digits of a `LosslessNumber` unchanged: `parseJson` reads the same value. */
export function writeJson(value: Json): string {
  if (typeof value === 'string') return quoted(value)
  return someInside(value, (one, depth) => one instanceof LosslessNumber || depth > JSON_DEPTH_MAX)
    ? writtenBy(value, WRITTEN)
    : JSON.stringify(value)
}

const WRITTEN: Form = {
  scalar: (one) => (one instanceof LosslessNumber ? one.text : (JSON.stringify(one) ?? 'null')),
  names: (object) => Object.keys(object).filter((name) => object[name] !== undefined),
}

/** The value of that name; undefined for a name that every object inherits. */
export const ownValue = <Value>(
  object: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined => (Object.hasOwn(object, name) ? object[name] : undefined)

/** True for a JSON object (not an array, not null, not a number). */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof LosslessNumber)
  )
}
