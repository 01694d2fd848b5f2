// Links of the document: requests that an answer makes possible.

import { OPERATIONS, type OperationId } from '../../contract/index.ts'
import { OPERATION_IDS } from '../handlers/index.ts'
import type { SchemaObject } from './schemas.ts'

const OF_A_RECORD: readonly OperationId[] = [
  'readRecord',
  'updateRecord',
  'deleteRecord',
  'listAssociationEdges',
]
/** Where in the answer the id of a record is. */
const RECORD_IDS: Partial<Record<OperationId, string>> = {
  createRecord: '/data/id',
  upsertRecord: '/data/id',
}

/** The links of an operation's successful answers, or nothing. */
export function linksOf(id: OperationId): { links?: SchemaObject } {
  const pointer = RECORD_IDS[id]
  const links: Record<string, SchemaObject> = {}
  if (pointer !== undefined) {
    for (const target of OF_A_RECORD.filter((each) => OPERATION_IDS.includes(each))) {
      links[target] = link(target, { id: `$response.body#${pointer}` })
    }
  }
  if ('cursor' in OPERATIONS[id].query) {
    const cursor = '$response.body#/pagination/next_cursor'
    links['next_page'] = { ...link(id, { cursor }), description: 'While has_more is true.' }
  }
  return Object.keys(links).length === 0 ? {} : { links }
}

function link(operationId: OperationId, parameters: SchemaObject): SchemaObject {
  return {
    operationId,
    parameters: { object_type: '$request.path.object_type', ...parameters },
    description: OPERATIONS[operationId].summary,
  }
}
