// Aggregating records (section 4.2). Promise kept here: only records that the key can see are counted.

import { PAGE_LIMIT_MAX } from '../../contract/index.ts'
import { groupsOf } from '../query/aggregates.ts'
import { aggregateBody } from './envelopes.ts'
import { checkedFilter, compileFilter, type Filter } from '../query/filters.ts'
import { knownProperty, type ObjectType, type CompiledProperty } from '../schema/object-types.ts'
import { inMiB, PAGE_BYTES_MAX } from '../limits/sizes.ts'
import { outOfRange, refused } from '../problems.ts'
import { jsonWithin, sameType } from '../query/queries.ts'
import type { Scan } from '../store/scan.ts'
import type { SortPosition, StoredValues } from '../store/slots.ts'
import type { VisibleRecords } from '../store/visible-records.ts'
import type { Handler } from './handler.ts'

export const aggregateRecords: Handler = async (call) => {
  const { org, key, params, body, scan } = call
  const type = org.listableType(key, params['object_type']!)
  const {
    aggregations,
    group_by = [],
    limit = PAGE_LIMIT_MAX,
    offset = 0,
    ...rest
  } = aggregateBody(body)
  const node = rest.filter == null ? null : checkedFilter(rest.filter, '/filter')
  const { op, property: name } = aggregations[0]!
  const property = name == null ? null : aggregatedProperty(name, op, type)
  const groupBy = group_by.map((each, at) => knownProperty(type, each, `/group_by/${at}`))
  const filter = node && compileFilter(node, type, org.hasRates, '/filter')
  const view = org.view(key, type)
  const query = { op, property, groupBy, filter: node }
  await scan.begin()
  const reader = { key: key.hash, connection: call.connection }
  const data = await org.keptGroups.page(view, query, { reader, limit, offset }, () =>
    groupsOf(matching(view, filter, scan), query, scan),
  )
  const { total_groups, results, has_more } = data
  const groups = jsonWithin(results, PAGE_BYTES_MAX)
  // A short page would be read as if it had `limit` groups: the next one begins at `offset` + `limit`.
  if (groups.length < results.length) {
    const detail = `limit: these ${results.length} groups have more than ${inMiB(PAGE_BYTES_MAX)} of JSON: ask for ${groups.length} or fewer`
    throw outOfRange(detail, '/limit')
  }
  return {
    status: 200,
    body: `{"data":{"total_groups":${total_groups},"results":[${groups.join()}],"has_more":${has_more}}}`,
  }
}

/** The values of the records that are aggregated, in pieces: those that one step finds. */
async function* matching(
  view: VisibleRecords,
  filter: Filter | null,
  scan: Scan,
): AsyncGenerator<StoredValues[]> {
  const { store } = view
  const { type } = store
  let last: SortPosition | null = null
  const step = (): { values: StoredValues[]; isLast: boolean } => {
    const values: StoredValues[] = []
    for (const slot of store.walk(null, 'asc', last)) {
      const { properties } = slot.record
      if (view.sees(slot) && (!filter || filter.matches(properties, scan))) values.push(properties)
      if (!scan.isDue()) continue
      last = { value: null, seq: slot.seq }
      return { values, isLast: false }
    }
    return { values, isLast: true }
  }
  for (;;) {
    const { values, isLast } = step()
    yield values
    if (isLast) return
    await scan.pause()
    sameType(store, type)
  }
}

/** @throws Refusal 422 unknown_property, unsupported_aggregation */
function aggregatedProperty(name: string, op: string, type: ObjectType): CompiledProperty {
  const property = knownProperty(type, name, '/aggregations/0/property')
  const { aggregations } = property.field.wire
  if (aggregations.includes(op)) return property
  const detail = `${name} supports ${aggregations.join(', ')}, not ${op}`
  throw refused('unsupported_aggregation', detail, '/aggregations/0/op')
}
