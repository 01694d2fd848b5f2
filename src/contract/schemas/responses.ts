// The bodies of answers (specification section 4), as zod schemas. Objects tolerate unknown fields (section 9.4).

import { z } from 'zod'
import {
  AggregateData,
  AssociationEdgeWire,
  AssociationWire,
  BatchItemResult,
  BatchSummary,
  FieldTypeWire,
  ObjectSchema,
  ObjectSummary,
  PaginationWire,
  RecordRepresentation,
  Self,
} from './representations.ts'

const dataOf = <Data extends z.ZodType>(data: Data) => z.looseObject({ data })

/** Section 4, `GET /`. */
export const Root = dataOf(
  z.looseObject({ version: z.string(), openapi_url: z.string(), docs_url: z.string() }),
).meta({ id: 'Root' })
export const SelfResponse = dataOf(Self).meta({ id: 'SelfResponse' })
export const ObjectSummaryList = dataOf(z.array(ObjectSummary)).meta({ id: 'ObjectSummaryList' })
export const ObjectSchemaResponse = dataOf(ObjectSchema).meta({ id: 'ObjectSchemaResponse' })
export const FieldTypeList = dataOf(z.array(FieldTypeWire)).meta({ id: 'FieldTypeList' })
export const RecordResponse = dataOf(RecordRepresentation).meta({ id: 'RecordResponse' })
export const UpsertResponse = z
  .looseObject({ data: RecordRepresentation, created: z.boolean() })
  .meta({ id: 'UpsertResponse' })
export const RecordPage = z
  .looseObject({ data: z.array(RecordRepresentation), pagination: PaginationWire })
  .meta({ id: 'RecordPage' })
export type RecordPage = z.infer<typeof RecordPage>
export const AggregateResponse = dataOf(AggregateData).meta({ id: 'AggregateResponse' })
export const BatchResponse = z
  .looseObject({ data: z.array(BatchItemResult), summary: BatchSummary })
  .meta({ id: 'BatchResponse' })
export type BatchResponse = z.infer<typeof BatchResponse>
export const AssociationList = dataOf(z.array(AssociationWire)).meta({ id: 'AssociationList' })
export const AssociationEdgeResponse = dataOf(AssociationEdgeWire).meta({
  id: 'AssociationEdgeResponse',
})
export const AssociationEdgePage = z
  .looseObject({ data: z.array(AssociationEdgeWire), pagination: PaginationWire })
  .meta({ id: 'AssociationEdgePage' })
