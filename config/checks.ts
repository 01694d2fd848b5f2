// What one setting means for another. The checks read the data as it was written, so that they report together with the
// schema's complaints and not only after them; they say nothing about a value whose shape is wrong.

import { resolve } from 'node:path'
import type { z } from 'zod'
import { BASE_PATH } from '../src/contract/index.ts'
import type { Issue } from '../src/core/errors.ts'
import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import { joinWords, nearestWord } from '../src/core/suggest.ts'
import {
  mapMarked,
  markOf,
  type ChoicePart,
  type Complain,
  type Path,
} from '../src/settings/marks.ts'
import { SECRET_FORMS } from '../src/settings/parts.ts'
import { WAREHOUSES, type WarehouseDriver } from '../src/warehouses/index.ts'
import { checkApproval } from './approval.ts'
import { checkGroups, checkOrder } from './checks-groups.ts'
import { checkConsole } from './console.ts'
import { pathText, type ConfigDocument } from './document.ts'
import { quoteValue, valueAt } from './issues.ts'
import { checkMapping } from './mapping-checks.ts'
import { checkProtection } from './protection.ts'
import { checkRemovals } from './removals.ts'
import { configSchema } from './schema.ts'
import { repeatedNames } from './tests.ts'

/** Schemas that a mirror cannot have as its own. */
const TAKEN_SCHEMAS: readonly (readonly [RegExp, string])[] = [
  [/^(main|public)$/, 'is where a database puts what names no schema'],
  [/^(information_schema|temp|system|pg_.*)$/, 'belongs to the database itself'],
]

/** Sections that every configuration has. */
const REQUIRED: readonly string[] = ['connections', 'syncs']

const CHECKS: readonly ((checked: Checked) => void)[] = [
  checkMarked,
  checkLedger,
  checkConnections,
  checkTemporal,
  checkSchedules,
  checkTogether,
  checkMirrors,
  checkImports,
  checkTests,
  checkOwnConsole,
]

export function crossCheck(document: ConfigDocument): Issue[] {
  const checked = new Checked(document)
  for (const check of CHECKS) check(checked)
  return checked.issues
}

/** A document, and what is wrong with it. */
class Checked {
  readonly document: ConfigDocument
  readonly issues: Issue[] = []

  constructor(document: ConfigDocument) {
    this.document = document
  }

  complain(path: Path, message: string, at: 'key' | 'value' = 'value'): void {
    this.issues.push({ message, path: pathText(path), ...this.document.place(path, at) })
  }

  /** The mapping at `path`; an empty one if there is none. */
  mapping(...path: Path): JsonObject {
    const value = valueAt(this.document.data, path)
    return isJsonObject(value) ? value : {}
  }

  members(section: string): (readonly [string, JsonObject])[] {
    return Object.keys(this.mapping(section)).map((name) => [name, this.mapping(section, name)])
  }

  /** What to say of the name at `path`, which none of `valid` has. */
  unknown(path: Path, noun: string, valid: JsonObject): string {
    const name = String(valueAt(this.document.data, path))
    const names = Object.keys(valid)
    const near = nearestWord(name, names)
    const hint = near === undefined ? '' : `; did you mean \`${near}\`?`
    const list = names.length === 0 ? 'there are none' : `valid: ${joinWords(names)}`
    return `no ${noun} \`${quoteValue(this.document.source(path) ?? name)}\`; ${list}${hint}`
  }

  /** Whether exactly one of `ways` is given. */
  oneOf(path: Path, value: JsonObject, ways: readonly string[]): boolean {
    if (ways.filter((way) => Object.hasOwn(value, way)).length === 1) return true
    const list = ways
      .map((way) => `\`${way}\``)
      .join(', ')
      .replace(/, (?=[^,]*$)/, ' and ')
    this.complain(path, `expected exactly one of ${list}`)
    return false
  }
}

