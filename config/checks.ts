// What one setting means for another. The checks read the data as it was written, so that they report together with the
// schema's complaints and not only after them; they say nothing about a value whose shape is wrong.

import { resolve } from 'node:path'
import { BASE_PATH } from '../src/contract/index.ts'
import type { Issue } from '../src/core/errors.ts'
import { isJsonObject } from '../src/core/json.ts'
import type { JsonObject } from '../src/core/json.ts'
import { queryParameters } from '../src/core/query-parameters.ts'
import { pathText } from './document.ts'
import type { ConfigDocument, Path } from './document.ts'
import { quoteValue, valueAt } from './issues.ts'
import { joinWords, nearestWord } from '../src/core/suggest.ts'

/** The kinds of `from`, each with the settings that only it has. */
const SETTINGS_OF_KIND: Readonly<Record<string, readonly string[]>> = {
  csv: ['delimiter', 'quote', 'encoding', 'ragged'],
  query: ['warehouse', 'watermark'],
  records: [],
}

/** Schemas that a mirror cannot have as its own. */
const TAKEN_SCHEMAS: readonly (readonly [RegExp, string])[] = [
  [/^(main|public)$/, 'is where a database puts what names no schema'],
  [/^(information_schema|temp|system|pg_.*)$/, 'belongs to the database itself'],
]

