// The tests of a mapping as they are written, each value with its place and its text. Promise kept here: they are no part of a sync as
// it is stored and run; their rows reach neither a ledger nor Temporal.

import { dirname, resolve } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../src/core/json.ts'
import { readDocument, type ConfigDocument } from './document.ts'
import type { Environment } from './environment.ts'
import { valueAt } from './issues.ts'
import { readText, type Config } from './load.ts'

export interface Place {
  readonly line: number
  readonly column: number
}

/** A value as texts: numbers and words stay as they are written. */
export type WrittenText = string | readonly WrittenText[] | { readonly [name: string]: WrittenText }

/** A member of `row` or `expect`. */
export interface WrittenValue {
  readonly name: string
  readonly value: Json
  readonly text: WrittenText
  readonly place: Place
}

/** A test as it is written. */
export interface WrittenTest {
  readonly name: string
  readonly place: Place
  readonly row: readonly WrittenValue[]
  /** Null: the row is expected to be set aside. */
  readonly expect: readonly WrittenValue[] | null
  readonly reject: readonly { readonly text: string; readonly place: Place }[]
}

/** A file with tests; its path is absolute. */
export interface TestFile {
  readonly file: string
  readonly place: Place
}

/** The tests of each import that has some, by the name of the sync, in the order of the file. */
export async function readTests(
  { file, syncs }: Config,
  env: Environment,
): Promise<ReadonlyMap<string, readonly (WrittenTest | TestFile)[]>> {
  const document = readDocument(await readText(file), env)
  const found = new Map<string, readonly (WrittenTest | TestFile)[]>()
  for (const sync of Object.keys(syncs)) {
    const path = ['syncs', sync, 'tests']
    const tests = valueAt(document.data, path)
    if (!Array.isArray(tests) || tests.length === 0) continue
    const read = tests.map((given: JsonObject, index) =>
      readTest(document, [...path, index], given, dirname(file)),
    )
    found.set(sync, read)
  }
  return found
}

type Steps = readonly (string | number)[]

function readTest(
  document: ConfigDocument,
  path: Steps,
  given: JsonObject,
  folder: string,
): WrittenTest | TestFile {
  const { name, file, row, expect, reject } = given
  const place = document.place(path)
  if (typeof file === 'string') return { file: resolve(folder, file), place }
  const rejected = reject === undefined ? [] : [reject].flat()
  return {
    name: String(name),
    place,
    row: membersOf(document, [...path, 'row'], row),
    expect: expect === undefined ? null : membersOf(document, [...path, 'expect'], expect),
    reject: rejected.map((text, index) => ({
      text: String(text),
      place: document.place([...path, 'reject', ...(Array.isArray(reject) ? [index] : [])]),
    })),
  }
}

function membersOf(document: ConfigDocument, path: Steps, given: Json | undefined): WrittenValue[] {
  return Object.entries(isJsonObject(given) ? given : {}).map(([name, value]) => ({
    name,
    value,
    text: textOf(document, [...path, name], value),
    place: document.place([...path, name], 'key'),
  }))
}

function textOf(document: ConfigDocument, path: Steps, value: Json): WrittenText {
  if (Array.isArray(value))
    return value.map((part, index) => textOf(document, [...path, index], part as Json))
  if (isJsonObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, textOf(document, [...path, name], part)]),
    )
  if (value === null) return ''
  return typeof value === 'string' ? value : (document.written(path) ?? String(value))
}