/** What follows from the schema alone: the forms of secrets, names of other settings, and drivers with their own checks. */
function checkMarked(checked: Checked): void {
  /** Settings of drivers that are not chosen: what they name does not count. */
  const unused = new Set<string>()
  mapMarked(configSchema, checked.document.data, (mark, value, path) => {
    if (mark.is === 'secret' && isJsonObject(value)) checked.oneOf(path, value, SECRET_FORMS)
    if (mark.is === 'choice')
      for (const setting of checkChoice(checked, path, value as JsonObject, mark.among))
        unused.add(pathText([...path, setting]))
    if (
      mark.is !== 'name' ||
      path.some((_, index) => unused.has(pathText(path.slice(0, index + 1))))
    )
      return
    // Without its section, or with another thing in its place, that is what is wrong.
    const section = valueAt(checked.document.data, [mark.of])
    if (!isJsonObject(section) && (section !== undefined || REQUIRED.includes(mark.of))) return
    const valid = checked.mapping(mark.of)
    if (!Object.hasOwn(valid, value as string))
      checked.complain(path, checked.unknown(path, mark.of.replace(/s$/, ''), valid))
  })
}

/** Returns the settings that are not those of the one that is chosen. */
function checkChoice(
  checked: Checked,
  path: Path,
  given: JsonObject,
  among: readonly ChoicePart[],
): string[] {
  const settingsOf = ({ settings = {} }: ChoicePart) => Object.keys(settings)
  const ways = among.map(({ name }) => name)
  if (!checked.oneOf(path, given, ways)) return among.flatMap(settingsOf)
  const chosen = among.find(({ name }) => Object.hasOwn(given, name))!
  const others = among.filter((other) => other !== chosen)
  for (const other of others)
    for (const setting of settingsOf(other))
      if (Object.hasOwn(given, setting))
        checked.complain(
          [...path, setting],
          `\`${setting}\` belongs to \`${other.name}\`; remove it`,
          'key',
        )
  for (const need of chosen.needs ?? []) {
    if (given[need] !== undefined) continue
    const mark = markOf(chosen.settings![need] as z.ZodType)
    const what = mark?.is === 'name' ? `: the name of one under \`${mark.of}\`` : ''
    checked.complain(path, `missing key \`${need}\` in \`${pathText(path)}\`${what}`)
  }
  const complain: Complain = (below, message, at) =>
    checked.complain([...path, ...below], message, at)
  chosen.check?.(given, complain)
  return others.flatMap(settingsOf)
}

function checkLedger(checked: Checked): void {
  const ledger = checked.mapping('ledger')
  if (
    Object.hasOwn(ledger, 'schema') &&
    Object.hasOwn(ledger, 'sqlite') &&
    !Object.hasOwn(ledger, 'postgres')
  )
    checked.complain(['ledger', 'schema'], 'a SQLite file has no `schema`', 'key')
}

function checkConnections(checked: Checked): void {
  for (const [name, { service }] of checked.members('connections'))
    if (typeof service === 'string' && service.replace(/\/+$/, '').endsWith(BASE_PATH))
      checked.complain(
        ['connections', name, 'service'],
        `expected the URL before \`${BASE_PATH}\`, which every request adds`,
      )
}

function checkTemporal(checked: Checked): void {
  const tls = checked.mapping('temporal', 'tls')
  if (Object.hasOwn(tls, 'client_cert') !== Object.hasOwn(tls, 'client_key'))
    checked.complain(
      ['temporal', 'tls'],
      'expected `client_cert` and `client_key`, or neither',
      'key',
    )
}

function checkOwnConsole(checked: Checked): void {
  const { console: ofWorker } = checked.mapping('worker')
  checkConsole(checked.mapping('console'), ofWorker, (path, message, at) =>
    checked.complain(path, message, at),
  )
}

