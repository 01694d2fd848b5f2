// Section 4.3 rules 3, 4 and 7: writes that are refused, and why.

import { isJsonObject, type Json } from '../../core/json.ts'
import { NO_PROPERTY } from '../calls.ts'
import type { ScratchRecords } from '../scratch-records.ts'
import { broken, expectRefusal, valueKind } from '../expect.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { refusalRule, writeRule } from '../rule-kinds.ts'
import type { ProbedProperty, RuleCall } from '../types.ts'
import { wrongValueFor } from '../values.ts'
import { problemOf, type WireExchange } from '../wire.ts'

/** Where in a body of `{data: {properties}}` a violation is. */
const pointerTo = ({ name }: ProbedProperty) =>
  `/data/properties/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

const isPointerTo = (pointer: unknown, property: ProbedProperty) =>
  typeof pointer === 'string' &&
  (pointer === pointerTo(property) || pointer.startsWith(`${pointerTo(property)}/`))

function spoilt(
  bench: ScratchRecords,
  count: number,
): { properties: ProbedProperty[]; values: Record<string, Json> } {
  const properties = bench.usable
    .filter((each) => wrongValueFor(each) !== undefined)
    .slice(0, count)
  if (properties.length < count) {
    throw new NotApplicable(`${bench.typeName} has fewer than ${count} properties to write wrongly`)
  }
  const wrong = properties.map((each) => [each.name, wrongValueFor(each)!] as const)
  return { properties, values: { ...bench.identity(), ...Object.fromEntries(wrong) } }
}

/** A rule that an upsert is refused for its matching property. */
const matchingRule = (
  word: string,
  text: string,
  refused: (bench: ScratchRecords) => RuleCall,
): Rule =>
  refusalRule({
    id: `4.3.3.${word}`,
    text,
    phase: 'writes',
    of: (kit) => kit.bench(),
    refused,
    refusal: { code: 'request_invalid', reason: 'invalid_matching_property' },
  })

export const section4Refusals: readonly Rule[] = [
  matchingRule(
    'unknown',
    'An upsert by a property that the type lacks is request_invalid, reason invalid_matching_property.',
    (bench) => bench.upsertOf(NO_PROPERTY, bench.identity()),
  ),
  matchingRule('absent', 'So is an upsert whose body lacks the matching property.', (bench) => {
    const { [bench.key.name]: _, ...rest } = bench.identity()
    return bench.upsertOf(bench.key.name, rest)
  }),
  matchingRule('null', 'So is an upsert whose matching property is null.', (bench) =>
    bench.upsertOf(bench.key.name, { ...bench.identity(), [bench.key.name]: null }),
  ),
  writeRule(
    '4.3.4.ambiguous',
    'An upsert whose value two records hold is conflict, reason ambiguous_match.',
    async (bench) => {
      if (bench.mark.isUnique) {
        throw new Unchecked(`${bench.typeName} has no text property that two records can share`)
      }
      const shared = { [bench.mark.name]: `${bench.marker}-twin` }
      await bench.make({ ...bench.identity(), ...shared })
      await bench.make({ ...bench.identity(), ...shared })
      const exchange = await bench.upsert(bench.mark.name, shared)
      if (problemOf(exchange)['reason'] === 'invalid_matching_property') {
        throw new Unchecked(`the service does not match by ${bench.mark.name}, which is not unique`)
      }
      expectRefusal(exchange, { code: 'conflict', reason: 'ambiguous_match' })
    },
  ),
  writeRule(
    '4.3.7.one',
    'A body that violates the schema is 422, reason schema_invalid, with a pointer to the property.',
    async (bench) => {
      const { properties, values } = spoilt(bench, 1)
      const exchange = await bench.create(values)
      expectSchemaInvalid(exchange)
      const { field } = problemOf(exchange)
      if (isPointerTo(field, properties[0]!)) return
      throw broken(exchange, '/field', pointerTo(properties[0]!), valueKind(field))
    },
  ),
  writeRule(
    '4.3.7.several',
    'Where several fields are wrong, errors lists each.',
    async (bench) => {
      const { properties, values } = spoilt(bench, 2)
      const exchange = await bench.create(values)
      expectSchemaInvalid(exchange)
      const { errors } = problemOf(exchange)
      const list = Array.isArray(errors) ? errors.filter(isJsonObject) : []
      const missing = properties.find(
        (property) => !list.some(({ field }) => isPointerTo(field, property)),
      )
      if (!missing) return
      const expected = `an error whose field is ${pointerTo(missing)}`
      throw broken(exchange, '/errors', expected, valueKind(errors))
    },
  ),
]

function expectSchemaInvalid(exchange: WireExchange): void {
  const statuses = [422]
  expectRefusal(exchange, { statuses, code: 'request_invalid', reason: 'schema_invalid' })
}