/** The issues between settings. */
export function crossCheck(document: ConfigDocument): Issue[] {
  const issues: Issue[] = []
  const complain = (path: Path, message: string, at: 'key' | 'value' = 'value') =>
    issues.push({ message, path: pathText(path), ...document.place(path, at) })
  const unknown = (path: Path, noun: string, valid: JsonObject) => {
    const name = String(valueAt(document.data, path))
    const names = Object.keys(valid)
    const near = nearestWord(name, names)
    const hint = near === undefined ? '' : `; did you mean \`${near}\`?`
    const list = names.length === 0 ? 'there are none' : `valid: ${joinWords(names)}`
    return `no ${noun} \`${quoteValue(document.source(path) ?? name)}\`; ${list}${hint}`
  }
  const checkOneOf = (path: Path, ...ways: readonly string[]) => {
    const value = valueAt(document.data, path)
    if (isJsonObject(value) && ways.filter((way) => Object.hasOwn(value, way)).length !== 1)
      complain(
        path,
        `expected exactly one of ${ways
          .map((way) => `\`${way}\``)
          .join(', ')
          .replace(/, (?=[^,]*$)/, ' and ')}`,
      )
  }
  const ledger = mappingAt(document, ['ledger'])
  checkOneOf(['ledger'], 'sqlite', 'postgres')
  checkOneOf(['ledger', 'postgres'], 'env', 'file', 'command')
  checkOneOf(['ledger', 'signing_key'], 'env', 'file', 'command')
  if (Object.hasOwn(ledger, 'schema') && !Object.hasOwn(ledger, 'postgres'))
    complain(['ledger', 'schema'], 'a SQLite file has no `schema`', 'key')
  const connections = mappingAt(document, ['connections'])
  for (const name of Object.keys(connections)) {
    checkOneOf(['connections', name, 'key'], 'env', 'file', 'command')
    const service = valueAt(document.data, ['connections', name, 'service'])
    if (typeof service === 'string' && service.replace(/\/+$/, '').endsWith(BASE_PATH))
      complain(
        ['connections', name, 'service'],
        `expected the URL before \`${BASE_PATH}\`, which every request adds`,
      )
  }
  const warehouses = mappingAt(document, ['warehouses'])
  for (const name of Object.keys(warehouses)) {
    checkOneOf(['warehouses', name], 'duckdb', 'postgres')
    checkOneOf(['warehouses', name, 'postgres'], 'env', 'file', 'command')
    const { duckdb, files } = mappingAt(document, ['warehouses', name])
    if (files !== undefined && duckdb === undefined)
      complain(['warehouses', name, 'files'], '`files` belongs to `duckdb`; remove it', 'key')
  }
  for (const name of Object.keys(mappingAt(document, ['notifications']))) {
    checkOneOf(['notifications', name, 'url'], 'env', 'file', 'command')
    const list = valueAt(document.data, ['notifications', name, 'syncs'])
    for (const index of Array.isArray(list) ? list.keys() : []) {
      const path = ['notifications', name, 'syncs', index]
      const one = valueAt(document.data, path)
      if (typeof one === 'string' && !Object.hasOwn(mappingAt(document, ['syncs']), one))
        complain(path, unknown(path, 'sync', mappingAt(document, ['syncs'])))
    }
  }
  checkOneOf(['temporal', 'api_key'], 'env', 'file', 'command')
  const codecKeys = valueAt(document.data, ['temporal', 'encryption_keys'])
  for (const index of Array.isArray(codecKeys) ? codecKeys.keys() : [])
    checkOneOf(['temporal', 'encryption_keys', index], 'env', 'file', 'command')
  const tls = mappingAt(document, ['temporal', 'tls'])
  if (Object.hasOwn(tls, 'client_cert') !== Object.hasOwn(tls, 'client_key'))
    complain(['temporal', 'tls'], 'expected `client_cert` and `client_key`, or neither', 'key')
  /** Refuses settings of one kind of `from` given with those of another, and a kind without the settings that it requires. */
  const checkFrom = (path: Path) => {
    const from = mappingAt(document, path)
    checkOneOf(path, ...Object.keys(SETTINGS_OF_KIND))
    const [kind, second] = Object.keys(SETTINGS_OF_KIND).filter((one) => Object.hasOwn(from, one))
    if (kind === undefined || second !== undefined) return
    for (const [other, settings] of Object.entries(SETTINGS_OF_KIND))
      for (const setting of other === kind ? [] : settings)
        if (Object.hasOwn(from, setting))
          complain([...path, setting], `\`${setting}\` belongs to \`${other}\`; remove it`, 'key')
    const { delimiter, quote, warehouse } = from
    if (kind === 'csv' && quote !== null && (delimiter ?? ',') === (quote ?? '"'))
      complain(path, 'expected two different characters as `delimiter` and `quote`')
    if (kind === 'query' && warehouse === undefined)
      complain(
        path,
        `missing key \`warehouse\` in \`${pathText(path)}\`: the name of one under \`warehouses\``,
      )
    if (kind === 'query' && typeof warehouse === 'string' && !Object.hasOwn(warehouses, warehouse))
      complain([...path, 'warehouse'], unknown([...path, 'warehouse'], 'warehouse', warehouses))
    if (kind === 'query') checkWatermark(path, from, complain)
    const source = [...path, 'records', 'connection']
    const connection = valueAt(document.data, source)
    if (typeof connection === 'string' && !Object.hasOwn(connections, connection))
      complain(source, unknown(source, 'connection', connections))
  }
  /** The mirror that writes to a place, by the text of its warehouse and its schema. */
  const mirrors = new Map<string, string>()
  const checkMirror = (name: string) => {
    const path = ['syncs', name, 'mirror']
    const { from, to, schema = name, object_types: types, except } = mappingAt(document, path)
    if (typeof from === 'string' && !Object.hasOwn(connections, from))
      complain([...path, 'from'], unknown([...path, 'from'], 'connection', connections))
    if (typeof to === 'string' && !Object.hasOwn(warehouses, to))
      complain([...path, 'to'], unknown([...path, 'to'], 'warehouse', warehouses))
    if (typeof to === 'string' && mappingAt(document, ['warehouses', to])['duckdb'] === ':memory:')
      complain(
        [...path, 'to'],
        `the warehouse \`${to}\` is in memory only; a mirror needs a DuckDB file or a PostgreSQL database`,
      )
    if (Array.isArray(types) && except !== undefined)
      complain(
        [...path, 'except'],
        '`except` belongs to `object_types: all`; remove it, and list what is mirrored',
        'key',
      )
    if (typeof schema !== 'string' || typeof to !== 'string') return
    // If the schema is the name of the sync, a setting that is not there yet changes it.
    const told = valueAt(document.data, [...path, 'schema']) !== undefined
    const about = (message: string) =>
      told
        ? complain([...path, 'schema'], `${message}; choose another`)
        : complain(['syncs', name], `${message}; choose another by \`schema\``, 'key')
    const taken = TAKEN_SCHEMAS.find(([pattern]) => pattern.test(schema))
    if (taken) about(`a mirror needs a schema of its own, and \`${schema}\` ${taken[1]}`)
    const place = JSON.stringify([placeOf(mappingAt(document, ['warehouses', to]), to), schema])
    const other = mirrors.get(place)
    if (other !== undefined)
      about(
        `the mirror \`${other}\` writes to the schema \`${schema}\` of the warehouse \`${quoteValue(to)}\` already`,
      )
    else mirrors.set(place, name)
  }
  for (const name of Object.keys(mappingAt(document, ['syncs']))) {
    checkOneOf(['syncs', name], 'import', 'mirror')
    checkOneOf(['syncs', name, 'schedule'], 'every', 'cron')
    const schedule = mappingAt(document, ['syncs', name, 'schedule'])
    if (Object.hasOwn(schedule, 'every') && Object.hasOwn(schedule, 'time_zone'))
      complain(
        ['syncs', name, 'schedule', 'time_zone'],
        '`every` knows no time zone; remove it, or write `cron`',
        'key',
      )
    checkMirror(name)
    const path = ['syncs', name, 'import']
    const importing = mappingAt(document, path)
    const properties = mappingAt(document, [...path, 'properties'])
    checkFrom([...path, 'from'])
    const { to, matching_property: matching } = importing
    if (typeof to === 'string' && !Object.hasOwn(connections, to))
      complain([...path, 'to'], unknown([...path, 'to'], 'connection', connections))
    if (
      typeof matching === 'string' &&
      isJsonObject(importing['properties']) &&
      !Object.hasOwn(properties, matching)
    )
      complain(
        [...path, 'matching_property'],
        `${unknown([...path, 'matching_property'], 'mapped property', properties)}; map it under \`properties\``,
      )
    for (const [property, mapping] of Object.entries(properties)) {
      if (!isJsonObject(mapping)) continue
      checkMapping([...path, 'properties', property], mapping, complain)
      if (property === matching && mapping['compare'] === false)
        complain(
          [...path, 'properties', property, 'compare'],
          'records are found by the matching property, so it is always compared; remove `compare`',
          'key',
        )
    }
  }
  return issues
}

