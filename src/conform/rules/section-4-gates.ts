// Section 4.3 rule 5: the gates of a write. Without scratch records the kit sends only requests that could change nothing even
// if the service accepted them: they name ids that no record has.

import { isJsonObject } from '../../core/json.ts'
import { broken, expectRefusal, isSuccess, sameProblem } from '../expect.ts'
import { OPERATIONS, type OperationId } from '../../contract/index.ts'
import { NO_RECORD } from '../calls.ts'
import { readRule, refusalRule } from '../rule-kinds.ts'
import type { RuleContext } from '../rule-context.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedAssociation, ProbedType, RuleCall } from '../types.ts'
import { dataOf, fieldsOf, type WireExchange } from '../wire.ts'

const readOnly = { statuses: [403], code: 'permission_denied', reason: 'type_read_only' }

interface Gate {
  readonly operation: OperationId
  /** The rest of a request that names no record. */
  readonly rest: (type: ProbedType) => Omit<RuleCall, 'operation' | 'objectType'>
}

const nothing = { properties: {} }

/** An upsert by a property, with a value that no record has. */
function matching({ name, properties }: ProbedType, wrap: (item: object) => object) {
  const single = properties.filter(({ isMulti }) => !isMulti)
  const [first] = single.toSorted((a, b) => Number(b.isUnique) - Number(a.isUnique))
  if (!first) throw new Unchecked(`${name} has no property to match by`)
  const data = wrap({ properties: { [first.name]: NO_RECORD } })
  return { matchingProperty: first.name, body: { data } }
}

/** By the word of their rule. */
const gates = {
  update: {
    operation: 'updateRecord',
    rest: () => ({ id: NO_RECORD, body: { data: nothing } }),
  },
  delete: { operation: 'deleteRecord', rest: () => ({ id: NO_RECORD }) },
  'batch-update': {
    operation: 'batchUpdate',
    rest: () => ({ body: { data: [{ id: NO_RECORD, ...nothing }] } }),
  },
  'batch-delete': {
    operation: 'batchDelete',
    rest: () => ({ body: { data: [{ id: NO_RECORD }] } }),
  },
  create: { operation: 'createRecord', rest: () => ({ body: { data: nothing } }) },
  upsert: { operation: 'upsertRecord', rest: (type) => matching(type, (item) => item) },
  'batch-create': { operation: 'batchCreate', rest: () => ({ body: { data: [nothing] } }) },
  'batch-upsert': { operation: 'batchUpsert', rest: (type) => matching(type, (item) => [item]) },
} satisfies Record<string, Gate>

/** A type that lacks one of these operations refuses the write; the rules use a type that lacks all of them. */
function needsOf({ operation }: Gate): readonly unknown[] {
  const { writes } = OPERATIONS[operation]
  return writes === 'upsert' ? ['create', 'update'] : [writes]
}

const callOf = ({ operation, rest }: Gate, type: ProbedType): RuleCall => ({
  operation,
  objectType: type.name,
  ...rest(type),
})

/** Whether a service that accepted it would create a record. */
const makes = (gate: Gate) => needsOf(gate).includes('create')

/** A type that accepts none of the operations that a write needs. @throws NotApplicable */
async function closedType(kit: RuleContext, gate: Gate): Promise<ProbedType> {
  const needs = needsOf(gate)
  const types = await kit.probe.types()
  const found = types.find(({ writable }) => !writable.some((each) => needs.includes(each)))
  if (found) return found
  throw new NotApplicable(`every type that the key sees accepts ${needs.join(' or ')}`)
}

/** A batch may be refused as a whole, or item by item. */
function expectReadOnly(exchange: WireExchange): void {
  const data = dataOf(exchange)
  const [item] = Array.isArray(data) ? data : []
  const { reason } = fieldsOf(fieldsOf(item)['problem'])
  if (!isSuccess(exchange) || reason !== readOnly.reason) expectRefusal(exchange, readOnly)
}

