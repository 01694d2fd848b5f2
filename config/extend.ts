// Adds to a configuration that is there: a sync, and the connection that it needs. Promise kept here: every line of the file stays as
// it is, but for the braces of an empty part, and the result says what it said before and what was added; where that cannot be,
// nothing is changed.

import { isMap, parseDocument } from 'yaml'
import type { Environment } from './environment.ts'
import { canonicalJson, type Json } from '../src/core/json.ts'
import { readDocument } from './document.ts'

/** An entry of a part of the file: its lines, without indentation. */
export interface NewEntry {
  readonly part: 'connections' | 'syncs'
  readonly name: string
  readonly lines: readonly string[]
}

/** The text with all entries; null if they cannot be put into it. */
export function withEntries(
  text: string,
  entries: readonly NewEntry[],
  env: Environment,
): string | null {
  let extended: string | null = text
  for (const entry of entries) if (extended !== null) extended = withEntry(extended, entry, env)
  return extended
}

/** The line of the part that an entry belongs to, and its indentation there. */
export function placeOfEntry(text: string, { part }: NewEntry): { line: number; indent: string } {
  const at = lineOfPart(text.split('\n'), part)
  return { line: at + 1, indent: indentOf(text, part) }
}

function withEntry(text: string, entry: NewEntry, env: Environment): string | null {
  const { part, name, lines } = entry
  const before = dataOf(text, env)
  const isNew = before !== null && !Object.hasOwn((before[part] ?? {}) as object, name)
  if (!isNew) return null
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  const old = text.split('\n').map((line) => line.replace(/\r$/, ''))
  while (old.at(-1)?.trim() === '') old.pop()
  const at = lineOfPart(old, part)
  const indent = indentOf(text, part)
  const own = lines.map((line) => (line === '' ? '' : `${indent}${line}`))
  const end = at < 0 ? old.length : endOfPart(old, at)
  const added = at < 0 ? ['', `${part}:`, ...own] : own
  const kept = old.slice(0, end).map((line, index) => (index === at ? withoutBraces(line) : line))
  const all = [...kept, ...added, ...old.slice(end)]
  const extended = `${all.join(newline)}${newline}`
  const after = dataOf(extended, env)
  if (after === null) return null
  const { [name]: found, ...others } = (after[part] ?? {}) as Record<string, Json>
  const rest = { ...after, [part]: others }
  const same = canonicalJson(rest) === canonicalJson({ ...before, [part]: before[part] ?? {} })
  return found !== undefined && same ? extended : null
}

/** The service of a connection as it is written, if variables decide it. */
export const writtenService = (
  text: string,
  connection: string,
  env: Environment,
): string | undefined => readDocument(text, env).source(['connections', connection, 'service'])

/** What the file says; null if it cannot be read. */
function dataOf(text: string, env: Environment): Record<string, Json> | null {
  const { data, issues } = readDocument(text, env)
  return issues.length > 0 || data === undefined ? null : (data as Record<string, Json>)
}

/** The index of the line that a part begins on; -1: there is none. */
const lineOfPart = (lines: readonly string[], part: string): number =>
  lines.findIndex((line) => new RegExp(String.raw`^["']?${part}["']?\s*:`).test(line))

/** `syncs: {}` is how an empty part is written. */
const withoutBraces = (line: string): string => line.replace(/:\s*\{\s*\}(?=\s*(?:#.*)?$)/, ':')

/** The index of the line behind the last one of the part. */
function endOfPart(lines: readonly string[], at: number): number {
  const next = lines.findIndex((line, index) => index > at && /^[^\s#]/.test(line))
  let end = next < 0 ? lines.length : next
  while (end > at + 1 && !/^\s+\S/.test(lines[end - 1]!)) end -= 1
  return end
}

/** That of the other entries of the part. */
function indentOf(text: string, part: string): string {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'error' })
  const node = document.get(part, true)
  const first = isMap(node) && node.flow !== true ? node.items[0]?.key : undefined
  const offset = (first as { range?: readonly number[] } | null | undefined)?.range?.[0]
  if (offset === undefined) return '  '
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const before = text.slice(start, offset)
  return /^ +$/.test(before) ? before : '  '
}