function checkSchedules(checked: Checked): void {
  for (const section of ['syncs', 'groups'])
    for (const [name] of checked.members(section)) {
      const schedule = checked.mapping(section, name, 'schedule')
      if (Object.hasOwn(schedule, 'every') && Object.hasOwn(schedule, 'time_zone'))
        checked.complain(
          [section, name, 'schedule', 'time_zone'],
          '`every` knows no time zone; remove it, or write `cron`',
          'key',
        )
    }
}

function checkTogether(checked: Checked): void {
  const complain: Complain = (path, message, at) => checked.complain(path, message, at)
  const syncs = checked.mapping('syncs')
  checkOrder(syncs, complain)
  checkGroups(checked.mapping('groups'), syncs, complain)
}

function checkMirrors(checked: Checked): void {
  /** The mirror that writes to a place, by the text of its warehouse and its schema. */
  const mirrors = new Map<string, string>()
  for (const [name] of checked.members('syncs')) {
    const path = ['syncs', name, 'mirror']
    const { to, schema = name, object_types: types, except } = checked.mapping(...path)
    const problem = typeof to === 'string' ? mirrorProblem(checked.mapping('warehouses', to)) : null
    if (problem !== null)
      checked.complain([...path, 'to'], `the warehouse \`${String(to)}\` ${problem}`)
    const isOfTypes = (name: unknown) => typeof name !== 'string' || !name.includes('.')
    const excepted = Array.isArray(except) && except.length > 0 ? except : [except]
    if (Array.isArray(types) && except !== undefined && excepted.some(isOfTypes))
      checked.complain(
        [...path, 'except'],
        '`except` of object types belongs to `object_types: all`; remove it, and list what is mirrored',
        'key',
      )
    if (typeof schema === 'string' && typeof to === 'string')
      checkMirrorSchema(checked, name, to, schema, mirrors)
  }
}

/** A mirror has a schema of its own. */
function checkMirrorSchema(
  checked: Checked,
  name: string,
  to: string,
  schema: string,
  mirrors: Map<string, string>,
): void {
  const path = ['syncs', name, 'mirror', 'schema']
  // If the schema is the name of the sync, a setting that is not there yet changes it.
  const about = (message: string) =>
    valueAt(checked.document.data, path) === undefined
      ? checked.complain(['syncs', name], `${message}; choose another by \`schema\``, 'key')
      : checked.complain(path, `${message}; choose another`)
  const taken = TAKEN_SCHEMAS.find(([pattern]) => pattern.test(schema))
  if (taken) about(`a mirror needs a schema of its own, and \`${schema}\` ${taken[1]}`)
  const place = JSON.stringify([placeOf(checked.mapping('warehouses', to), to), schema])
  const other = mirrors.get(place)
  if (other === undefined) mirrors.set(place, name)
  else
    about(
      `the mirror \`${other}\` writes to the schema \`${schema}\` of the warehouse \`${quoteValue(to)}\` already`,
    )
}

const driverIn = (warehouse: JsonObject) =>
  WAREHOUSES.find(({ name }) => Object.hasOwn(warehouse, name))

const mirrorProblem = (warehouse: JsonObject): string | null =>
  driverIn(warehouse)?.mirrors.problem?.(warehouse) ?? null

/** What identifies a warehouse, whatever its name: the file, or where the URL comes from. */
function placeOf(warehouse: JsonObject, name: string): unknown {
  const driver = driverIn(warehouse)
  if (driver === undefined) return name
  const { name: setting, settings }: WarehouseDriver = driver
  const place = warehouse[setting]
  if (markOf(settings[setting] as z.ZodType)?.is !== 'path') return place ?? name
  return typeof place === 'string' ? { path: resolve(place) } : name
}