const gateRule = ([word, gate]: [string, Gate]): Rule => ({
  id: `4.3.5.${word}`,
  text: `${word.startsWith('up') ? 'An' : 'A'} ${word.replace('-', ' ')} of a type that does not accept it is 403, reason type_read_only.`,
  phase: makes(gate) ? 'writes' : 'reads',
  async check(kit) {
    const type = await closedType(kit, gate)
    if (makes(gate) && kit.benches.length === 0) {
      throw new Unchecked(
        'a service that lets it through would make a record: --write TYPE allows it',
      )
    }
    expectReadOnly(await kit.call(callOf(gate, type)))
    return `of ${type.name}`
  },
})

export const section4Gates: readonly Rule[] = [
  ...Object.entries(gates).map(gateRule),
  refusalRule({
    id: '4.3.5.associate',
    text: 'An association of a type that does not accept it is 403, reason type_read_only.',
    of: closedAssociation,
    refused: ({ name, source }) => ({
      operation: 'associateRecords',
      objectType: source,
      id: NO_RECORD,
      association: name,
      target: NO_RECORD,
    }),
    refusal: readOnly,
  }),
  readRule(
    '4.3.5.identical',
    'The refusal of a read-only type is the same for every credential.',
    async (kit) => {
      const other = kit.options.hasOtherKey ? 'other' : 'key'
      for (const gate of Object.values(gates)) {
        if (makes(gate)) continue
        const call = callOf(gate, await closedType(kit, gate))
        const first = await kit.call({ ...call, as: 'key' })
        const second = await kit.call({ ...call, as: other })
        if (isSuccess(first) || sameProblem(first, second)) continue
        const expected = 'the body of the answer before, but for request_id'
        throw broken(second, '', expected, 'another body')
      }
      return kit.options.hasOtherKey
        ? 'asked with both keys'
        : 'asked twice with one key: --other-key compares two'
    },
  ),
  refusalRule({
    id: '4.3.5.write-forbidden',
    text: 'A write without a grant is 403, reason write_forbidden.',
    of: forbiddenType,
    refused: ({ type, caller }) => ({ ...callOf(gates.update, type), as: caller }),
    refusal: { statuses: [403], code: 'permission_denied', reason: 'write_forbidden' },
    note: ({ type }) => `of ${type.name}`,
  }),
]

/** An association that begins at a type that accepts none. @throws NotApplicable */
async function closedAssociation(kit: RuleContext): Promise<ProbedAssociation> {
  const types = await kit.probe.types()
  const closed = new Set(
    types.filter(({ writable }) => !writable.includes('associate')).map(({ name }) => name),
  )
  const association = (await kit.probe.associations()).find(({ source }) => closed.has(source))
  if (association) return association
  throw new NotApplicable('no association begins at a type that accepts none')
}

/** A type that accepts updates, and a key that may not update it. @throws Unchecked */
async function forbiddenType(kit: RuleContext) {
  const types = await kit.probe.types()
  for (const caller of ['key', 'other'] as const) {
    if (caller === 'other' && !kit.options.hasOtherKey) continue
    const forbidden = await readGrantsOf(kit, caller)
    const type = types.find(
      ({ name, writable }) => forbidden.has(name) && writable.includes('update'),
    )
    if (type) return { type, caller }
  }
  throw new Unchecked(
    'the key may write whatever the service accepts: --other-key names one that may not',
  )
}

/** The types that a key may read but not write, according to its introspection. */
async function readGrantsOf(kit: RuleContext, caller: 'key' | 'other'): Promise<Set<string>> {
  const exchange = await kit.call({ operation: 'readSelf', as: caller })
  const permissions = fieldsOf(dataOf(exchange))['permissions']
  const list = Array.isArray(permissions) ? permissions.filter(isJsonObject) : []
  return new Set(
    list
      .filter(({ read, write }) => read === true && write === false)
      .map(({ entity_type }) => String(entity_type)),
  )
}
