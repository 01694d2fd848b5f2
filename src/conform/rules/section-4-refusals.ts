// Section 4.3 rules 3, 4 and 7: writes that are refused, and why.

import { isJsonObject } from '../../core/json.ts'
import type { Json } from '../../core/json.ts'
import type { ScratchRecords } from '../scratch-records.ts'
import { broken, expectRefusal, valueKind } from '../expect.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedProperty } from '../types.ts'
import { wrongValueFor } from '../values.ts'
import { problemOf } from '../wire.ts'
import type { WireExchange } from '../wire.ts'

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

export const section4Refusals: readonly Rule[] = [
  {
    id: '4.3.3.unknown',
    text: 'An upsert by a property that the type lacks is request_invalid, reason invalid_matching_property.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const exchange = await bench.upsert('conform_no_such_property', bench.identity())
      expectRefusal(exchange, { code: 'request_invalid', reason: 'invalid_matching_property' })
    },
  },
  {
    id: '4.3.3.absent',
    text: 'So is an upsert whose body lacks the matching property.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const { [bench.key.name]: _, ...rest } = bench.identity()
      const exchange = await bench.upsert(bench.key.name, rest)
      expectRefusal(exchange, { code: 'request_invalid', reason: 'invalid_matching_property' })
    },
  },
  {
    id: '4.3.3.null',
    text: 'So is an upsert whose matching property is null.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const body = { ...bench.identity(), [bench.key.name]: null }
      const exchange = await bench.upsert(bench.key.name, body)
      expectRefusal(exchange, { code: 'request_invalid', reason: 'invalid_matching_property' })
    },
  },
  {
    id: '4.3.4.ambiguous',
    text: 'An upsert whose value two records hold is conflict, reason ambiguous_match.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
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
  },
  {
    id: '4.3.7.one',
    text: 'A body that violates the schema is 422, reason schema_invalid, with a pointer to the property.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
      const { properties, values } = spoilt(bench, 1)
      const exchange = await bench.create(values)
      expectSchemaInvalid(exchange)
      const { field } = problemOf(exchange)
      if (isPointerTo(field, properties[0]!)) return
      const expected = pointerTo(properties[0]!)
      throw broken(exchange, { at: '/field', expected, got: valueKind(field) })
    },
  },
  {
    id: '4.3.7.several',
    text: 'Where several fields are wrong, errors lists each.',
    phase: 'writes',
    async check(kit) {
      const bench = kit.bench()
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
      throw broken(exchange, { at: '/errors', expected, got: valueKind(errors) })
    },
  },
]

function expectSchemaInvalid(exchange: WireExchange): void {
  const statuses = [422]
  expectRefusal(exchange, { statuses, code: 'request_invalid', reason: 'schema_invalid' })
}
