// What a cell must contain to be accepted, in words with an example: from what the service reported of the property when the run was
// staged, and from how the mapping reads the cell.

import type { ImportConfig, PropertyMapping } from '../../config/index.ts'
import { exampleDay } from '../core/date-format.ts'
import type { PropertyFacts } from '../ledger/ledger.ts'

/** Options listed at most. */
const optionsShown = 20

/** `a, b and 3 more` */
function some(words: readonly string[]): string {
  const rest = words.length - optionsShown
  return rest > 0 ? `${words.slice(0, optionsShown).join(', ')} and ${rest} more` : words.join(', ')
}

/** One value: what it is, and an example if there is one. */
function valueOf(
  type: string | undefined,
  mapping: PropertyMapping,
  options: readonly string[],
): { words: string; example?: string } {
  if (options.length > 0) return { words: `one of ${some(options)}`, example: options[0]! }
  const number = `1234${mapping.decimal ?? '.'}50`
  const unit = mapping.unit_column
    ? `, and its currency in ${mapping.unit_column}, such as EUR`
    : mapping.unit
      ? `, in ${mapping.unit}`
      : ''
  const isGrouped = (mapping.thousands ?? mapping.symbol) !== undefined
  switch (type) {
    case 'number':
      return {
        words: `a number${isGrouped ? '' : ' without separators of thousands'}`,
        example: number,
      }
    case 'currency':
      return {
        words: `an amount${isGrouped ? '' : ' without symbol or separators of thousands'}${unit}`,
        example: number,
      }
    case 'boolean': {
      const yes = mapping.true ?? ['true', 'yes', '1']
      const no = mapping.false ?? ['false', 'no', '0']
      return { words: `one of ${some([...yes, ...no])}`, example: yes[0]! }
    }
    case 'date': {
      if (mapping.epoch !== undefined)
        return { words: 'a number of days, as spreadsheets count them', example: '31182' }
      const formats = [mapping.format ?? 'YYYY-MM-DD'].flat()
      return {
        words: `a day as ${formats.join(' or ')}`,
        example: exampleDay(formats[0]!, mapping),
      }
    }
    case 'domain':
      return { words: 'a domain', example: 'example.com' }
    case 'datetime':
      if (mapping.epoch !== undefined)
        return {
          words: `${mapping.epoch === 's' ? 'seconds' : 'milliseconds'} since 1970`,
          example: mapping.epoch === 's' ? '1614592800' : '1614592800000',
        }
      if (mapping.zone !== undefined)
        return {
          words: `a time of ${mapping.zone}`,
          example: `${exampleDay([mapping.format ?? 'YYYY-MM-DD'].flat()[0]!, mapping)} 08:15:00`,
        }
      return { words: 'a time with its zone', example: '2026-01-31T08:15:00+01:00' }
    case 'email':
      return { words: 'an e-mail address', example: 'name@example.com' }
    case 'phone':
      return { words: 'a telephone number', example: '+49 30 1234567' }
    case 'url':
      return { words: 'an address', example: 'https://example.com/' }
    case 'user':
      return { words: 'a user, as the service names it' }
    case 'text':
    case 'long_text':
      return { words: 'a text' }
    default:
      return { words: type === undefined ? '' : `a value of the type ${type}` }
  }
}

/** What a cell is before the mapping changes it; undefined: it is changed in ways that say nothing of the cell. */
function changedValueOf({
  pattern,
  map,
  phone,
  else: otherwise = 'reject',
}: PropertyMapping): ReturnType<typeof valueOf> | undefined {
  const isStrict = otherwise === 'reject'
  if (pattern !== undefined && isStrict)
    return { words: `a text that matches the pattern ${pattern}` }
  if (map !== undefined && isStrict) {
    if (typeof map === 'string')
      return { words: 'a value of the first column of the file of `map`' }
    const keys = Object.keys(map)
    return { words: `one of ${some(keys)}`, ...(keys[0] !== undefined && { example: keys[0] }) }
  }
  if (phone === undefined) return undefined
  const where =
    phone === 'international' ? 'that begins with +' : `of ${phone}, or with its country`
  return { words: `a telephone number ${where}`, example: '+49 30 1234567' }
}

/** A cell that is accepted without settings of its own, or what it is if no example says more. */
export function exampleCell(facts: Pick<PropertyFacts, 'type' | 'options'>): string {
  const { words, example } = valueOf(facts.type, {}, facts.options)
  return example ?? words
}

/**
 * A text such as `a day as DD.MM.YYYY, such as 31.01.2026`; empty if nothing is known of the property.
 * @param config of the run's import @param facts of the property (`Run.schema`)
 */
export function acceptedValues(
  config: ImportConfig,
  property: string,
  facts: PropertyFacts | undefined,
): string {
  const mapping = config.properties[property] ?? {}
  const options = facts?.options ?? []
  const { words, example } =
    changedValueOf(mapping) ?? valueOf(mapping.type ?? facts?.type, mapping, options)
  const { split } = mapping
  const isNeeded =
    property === config.matching_property ||
    (mapping.default === undefined && (mapping.empty ?? config.empty) === 'reject')
  const isList = facts?.isMulti === true && split !== undefined
  const examples = isList && options.length > 1 ? options.slice(0, 2).join(split) : example
  const parts = [
    isList && words !== '' ? `${words}; several with ${JSON.stringify(split)} between them` : words,
    ...(examples === undefined ? [] : [`such as ${examples}`]),
    ...(isNeeded ? ['not empty'] : []),
  ]
  return parts.filter((part) => part !== '').join(', ')
}
