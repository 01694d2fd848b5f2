// Section 4.3 rule 5: the gates of a write. Without scratch records the kit sends only requests that could change nothing even
// if the service accepted them: they name ids that no record has.

import { isJsonObject } from '../../core/json.ts'
import { broken, expectRefusal, isSuccess, sameProblem } from '../expect.ts'
import { NO_RECORD } from '../rule-context.ts'
import type { RuleContext } from '../rule-context.ts'
import type { RuleCall } from '../types.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import type { ProbedType } from '../types.ts'
import type { WireExchange } from '../wire.ts'

const readOnly = { statuses: [403], code: 'permission_denied', reason: 'type_read_only' }

interface Gate {
  readonly word: string
  readonly words: string
  /** A type that lacks one of these operations refuses the write; the rule uses a type that lacks all of them. */
  readonly needs: readonly string[]
  /** Whether a service that accepted it would create a record. */
  readonly makes: boolean
  readonly call: (type: ProbedType) => RuleCall
}

const nothing = { properties: {} }
const on = (type: ProbedType) => ({ objectType: type.name })

function keyOf(type: ProbedType): string {
  const names = type.properties.filter(({ isMulti }) => !isMulti)
  const [first] = names.toSorted((a, b) => Number(b.isUnique) - Number(a.isUnique))
  if (first) return first.name
  throw new Unchecked(`${type.name} has no property to match by`)
}

const gates: readonly Gate[] = [
  {
    word: 'update',
    words: 'an update',
    needs: ['update'],
    makes: false,
    call: (type) => ({
      ...on(type),
      operation: 'updateRecord',
      id: NO_RECORD,
      body: { data: nothing },
    }),
  },
  {
    word: 'delete',
    words: 'a delete',
    needs: ['delete'],
    makes: false,
    call: (type) => ({ ...on(type), operation: 'deleteRecord', id: NO_RECORD }),
  },
  {
    word: 'batch-update',
    words: 'a batch update',
    needs: ['update'],
    makes: false,
    call: (type) => ({
      ...on(type),
      operation: 'batchUpdate',
      body: { data: [{ id: NO_RECORD, ...nothing }] },
    }),
  },
  {
    word: 'batch-delete',
    words: 'a batch delete',
    needs: ['delete'],
    makes: false,
    call: (type) => ({
      ...on(type),
      operation: 'batchDelete',
      body: { data: [{ id: NO_RECORD }] },
    }),
  },
  {
    word: 'create',
    words: 'a create',
    needs: ['create'],
    makes: true,
    call: (type) => ({ ...on(type), operation: 'createRecord', body: { data: nothing } }),
  },
  {
    word: 'upsert',
    words: 'an upsert',
    needs: ['create', 'update'],
    makes: true,
    call: (type) => ({
      ...on(type),
      operation: 'upsertRecord',
      matchingProperty: keyOf(type),
      body: { data: { properties: { [keyOf(type)]: NO_RECORD } } },
    }),
  },
  {
    word: 'batch-create',
    words: 'a batch create',
    needs: ['create'],
    makes: true,
    call: (type) => ({ ...on(type), operation: 'batchCreate', body: { data: [nothing] } }),
  },
  {
    word: 'batch-upsert',
    words: 'a batch upsert',
    needs: ['create', 'update'],
    makes: true,
    call: (type) => ({
      ...on(type),
      operation: 'batchUpsert',
      matchingProperty: keyOf(type),
      body: { data: [{ properties: { [keyOf(type)]: NO_RECORD } }] },
    }),
  },
]

/** A type that accepts none of the operations that a write needs. @throws NotApplicable */
async function closedType(kit: RuleContext, needs: readonly string[]): Promise<ProbedType> {
  const types = await kit.survey.types()
  const found = types.find(({ writable }) => needs.every((each) => !writable.includes(each)))
  if (found) return found
  throw new NotApplicable(`every type that the key sees accepts ${needs.join(' or ')}`)
}

