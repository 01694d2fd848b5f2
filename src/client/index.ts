// The public face of the client, a library of its own: `import { RecordsClient } from 'records-sync/client'`.
// Its documentation: docs/client.md.

export { mayBeSize, PageSize } from '../contract/index.ts'
export type { Aside, ReadablePage } from './record-pages.ts'
export { RecordsClient, type ListSelection, type ListingOptions } from './client.ts'
export type { BodyOf } from './decode.ts'
export type { CallParts } from './build-request.ts'
export type { ClientOptions } from './options.ts'
export type { RequestOptions } from './call.ts'
export { OutcomeUnknown, type Success } from './answers.ts'
export type { BatchAnswer, BatchInput } from './batch.ts'
export { isUsual, resolveOperations } from './discovery/index.ts'
export type { RequestOverrides, Resolution, ResolvedOperation } from './discovery/index.ts'
export { itemDisposition, requestDisposition, type FailureTreatment } from './disposition.ts'
export { parseLimit, parseRetryAfter } from './pacer/headers.ts'
export type { QuotaSettings, Consumer } from './pacer/org-quota.ts'
export { Pacer, type PacerOptions } from './pacer/pacer.ts'
export { eachPage } from './pages.ts'
export { LosslessNumber } from '../core/lossless-number.ts'
export { parseJson, writeJson, type Json } from '../core/json.ts'
export { QuotaWait, ServiceFailure, SyncError } from '../core/errors.ts'
export type { BlockReason, Disposition, FieldFault } from '../core/errors.ts'
export type { Clock, Logger, Permit, Priority, Quota, QuotaStore } from '../core/ports.ts'
export type {
  AggregateBody,
  AggregateData,
  AssociationEdgeWire,
  AssociationWire,
  BatchItemResult,
  BatchSummary,
  FieldTypeWire,
  FilterNode,
  ObjectSchema,
  ObjectSummary,
  OperationId,
  ProblemWire,
  Properties,
  PropertyWire,
  QueryBody,
  RecordPage,
  RecordRepresentation,
  Self,
} from '../contract/index.ts'
