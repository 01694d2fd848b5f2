// Section 2.11: what filters mean. Each is compared with a naive evaluation over the records that were listed.

import { FILTER_OPERATORS, type FilterNode, type FilterOperator } from '../../contract/index.ts'
import { broken } from '../expect.ts'
import { leafEvidence, queryCall } from '../calls.ts'
import type { RuleContext } from '../rule-context.ts'
import { matchesFilter } from '../filter-semantics.ts'
import { candidatesFor, type Candidate } from '../operands.ts'
import { allPages } from '../pages.ts'
import { NotApplicable, Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { readRule } from '../rule-kinds.ts'
import { asUnchecked, within } from '../schema-probe.ts'
import type { RecordSample } from '../types.ts'
import { problemOf } from '../wire.ts'

/** Pages of a filter's result that are read. */
const RESULT_PAGES_MAX = 3

/**
 * Compares what a filter finds with what it means. Writes by other clients may look like a fault, so a second comparison, with
 * records that were read again, must find it too.
 */
async function compareFilter(
  kit: RuleContext,
  sample: RecordSample,
  filter: FilterNode,
  sent: string,
): Promise<void> {
  const first = await faultsOf(kit, sample, filter, sent)
  if (first === null) return
  const second = await faultsOf(kit, await kit.probe.sampleAgain(sample), filter, sent)
  if (second !== null) throw second
}

async function faultsOf(kit: RuleContext, sample: RecordSample, filter: FilterNode, sent: string) {
  const scope = within(sample)
  const body = { filter: scope?.filter ? { $and: [scope.filter, filter] } : filter }
  const call = queryCall(sample.type.name, body, sent)
  const { records: found, whole, exchange } = await allPages(kit, call, RESULT_PAGES_MAX)
  const wrong = found.filter(({ properties }) => matchesFilter(filter, properties) === 'no').length
  if (wrong > 0) {
    const got = `${wrong} of ${found.length} records that do not match`
    return broken(exchange, '/data', 'records that match the filter', got)
  }
  if (!whole) return null
  const ids = new Set(found.map(({ id }) => id))
  // Only among those that can be read to the end.
  const listed = scope?.records ?? []
  const due = listed.filter(({ properties }) => matchesFilter(filter, properties) === 'yes')
  const missing = due.filter(({ id }) => !ids.has(id)).length
  if (missing === 0) return null
  const got = `${missing} of the ${due.length} that were listed are missing`
  return broken(exchange, '/data', 'every record that matches the filter', got)
}

/** Whether a filter on a currency was answered that there are no rates: a correct answer that says nothing about its meaning. */
async function lacksRates(
  kit: RuleContext,
  { property, sample, filter }: Candidate,
): Promise<boolean> {
  if (property.field.units.length === 0) return false
  if (!kit.hasRates) return true
  const exchange = await kit.query(sample.type.name, { filter, limit: 1 }, leafEvidence(filter))
  kit.hasRates = problemOf(exchange)['reason'] !== 'exchange_rate_unavailable'
  return !kit.hasRates
}

const meanings: Readonly<Record<FilterOperator, string>> = {
  eq: 'eq matches the records that hold the value',
  neq: 'neq matches no record whose value equals it',
  is_null: 'is_null matches by whether the property has a value',
  gt: 'gt matches greater values',
  gte: 'gte matches greater and equal values',
  lt: 'lt matches lesser values',
  lte: 'lte matches lesser and equal values',
  starts_with: 'starts_with matches texts that start so',
  ends_with: 'ends_with matches texts that end so',
  contains: 'contains matches texts that have the fragment',
  not_contains: 'not_contains matches no text that has the fragment',
  contains_any: 'contains_any matches when a stored value contains one of the fragments',
  not_contains_any: 'not_contains_any matches no text that has one of the fragments',
  in: 'in matches when one of the stored values equals an entry exactly',
  not_in: 'not_in matches no record whose value is in the list',
}

function operatorRule(op: FilterOperator): Rule {
  return readRule(`2.11.${op}`, `${meanings[op]}.`, async (kit) => {
    const samples = await kit.probe.samples()
    const supporting = samples.flatMap(({ type }) =>
      type.properties.filter(({ operators }) => operators.includes(op)),
    )
    if (supporting.length === 0) throw new NotApplicable(`no property supports ${op}`)
    const names: string[] = []
    for (const candidate of candidatesFor(op, samples)) {
      if (await lacksRates(kit, candidate)) continue
      const { sample, filter, property } = candidate
      await compareFilter(kit, sample, filter, leafEvidence(filter))
      if (op === 'is_null') {
        const other = { ...filter, value: false } as FilterNode
        await compareFilter(kit, sample, other, leafEvidence(filter))
      }
      names.push(property.name)
    }
    if (names.length > 0) return `by ${names.join(', ')}`
    throw new Unchecked(
      `no record has a value that ${op} could be asked of: --write TYPE makes some`,
    )
  })
}

const leafOperators = ['eq', 'neq', 'in', 'is_null', 'gt', 'lte', 'contains'] as const

/**
 * Two leaves each of which matches records that the other does not; if possible, some records match both, and some none.
 * @throws Unchecked
 */
async function twoLeaves(kit: RuleContext): Promise<[Candidate, Candidate]> {
  const samples = await asUnchecked(kit.probe.samples())
  let found: { pair: [Candidate, Candidate]; rank: number } | null = null
  for (const sample of samples) {
    const leaves = leafOperators
      .flatMap((op) => candidatesFor(op, [sample]))
      .filter(({ property, splits }) => splits && property.field.units.length === 0)
    const truthsOf = ({ filter }: Candidate) =>
      sample.records.map(({ properties }) => matchesFilter(filter, properties))
    const truths = leaves.map(truthsOf)
    for (const [a, one] of truths.entries()) {
      for (const [b, other] of truths.entries()) {
        if (a >= b || leaves[a]!.property === leaves[b]!.property) continue
        const has = (first: string, second: string) =>
          one.some((truth, index) => truth === first && other[index] === second)
        if (!has('yes', 'no') || !has('no', 'yes')) continue
        const rank = Number(has('yes', 'yes')) + Number(has('no', 'no'))
        if (!found || rank > found.rank) found = { pair: [leaves[a]!, leaves[b]!], rank }
      }
    }
  }
  if (found) return found.pair
  throw new Unchecked('no type has records that two filters tell apart: --write TYPE makes some')
}

function groupRule(word: '$and' | '$or', text: string): Rule {
  return readRule(`2.11.${word.slice(1)}`, text, async (kit) => {
    const [{ sample, filter: a, property: first }, { filter: b, property: second }] =
      await twoLeaves(kit)
    const filter: FilterNode = word === '$and' ? { $and: [a, b] } : { $or: [a, b] }
    const sent = `${word} of ${leafEvidence(a)} and ${leafEvidence(b)}`
    await compareFilter(kit, sample, filter, sent)
    return `by ${first.name} and ${second.name}`
  })
}

export const section2Filters: readonly Rule[] = [
  groupRule('$and', 'Every child of $and must match.'),
  groupRule('$or', 'At least one child of $or must match.'),
  readRule('2.11.nested', 'Groups nest.', async (kit) => {
    const [{ sample, filter: a }, { filter: b }] = await twoLeaves(kit)
    const filter: FilterNode = {
      $or: [{ $and: [a, { $or: [b, { $and: [a, b] }] }] }, { $and: [b] }],
    }
    await compareFilter(kit, sample, filter, 'groups within groups')
  }),
  ...FILTER_OPERATORS.map(operatorRule),
]
