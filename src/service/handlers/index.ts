// The handlers by operation. A row of the contract's table becomes a route if it has a handler here.

import type { OperationId } from '../../contract/index.ts'
import { aggregateRecords } from './aggregate.ts'
import { associateRecords, listAssociationEdges, listAssociations } from './associations.ts'
import { batchCreate, batchDelete, batchUpdate, batchUpsert } from './batch.ts'
import type { Handler } from './handler.ts'
import { listRecords, queryRecords, readRecord } from './reads.ts'
import { listFieldTypes, listObjectTypes, readObjectType } from './schema.ts'
import { readOpenApi, readRoot, readSelf } from './service.ts'
import { createRecord, deleteRecord, updateRecord, upsertRecord } from './writes.ts'

export const HANDLERS: Readonly<Partial<Record<OperationId, Handler>>> = {
  readRoot,
  readOpenApi,
  readSelf,
  listObjectTypes,
  readObjectType,
  listFieldTypes,
  listRecords,
  createRecord,
  upsertRecord,
  readRecord,
  updateRecord,
  deleteRecord,
  queryRecords,
  aggregateRecords,
  batchCreate,
  batchUpdate,
  batchUpsert,
  batchDelete,
  listAssociations,
  listAssociationEdges,
  associateRecords,
}

/** The operations that this service has. */
export const OPERATION_IDS = Object.keys(HANDLERS) as OperationId[]
