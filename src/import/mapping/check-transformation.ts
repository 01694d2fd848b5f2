// What is wrong with the transformations of a mapping: found once, before the first row, also of what `map` and `default` send.

import { isBlank, seenText } from '../../core/look.ts'
import { suggestWord } from '../../core/suggest.ts'
import type { PropertyMapping } from '../../../config/index.ts'
import { partsOf } from './cell-parts.ts'
import type { Column } from './columns.ts'
import { COERCIONS, READ_AS } from './coerce.ts'
import { compilePattern, type Extract } from './patterns.ts'
import type { CellMap, MappingTools } from './tools.ts'
import { phoneSetting } from './phones.ts'
import { beforeMap, withAffixes } from './transform.ts'

/** Complains about a setting of the mapping. */
type Wrong = (message: string, ...setting: readonly string[]) => void

/** Field types whose values may be telephone numbers; a type that is not known here may be one. */
const OF_PHONES = ['phone', 'text', 'long_text']

/** `pattern` and `map`, ready to use; null where the mapping has none, or a wrong one. */
export function compileSteps(
  name: string,
  mapping: PropertyMapping,
  tools: MappingTools,
  wrong: Wrong,
): { readonly extract: Extract | null; readonly map: CellMap | null } {
  return {
    extract: extractOf(name, mapping, tools, wrong),
    map: mapOf(name, mapping, tools, wrong),
  }
}

function extractOf(
  name: string,
  { pattern, template }: PropertyMapping,
  { patterns }: MappingTools,
  wrong: Wrong,
): Extract | null {
  if (pattern === undefined) return null
  if (patterns === null) throw notLoaded(name)
  const extract = compilePattern(patterns, pattern, template)
  if (typeof extract === 'function') return extract
  wrong(`${extract.setting} of ${name}: ${extract.message}`, extract.setting)
  return null
}

function mapOf(
  name: string,
  mapping: PropertyMapping,
  { files, problems }: MappingTools,
  wrong: Wrong,
): CellMap | null {
  if (mapping.map === undefined) return null
  const entries = typeof mapping.map === 'string' ? files.get(name) : Object.entries(mapping.map)
  if (entries === undefined) {
    if (problems.some(({ path }) => path[1] === name)) return null
    throw notLoaded(name)
  }
  const isFile = typeof mapping.map === 'string'
  const map = new Map<string, string | null>()
  let entry = 0
  for (const [from, to] of entries) {
    entry++
    const key = seenText(from)
    const met = beforeMap(mapping, from)
    const where = isFile ? `entry ${entry} of the file of map` : `\`${from}\` in map`
    const place = isFile ? ['map'] : ['map', from]
    if (met !== key)
      wrong(
        `${where} of ${name} is never met: \`case: ${mapping.case}\` changes cells before they are looked up${isFile ? '' : `; write \`${met}\``}`,
        ...place,
      )
    else if (map.has(key))
      wrong(`${where} of ${name} is there twice, in two forms that look the same`, ...place)
    map.set(key, to !== null && isBlank(to) ? null : to)
  }
  return map
}

/** A mistake of the program: who compiles a mapping loads what it needs. */
const notLoaded = (name: string): Error =>
  new Error(`what the mapping of ${name} needs was not loaded; expected loadMapping`)

/** Problems of one map that are named. */
const NAMED_MAX = 3

/** Whether `default` and what `map` makes of cells can be read by the type of the property. */
export function checkOutputs(
  column: Column,
  mapping: PropertyMapping,
  map: CellMap | null,
  wrong: Wrong,
): void {
  const { name } = column.property
  const expectedOf = (text: string): string | null => {
    const coerced = column.coerce(text, null)
    return coerced.ok || coerced.isOfUnit === true ? null : coerced.expected
  }
  for (const part of partsOf(mapping.default ?? '', mapping.split)) {
    const expected = mapping.default === undefined ? null : expectedOf(String(part))
    if (expected !== null) wrong(`default of ${name}: expected ${expected}`, 'default')
  }
  if (map === null) return
  const isFile = typeof mapping.map === 'string'
  let entry = 0
  let refused = 0
  for (const [from, to] of map) {
    entry++
    const expected = to === null ? null : expectedOf(withAffixes(mapping, to))
    if (expected === null || ++refused > NAMED_MAX) continue
    if (isFile) wrong(`entry ${entry} of the file of map of ${name}: expected ${expected}`, 'map')
    else wrong(`what \`${from}\` becomes in map of ${name}: expected ${expected}`, 'map', from)
  }
  if (refused > NAMED_MAX)
    wrong(`map of ${name}: ${refused - NAMED_MAX} more entries cannot be sent either`, 'map')
}

/** Whether numbers can be sent to the property, and the country is one. */
export function checkPhone(
  name: string,
  type: string,
  { phone }: PropertyMapping,
  tools: Pick<MappingTools, 'phones'>,
  wrong: Wrong,
): void {
  if (phone === undefined) return
  if (tools.phones === null) throw notLoaded(name)
  if (!OF_PHONES.includes(type) && (Object.hasOwn(READ_AS, type) || Object.hasOwn(COERCIONS, type)))
    wrong(
      `property ${name} is read as ${type}: phone is for the types ${OF_PHONES.join(', ')}`,
      'phone',
    )
  const countries: readonly string[] = tools.phones.getCountries()
  const { country } = phoneSetting(phone)
  if (country !== null && !countries.includes(country))
    wrong(
      `phone ${country} of ${name} is no country with telephone numbers${suggestWord(country, countries, 'countries')}`,
      'phone',
    )
}