function checkImports(checked: Checked): void {
  for (const [name] of checked.members('syncs')) {
    const path = ['syncs', name, 'import']
    const { matching_property: matching, properties } = checked.mapping(...path)
    checkMode(checked, path)
    checkLinks(checked, path)
    const complain: Complain = (below, message, at) =>
      checked.complain([...path, ...below], message, at)
    checkRemovals(checked.mapping(...path), complain)
    checkApproval(checked.mapping(...path), complain)
    checkProtection(checked.mapping(...path), complain)
    if (!isJsonObject(properties)) continue
    if (typeof matching === 'string' && !Object.hasOwn(properties, matching)) {
      const at = [...path, 'matching_property']
      const unknown = checked.unknown(at, 'mapped property', properties)
      checked.complain(at, `${unknown}; map it under \`properties\``)
    }
    for (const [property, mapping] of Object.entries(properties))
      if (isJsonObject(mapping))
        checkMapping(checked, [...path, 'properties', property], mapping, property === matching)
  }
}

/** Links of one association may come from several columns; what they lead to, and how it is found, is the same in all of them. */
function checkLinks(checked: Checked, path: Path): void {
  const links = valueAt(checked.document.data, [...path, 'links'])
  if (!Array.isArray(links)) return
  const firsts = new Map<unknown, JsonObject>()
  for (const [index, link] of links.entries()) {
    if (!isJsonObject(link) || typeof link['association'] !== 'string') continue
    const first = firsts.get(link['association'])
    if (first === undefined) firsts.set(link['association'], link)
    else
      for (const setting of ['to', 'by', 'missing'] as const) {
        const isOf = ({ [setting]: given = setting === 'missing' ? 'park' : null }: JsonObject) =>
          given
        if (isOf(link) === isOf(first)) continue
        const is = isOf(first) === null ? 'has none' : `has \`${quoteValue(String(isOf(first)))}\``
        checked.complain(
          [...path, 'links', index, ...(Object.hasOwn(link, setting) ? [setting] : [])],
          `expected the same \`${setting}\` as the first link of ${quoteValue(link['association'])}, which ${is}`,
        )
      }
  }
}

function checkTests(checked: Checked): void {
  for (const [sync, { tests }] of checked.members('syncs'))
    for (const { name, index } of repeatedNames(
      Array.isArray(tests) ? tests.map((one) => (isJsonObject(one) ? one : {})) : [],
    ))
      checked.complain(
        ['syncs', sync, 'tests', index, 'name'],
        `another test of this sync is called \`${quoteValue(name)}\`; expected a name of its own`,
      )
}

/** Settings that say nothing in a mode. */
function checkMode(checked: Checked, path: Path): void {
  const given = checked.mapping(...path)
  const { mode, properties, matching_property: matching } = given
  const mappings = Object.entries(isJsonObject(properties) ? properties : {})
  const rules = [path, [...path, 'approve']]
  if (mode === 'update') {
    for (const place of rules)
      if (Object.hasOwn(checked.mapping(...place), 'creates_max_percent'))
        checked.complain(
          [...place, 'creates_max_percent'],
          '`mode: update` creates nothing; remove `creates_max_percent`, or choose the mode: upsert, create',
          'key',
        )
    const [only] = mappings
    if (mappings.length === 1 && only![0] === matching)
      checked.complain(
        [...path, 'properties'],
        `\`mode: update\` changes properties other than the matching one, and \`properties\` has only \`${matching}\`; map at least one more`,
        'key',
      )
  }
  if (mode !== 'create') return
  for (const place of rules)
    if (Object.hasOwn(checked.mapping(...place), 'clears_max_percent'))
      checked.complain(
        [...place, 'clears_max_percent'],
        '`mode: create` clears nothing; remove `clears_max_percent`, or choose the mode: upsert, update',
        'key',
      )
  const places = mappings.map(([name]) => [...path, 'properties', name, 'empty'])
  for (const place of [[...path, 'empty'], ...places])
    if (valueAt(checked.document.data, place) === 'clear')
      checked.complain(
        place,
        '`clear` empties a property of a record that exists, and `mode: create` writes none of these; valid: omit, reject',
      )
}