/** A batch may be refused as a whole, or item by item. */
function expectReadOnly(exchange: WireExchange): void {
  const data = isJsonObject(exchange.json) ? exchange.json['data'] : undefined
  const [item] = Array.isArray(data) ? data : []
  const problem = isJsonObject(item) ? item['problem'] : undefined
  const isRefusedItem =
    isSuccess(exchange) && isJsonObject(problem) && problem['reason'] === readOnly.reason
  if (!isRefusedItem) expectRefusal(exchange, readOnly)
}

const gateRule = ({ word, words, needs, makes, call }: Gate): Rule => ({
  id: `4.3.5.${word}`,
  text: `${words[0]!.toUpperCase()}${words.slice(1)} of a type that does not accept it is 403, reason type_read_only.`,
  phase: makes ? 'writes' : 'reads',
  async check(kit) {
    const type = await closedType(kit, needs)
    if (makes && kit.benches.length === 0) {
      throw new Unchecked(
        'a service that lets it through would make a record: --write TYPE allows it',
      )
    }
    expectReadOnly(await kit.call(call(type)))
    return `of ${type.name}`
  },
})

export const section4Gates: readonly Rule[] = [
  ...gates.map(gateRule),
  {
    id: '4.3.5.associate',
    text: 'An association of a type that does not accept it is 403, reason type_read_only.',
    phase: 'reads',
    async check(kit) {
      const types = await kit.survey.types()
      const closed = new Set(
        types.filter(({ writable }) => !writable.includes('associate')).map(({ name }) => name),
      )
      const association = (await kit.survey.associations()).find(({ source }) => closed.has(source))
      if (!association) {
        throw new NotApplicable('no association begins at a type that accepts none')
      }
      const exchange = await kit.call({
        operation: 'associateRecords',
        objectType: association.source,
        id: NO_RECORD,
        association: association.name,
        target: NO_RECORD,
      })
      expectRefusal(exchange, readOnly)
    },
  },
  {
    id: '4.3.5.identical',
    text: 'The refusal of a read-only type is the same for every credential.',
    phase: 'reads',
    async check(kit) {
      const callers = kit.options.hasOtherKey
        ? (['key', 'other'] as const)
        : (['key', 'key'] as const)
      for (const { needs, makes, call } of gates) {
        if (makes) continue
        const type = await closedType(kit, needs)
        const first = await kit.call({ ...call(type), as: callers[0] })
        const second = await kit.call({ ...call(type), as: callers[1] })
        if (isSuccess(first) || sameProblem(first, second)) continue
        const expected = 'the body of the answer before, but for request_id'
        throw broken(second, { at: '', expected, got: 'another body' })
      }
      return kit.options.hasOtherKey
        ? 'asked with both keys'
        : 'asked twice with one key: --other-key compares two'
    },
  },
  {
    id: '4.3.5.write-forbidden',
    text: 'A write without a grant is 403, reason write_forbidden.',
    phase: 'reads',
    async check(kit) {
      const types = await kit.survey.types()
      for (const caller of ['key', 'other'] as const) {
        if (caller === 'other' && !kit.options.hasOtherKey) continue
        const forbidden = await readGrantsOf(kit, caller)
        const type = types.find(
          ({ name, writable }) => forbidden.has(name) && writable.includes('update'),
        )
        if (!type) continue
        const call = gates[0]!.call(type)
        const exchange = await kit.call({ ...call, as: caller })
        const refusal = { statuses: [403], code: 'permission_denied', reason: 'write_forbidden' }
        expectRefusal(exchange, refusal)
        return `of ${type.name}`
      }
      throw new Unchecked(
        'the key may write whatever the service accepts: --other-key names one that may not',
      )
    },
  },
]

/** The types that a key may read but not write, according to its introspection. */
async function readGrantsOf(kit: RuleContext, caller: 'key' | 'other'): Promise<Set<string>> {
  const exchange = await kit.call({ operation: 'readSelf', as: caller })
  const data = isJsonObject(exchange.json) ? exchange.json['data'] : undefined
  const permissions = isJsonObject(data) ? data['permissions'] : undefined
  const list = Array.isArray(permissions) ? permissions.filter(isJsonObject) : []
  return new Set(
    list
      .filter(({ read, write }) => read === true && write === false)
      .map(({ entity_type }) => String(entity_type)),
  )
}
