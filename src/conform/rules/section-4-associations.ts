// Sections 4 and 4.3 rule 6: linking records. Every record that is linked is a scratch record.

import { isJsonObject } from '../../core/json.ts'
import { broken, expectRefusal, expectSuccess, sameProblem } from '../expect.ts'
import { NO_RECORD } from '../calls.ts'
import type { RuleContext } from '../rule-context.ts'
import { Unchecked } from '../verdict.ts'
import type { Rule } from '../rule.ts'
import { writeRule } from '../rule-kinds.ts'
import { dataOf } from '../wire.ts'

export const section4Associations: readonly Rule[] = [
  writeRule(
    '4.associate',
    'Two records are linked, and the edge is listed.',
    async (_bench, kit) => {
      const { association, source, target } = await linkable(kit)
      const from = await source.make(source.identity())
      const to = await target!.make(target!.identity())
      const link = {
        operation: 'associateRecords',
        objectType: source.typeName,
        id: from.id,
        association,
        target: to.id,
      } as const
      expectSuccess(await kit.call(link))
      const exchange = await kit.call({
        operation: 'listAssociationEdges',
        objectType: source.typeName,
        id: from.id,
      })
      expectSuccess(exchange, [200])
      const data = dataOf(exchange)
      const edges = Array.isArray(data) ? data.filter(isJsonObject) : []
      const isListed = edges.some(
        (edge) =>
          edge['source_id'] === from.id &&
          edge['target_id'] === to.id &&
          edge['association_type'] === association,
      )
      if (isListed) return
      throw broken(exchange, '/data', 'the edge', `${edges.length} others`)
    },
  ),
  writeRule(
    '4.3.6.target',
    'An association target that is unknown or deleted yields one identical 422 with field /target_id.',
    async (_bench, kit) => {
      const { association, source, target } = await linkable(kit, true)
      const from = await source.make(source.identity())
      const link = async (id: string, sent: string) =>
        await kit.call({
          operation: 'associateRecords',
          objectType: source.typeName,
          id: from.id,
          association,
          target: id,
          sent,
        })
      const unknown = await link(NO_RECORD, 'an unknown target')
      expectRefusal(unknown, { statuses: [422], field: '/target_id' })
      if (!target) return 'an unknown target only: --write the target type for a deleted one'
      const gone = await target.make(target.identity())
      await kit.remove(target.typeName, gone.id)
      const deleted = await link(gone.id, 'a deleted target')
      expectRefusal(deleted, { statuses: [422], field: '/target_id' })
      if (sameProblem(unknown, deleted)) return
      const expected = 'the body that an unknown target gets, but for request_id'
      throw broken(deleted, '', expected, 'another body')
    },
  ),
]

/** An association between two types in which scratch records may be created; with `half`, at least in its source. */
async function linkable(kit: RuleContext, half = false) {
  kit.bench()
  const associations = await kit.probe.associations()
  const known = associations.map(({ name, source, target }) => ({
    association: name,
    source: kit.benchOf(source),
    target: kit.benchOf(target),
  }))
  const found =
    known.find(({ source, target }) => source && target) ??
    (half ? known.find(({ source }) => source) : undefined)
  if (found?.source) {
    return { ...found, source: found.source.ready(), target: found.target?.ready() }
  }
  throw new Unchecked(
    half
      ? 'no association begins at a type that may be written'
      : 'no association is between types that may be written: --write both',
  )
}
