// Associations (sections 2.5, 2.6 and 4.3 rule 6): definitions, the edges of a record, and linking two records.
// Promise kept here: a target that is unknown, deleted or invisible is refused in the same words.

import { PAGE_LIMIT_MAX, type AssociationEdgeWire } from '../../contract/index.ts'
import type { Edge } from '../store/edges.ts'
import { associateBody } from './envelopes.ts'
import { grantOf } from '../auth/keys.ts'
import type { Org } from '../store/org.ts'
import { RequestRefused, notFound, describeValue, type RefusalFacts } from '../problems.ts'
import type { HandlerCall, Handler } from './handler.ts'
import { pageOf } from './listing.ts'

/** The definitions of which the key may read both ends. */
export const listAssociations: Handler = ({ org, key }) => ({
  status: 200,
  body: {
    data: [...org.associations.values()].filter(
      ({ source, target }) => grantOf(key, source).read && grantOf(key, target).read,
    ),
  },
})

export const listAssociationEdges: Handler = (call) => {
  const { org, key, params, query } = call
  const type = org.readableType(key, params['object_type']!)
  const id = params['id']!
  org.view(key, type).existing(id)
  const { from, pagination } = pageOf<EdgePlace>(
    call,
    `${type.name}/${id}`,
    query['cursor'] ?? null,
  )
  const edges = org.edges
    .from(id)
    .filter((edge) => (from === null || isAfter(edge, from)) && seesTarget(call, edge))
  const page = edges.slice(0, PAGE_LIMIT_MAX)
  const last = edges.length > page.length ? page.at(-1)! : null
  return {
    status: 200,
    body: {
      data: page.map((edge) => edgeWire(org, edge)),
      pagination: pagination(last && [last.association, last.target]),
    },
  }
}

export const associateRecords: Handler = (call) => {
  const { org, key, params, body } = call
  const type = org.writableType(key, params['object_type']!, ['associate'])
  const source = params['id']!
  org.view(key, type).existing(source)
  const name = params['association_type']!
  const association = org.associations.get(name)
  if (association?.source !== type.name) {
    throw new RequestRefused(
      notFound(`${type.name} has no association type ${describeValue(name)}`),
    )
  }
  const edge = { association: name, source, target: associateBody(body) }
  if (!seesTarget(call, edge)) throw new RequestRefused(noTarget)
  const isNew = !org.edges.has(edge)
  if (isNew) {
    const replaced = org.edges.replacedBy(edge, association.cardinality)
    // As with unique values: an edge that the key cannot see does not count, and is not removed unseen.
    for (const each of replaced) if (seesBothEnds(call, each)) org.unlink(each)
    org.link(edge)
  }
  return { status: isNew ? 201 : 200, body: { data: edgeWire(org, edge) } }
}

/** Where a page of edges ended: association type and target id. */
type EdgePlace = [association: string, target: string]

const noTarget: RefusalFacts = {
  status: 422,
  code: 'request_invalid',
  detail: 'target_id: the id of a record that this key can see was expected',
  field: '/target_id',
}

function isAfter({ association, target }: Edge, [lastAssociation, lastTarget]: EdgePlace): boolean {
  if (association !== lastAssociation) return association > lastAssociation
  return target > lastTarget
}

function seesTarget({ org, key }: HandlerCall, { association, target }: Edge): boolean {
  const type = org.types.get(org.associations.get(association)!.target)!
  return grantOf(key, type.name).read && org.view(key, type).get(target) !== undefined
}

function seesBothEnds(call: HandlerCall, edge: Edge): boolean {
  const { org, key } = call
  const type = org.types.get(org.associations.get(edge.association)!.source)!
  return org.view(key, type).get(edge.source) !== undefined && seesTarget(call, edge)
}

function edgeWire(org: Org, { association, source, target }: Edge): AssociationEdgeWire {
  const { cardinality } = org.associations.get(association)!
  return { association_type: association, source_id: source, target_id: target, cardinality }
}
