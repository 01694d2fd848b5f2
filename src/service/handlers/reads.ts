// Reading records: one, a listing, a query (sections 4, 4.1 and 4.5).

import { canonicalJson, type Json } from '../../core/json.ts'
import { PAGE_LIMIT_MAX } from '../../contract/index.ts'
import { cursorInvalid } from '../store/cursors.ts'
import { queryBody } from './envelopes.ts'
import { checkedFilter } from '../query/filters.ts'
import type { ObjectType } from '../schema/object-types.ts'
import { checkedSelection, preparedQuery, readPage, type Query } from '../query/queries.ts'
import type { SortPosition } from '../store/slots.ts'
import type { HandlerCall, Handler, Reply } from './handler.ts'
import { pageOf } from './listing.ts'

export const readRecord: Handler = ({ org, key, params }) => {
  const type = org.readableType(key, params['object_type']!)
  return { status: 200, body: { data: org.view(key, type).existing(params['id']!).record } }
}

export const listRecords: Handler = (call) => {
  const type = call.org.listableType(call.key, call.params['object_type']!)
  const { cursor = null, properties } = call.query
  const given: Partial<Query> = {}
  if (properties) {
    const names = properties.split(',').map((name) => name.trim())
    Object.assign(given, { properties: checkedSelection(names, type) })
  }
  return page(call, type, given, cursor)
}

export const queryRecords: Handler = (call) => {
  const type = call.org.listableType(call.key, call.params['object_type']!)
  const body = queryBody(call.body)
  const sort = body.sorts?.[0]
  const given: Partial<Query> = {
    ...(body.filter == null ? {} : { filter: checkedFilter(body.filter, '/filter') }),
    ...(body.search == null ? {} : { search: body.search }),
    ...(sort ? { sort } : {}),
    ...(body.properties == null
      ? {}
      : { properties: checkedSelection(body.properties, type, '/properties') }),
    ...(body.limit === undefined ? {} : { limit: body.limit }),
  }
  return page(call, type, given, body.cursor ?? null)
}

/** What a cursor carries. `seq` has the same length for all records: the length of a cursor counts none. */
interface Listing {
  readonly query: Query
  readonly after: { readonly value: SortPosition['value']; readonly seq: string }
}
const SEQ_CHARS = String(Number.MAX_SAFE_INTEGER).length

const everything: Query = {
  filter: null,
  search: null,
  sort: null,
  properties: null,
  limit: PAGE_LIMIT_MAX,
}

async function page(
  call: HandlerCall,
  type: ObjectType,
  given: Partial<Query>,
  cursor: string | null,
): Promise<Reply> {
  const { org, key, fault, scan } = call
  const { from, pagination } = pageOf<Listing>(call, type.name, cursor)
  if (from) refuseChange(given, from.query)
  const query = { ...everything, ...from?.query, ...given }
  const prepared = preparedQuery(query, type, org.hasRates)
  const size = fault === 'short_page' ? Math.ceil(query.limit / 3) : query.limit
  const view = org.view(key, type)
  const after = from && { value: from.after.value, seq: Number(from.after.seq) }
  const { records, next } = await readPage(view, prepared, size, after, scan)
  const carried = next && {
    query,
    after: { value: next.value, seq: String(next.seq).padStart(SEQ_CHARS, '0') },
  }
  return {
    status: 200,
    body: `{"data":[${records.join()}],"pagination":${JSON.stringify(pagination(carried))}}`,
  }
}

/** Section 4.5: a cursor carries its query; a query given with it must be the same. Only the page size may differ. */
function refuseChange(given: Partial<Query>, carried: Query): void {
  for (const name of ['filter', 'search', 'sort', 'properties'] as const) {
    if (given[name] === undefined) continue
    if (canonicalJson(given[name] as Json) !== canonicalJson(carried[name] as Json)) {
      throw cursorInvalid(`The cursor belongs to another ${name}: start the listing again`)
    }
  }
}
