// What the settings of one mapping mean for each other, as far as neither the service nor the source is needed to know it.

import { contradicts } from '../src/core/currencies.ts'
import { hasMonthName, hasShortYear } from '../src/core/date-format.ts'
import { isJsonObject, type JsonObject } from '../src/core/json.ts'
import { joinWords } from '../src/core/suggest.ts'
import type { Complain, Path } from '../src/settings/marks.ts'
import { pathText, type ConfigDocument } from './document.ts'
import { mappingSettings } from './imports.ts'
import { valueAt } from './issues.ts'
import { PROTECTION_SETTINGS } from './protection.ts'

/** What the checks of a mapping work with. */
interface Checked {
  readonly document: ConfigDocument
  complain: Complain
}

/** Settings of which a mapping has exactly one. */
const ORIGINS = ['column', 'columns', 'value']
/** All that a constant may have. */
const OF_CONSTANTS = [...ORIGINS, 'compare', ...PROTECTION_SETTINGS]

/** A setting that says nothing without one of others. */
const NEEDS: readonly (readonly [setting: string, others: readonly string[], why: string])[] = [
  ['join', ['columns'], '`join` stands between the cells of `columns`'],
  ['template', ['pattern'], '`template` puts the named groups of `pattern` together'],
  ['else', ['pattern', 'map'], '`else` is for cells that `pattern` or `map` does not know'],
]

/** Whether a mapping has a setting, and how to complain about one. */
const settingsOf = (checked: Checked, path: Path, mapping: JsonObject) => ({
  has: (name: string) => Object.hasOwn(mapping, name),
  complain: (setting: string, message: string, at?: 'key') =>
    checked.complain([...path, setting], message, at),
})

/** @param path of the mapping */
export function checkMapping(
  checked: Checked,
  path: Path,
  mapping: JsonObject,
  isMatching: boolean,
): void {
  const { has, complain } = settingsOf(checked, path, mapping)
  const others = Object.keys(mapping).filter(
    (name) => !OF_CONSTANTS.includes(name) && Object.hasOwn(mappingSettings.shape, name),
  )
  if (ORIGINS.filter(has).length !== 1)
    checked.complain(
      path,
      `\`${pathText(path)}\`: expected exactly one of \`column\`, \`columns\` and \`value\``,
      'key',
    )
  else if (has('value') && others.length > 0)
    complain(others[0]!, `a constant \`value\` stands alone; remove ${joinWords(others)}`, 'key')
  if (has('unit') && has('unit_column'))
    complain('unit_column', 'expected `unit` or `unit_column`, not both', 'key')
  const { decimal = '.' } = mapping
  if (has('thousands') && mapping['thousands'] === decimal)
    complain('thousands', 'expected two different characters as `decimal` and `thousands`')
  const { symbol, unit } = mapping
  if (typeof symbol === 'string' && typeof unit === 'string' && contradicts(symbol, unit))
    complain(
      'symbol',
      `\`${symbol}\` is of another currency than the unit ${unit}; correct one of them`,
    )
  checkDates(checked, path, mapping)
  const yes = wordsOf(mapping['true'])
  if (wordsOf(mapping['false']).some((word) => yes.includes(word)))
    complain('false', 'a word means both true and false; keep it in one of the lists')
  if (isMatching && mapping['compare'] === false)
    complain(
      'compare',
      'records are found by the matching property, so it is always compared; remove `compare`',
      'key',
    )
  if (has('column') !== has('columns') && !has('value'))
    checkTransformation(checked, path, mapping, isMatching)
}

function checkDates(checked: Checked, path: Path, mapping: JsonObject): void {
  const { has, complain } = settingsOf(checked, path, mapping)
  const formats = [mapping['format'] ?? []].flat().filter((one) => typeof one === 'string')
  const isShort = formats.some(hasShortYear)
  if (isShort && !has('window'))
    complain(
      'format',
      '`YY` needs `window`, the first of the 100 years that two digits stand for: add `window: 1950` for 1950 to 2049',
    )
  if (has('window') && !isShort)
    complain('window', '`window` is for years of two digits, `YY` in `format`; remove it', 'key')
  if (has('language') && !formats.some(hasMonthName))
    complain('language', '`language` is for `MMM` or `MMMM` in `format`; remove it', 'key')
  if (has('epoch') && has('format'))
    complain('format', 'expected `epoch` or `format`, not both', 'key')
  if (has('epoch') && has('zone'))
    complain('zone', '`epoch` counts from one time in all zones; remove `zone`', 'key')
}

function checkTransformation(
  checked: Checked,
  path: Path,
  mapping: JsonObject,
  isMatching: boolean,
): void {
  const { has, complain } = settingsOf(checked, path, mapping)
  for (const [setting, wanted, why] of NEEDS)
    if (has(setting) && !wanted.some(has))
      complain(setting, `${why}; add ${joinWords(wanted)}, or remove \`${setting}\``, 'key')
  if (has('default') && isMatching)
    complain(
      'default',
      'rows without a key would all be one record; remove `default` of the matching property',
      'key',
    )
  else if (has('default') && has('empty'))
    complain(
      'empty',
      '`default` fills empty cells, so that `empty` says nothing; remove one of them',
      'key',
    )
  const { map } = mapping
  for (const from of isJsonObject(map) ? Object.keys(map) : []) {
    if (from.trim() === '')
      complain('map', 'an empty cell is not looked up in `map`; write `default` for it')
    checkWritten(checked, [...path, 'map', from])
  }
  checkWritten(checked, [...path, 'default'])
}

/** A number is sent as it is written: `007` is the number 7 in YAML. */
function checkWritten(checked: Checked, path: Path): void {
  const { document } = checked
  const written = document.written(path)
  const value = valueAt(document.data, path)
  if (written === undefined || value === null || written === String(value)) return
  checked.complain(path, `expected a text in quotes: without them it is ${String(value)}`)
}

const wordsOf = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap((word) => (typeof word === 'string' ? [word.trim().toLowerCase()] : []))
    : []
