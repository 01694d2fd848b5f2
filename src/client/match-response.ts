// Checks that an answer belongs to its request. A cache, a proxy or a mixed-up connection may return a well-formed answer to
// another. Promise kept here: a record, edge or object type with other names than those requested is never returned.

import type { AssociationEdgeWire, OperationId, RecordRepresentation } from '../contract/index.ts'
import { hasControls } from '../core/safe-text.ts'
import { InvalidResponse, type BodyOf } from './decode.ts'
import type { CallParts } from './build-request.ts'

/** The names that the request held: path parameters, and the target of a link. */
type Asked = Readonly<Record<string, string | undefined>>
type Checks = { readonly [Id in OperationId]?: (body: BodyOf<Id>, asked: Asked) => void }

const records = ({ data }: { data: RecordRepresentation[] }, asked: Asked) => {
  for (const record of data) checkRecordMatches(record, { type: asked['object_type'] })
}
const record = ({ data }: { data: RecordRepresentation }, asked: Asked) =>
  checkRecordMatches(data, { type: asked['object_type'], id: asked['id'] })
/** After a merge some services answer for the id that is gone with the record that is left, even one of another type. */
const readRecord = ({ data }: { data: RecordRepresentation }, asked: Asked) => {
  if (data.id !== asked['id'])
    throw new InvalidResponse('it holds a record that was not asked for', data.id)
  record({ data }, asked)
}

const checks: Checks = {
  readObjectType: ({ data }, asked) => same('an object type', data.name, asked['object_type']),
  listRecords: records,
  queryRecords: records,
  createRecord: record,
  upsertRecord: record,
  readRecord,
  updateRecord: record,
  listAssociationEdges: ({ data }, asked) => {
    for (const edge of data) checkEdge(edge, { id: asked['id'] })
  },
  associateRecords: ({ data }, asked) => checkEdge(data, asked),
}

/** @throws InvalidResponse */
export function checkResponseMatches<Id extends OperationId>(
  id: Id,
  body: BodyOf<Id>,
  { path, body: sent }: CallParts,
): void {
  const target = (sent as { data?: { target_id?: string } } | undefined)?.data?.target_id
  checks[id]?.(body, { ...path, target_id: target })
}

/** Undefined names were not asked for. @throws InvalidResponse */
export function checkRecordMatches(
  { id, object_type }: RecordRepresentation,
  asked: { readonly type?: string | undefined; readonly id?: string | undefined },
): void {
  same('a record of an object type', object_type, asked.type)
  same('a record', id, asked.id)
}

function checkEdge(edge: AssociationEdgeWire, asked: Asked): void {
  same('an association edge from a record', edge.source_id, asked['id'])
  same('an association edge to a record', edge.target_id, asked['target_id'])
  same('an association edge of a type', edge.association_type, asked['association_type'])
}

/** The names stay out of the message: they are the service's. */
function same(what: string, got: string, asked: string | undefined): void {
  if (hasControls(got))
    throw new InvalidResponse(`it holds ${what} with control characters in its name`)
  if (asked === undefined || got === asked) return
  throw new InvalidResponse(`it holds ${what} that was not asked for`)
}