type Complain = (path: Path, message: string, at?: 'key' | 'value') => void

/** A query that uses `:watermark` must declare it, and a declared one must be used. */
function checkWatermark(path: Path, { query, watermark }: JsonObject, complain: Complain): void {
  if (typeof query !== 'string') return
  const isUsed = queryParameters(query).has('watermark')
  if (isUsed && watermark === undefined)
    complain(
      [...path, 'query'],
      'the query uses `:watermark`; say what it is, such as `watermark: { column: updated_at, initial: "1970-01-01T00:00:00Z" }` with a column of the answer',
    )
  if (!isUsed && watermark !== undefined)
    complain(
      [...path, 'watermark'],
      'the query does not use `:watermark`; write `WHERE updated_at >= :watermark` in it, or remove `watermark`',
      'key',
    )
}

function checkMapping(path: Path, mapping: JsonObject, complain: Complain): void {
  const has = (name: string) => Object.hasOwn(mapping, name)
  const beside = ['value', 'column', 'compare']
  const others = Object.keys(mapping).filter((name) => !beside.includes(name))
  if (has('column') === has('value'))
    complain(path, `\`${pathText(path)}\`: expected exactly one of \`column\` and \`value\``, 'key')
  else if (has('value') && others.length > 0)
    complain(
      [...path, others[0]!],
      `a constant \`value\` stands alone; remove ${joinWords(others)}`,
      'key',
    )
  if (has('unit') && has('unit_column'))
    complain([...path, 'unit_column'], 'expected `unit` or `unit_column`, not both', 'key')
  const yes = wordsOf(mapping['true'])
  if (wordsOf(mapping['false']).some((word) => yes.includes(word)))
    complain([...path, 'false'], 'a word means both true and false; keep it in one of the lists')
}

const wordsOf = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap((word) => (typeof word === 'string' ? [word.trim().toLowerCase()] : []))
    : []

function mappingAt(document: ConfigDocument, path: Path): JsonObject {
  const value = valueAt(document.data, path)
  return isJsonObject(value) ? value : {}
}

/** What identifies a warehouse, whatever its name: the file, or where the URL comes from. */
function placeOf({ duckdb, postgres }: JsonObject, name: string): unknown {
  return typeof duckdb === 'string' ? { duckdb: resolve(duckdb) } : (postgres ?? name)
}
