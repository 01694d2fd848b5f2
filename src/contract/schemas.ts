// The shapes on the wire (specification sections 2 and 4), as zod schemas. Both sides use them: the service to refuse,
// the client to distrust. Objects tolerate unknown fields (section 9.4) unless the specification says "no extra keys".

import { z } from 'zod'
import { BATCH_ITEMS_MAX, PAGE_LIMIT_MAX, SEARCH_CHARS_MAX, SORTS_MAX } from './limits.ts'
import { BATCH_ITEM_STATUSES, PROBLEM_CODES } from './problems.ts'

/** Property name to value; the value's shape depends on the property's field type (section 2.1). */
export const Properties = z.record(z.string(), z.json()).meta({ id: 'Properties' })
export type Properties = z.infer<typeof Properties>

/** Section 2.1. */
export const RecordRepresentation = z
  .looseObject({ id: z.string(), object_type: z.string(), properties: Properties })
  .meta({ id: 'RecordRepresentation' })
export type RecordRepresentation = z.infer<typeof RecordRepresentation>

/** Section 2.3. */
export const SelectOption = z
  .looseObject({ value: z.string(), label: z.string(), description: z.string().default('') })
  .meta({ id: 'SelectOption' })
export type SelectOption = z.infer<typeof SelectOption>

export const WRITABILITIES = ['writable', 'create_only', 'read_only'] as const

/** Section 2.3. */
export const PropertyWire = z
  .looseObject({
    name: z.string(),
    label: z.string(),
    field_type: z.string(),
    writability: z.enum(WRITABILITIES),
    operators: z.array(z.string()),
    is_multi: z.boolean(),
    is_unique: z.boolean(),
    options: z.array(SelectOption),
    description: z.string().default(''),
    default_value: z.json().default(null),
  })
  .meta({ id: 'PropertyWire' })
export type PropertyWire = z.infer<typeof PropertyWire>

export const WRITABLE_OPERATIONS = ['create', 'update', 'delete', 'associate'] as const
export type WritableOperation = (typeof WRITABLE_OPERATIONS)[number]

/** Section 2.2. */
export const ObjectSummary = z
  .looseObject({
    name: z.string(),
    label: z.string(),
    label_plural: z.string(),
    kinds: z.array(z.string()),
    is_system: z.boolean(),
    allows_custom_properties: z.boolean(),
    writable_operations: z.array(z.enum(WRITABLE_OPERATIONS)),
    description: z.string().default(''),
    icon: z.string().default(''),
  })
  .meta({ id: 'ObjectSummary' })
export type ObjectSummary = z.infer<typeof ObjectSummary>

/** Section 2.2: a summary with its properties. */
export const ObjectSchema = z
  .looseObject({ ...ObjectSummary.shape, properties: z.array(PropertyWire) })
  .meta({ id: 'ObjectSchema' })
export type ObjectSchema = z.infer<typeof ObjectSchema>

/** Section 2.4. */
export const FieldTypeWire = z
  .looseObject({
    name: z.string(),
    label: z.string(),
    value_type: z.string(),
    operators: z.array(z.string()),
    aggregations: z.array(z.string()),
    sortable: z.boolean(),
    units: z.array(z.string()),
    description: z.string().default(''),
  })
  .meta({ id: 'FieldTypeWire' })
export type FieldTypeWire = z.infer<typeof FieldTypeWire>

export const CARDINALITIES = ['one_to_one', 'one_to_many', 'many_to_one', 'many_to_many'] as const
export type Cardinality = (typeof CARDINALITIES)[number]

/** Section 2.5. */
export const AssociationWire = z
  .looseObject({
    name: z.string(),
    label: z.string(),
    source: z.string(),
    target: z.string(),
    cardinality: z.enum(CARDINALITIES),
    description: z.string().default(''),
  })
  .meta({ id: 'AssociationWire' })
export type AssociationWire = z.infer<typeof AssociationWire>

/** Section 2.6. */
export const AssociationEdgeWire = z
  .looseObject({
    association_type: z.string(),
    source_id: z.string(),
    target_id: z.string(),
    cardinality: z.enum(CARDINALITIES),
  })
  .meta({ id: 'AssociationEdgeWire' })
export type AssociationEdgeWire = z.infer<typeof AssociationEdgeWire>

/** Section 2.7. Only `org_id` and `reach` are certain; a client tolerates differing fields. */
export const Self = z
  .looseObject({
    org_id: z.int(),
    principal: z
      .looseObject({
        entity_id: z.string(),
        entity_type: z.string().nullable(),
        display_name: z.string().nullable(),
      })
      .optional(),
    permissions: z
      .array(z.looseObject({ entity_type: z.string(), read: z.boolean(), write: z.boolean() }))
      .optional(),
    reach: z.enum(['user', 'org']),
  })
  .meta({ id: 'Self' })
export type Self = z.infer<typeof Self>

/** Section 2.8. */
export const PaginationWire = z
  .looseObject({ has_more: z.boolean(), next_cursor: z.string().nullish() })
  .refine((page) => !page.has_more || typeof page.next_cursor === 'string', {
    message: 'next_cursor must be a string whenever has_more is true',
  })
  .meta({ id: 'PaginationWire' })
export type PaginationWire = z.infer<typeof PaginationWire>

const Money = z.looseObject({ amount: z.string(), unit: z.string() })

/** Section 2.9. */
export const AggregateData = z
  .looseObject({
    total_groups: z.int(),
    results: z.array(
      z.looseObject({
        group_by: z.record(z.string(), z.json()),
        value: z.union([z.int(), z.string(), z.array(Money), z.null()]),
      }),
    ),
    has_more: z.boolean(),
  })
  .meta({ id: 'AggregateData' })
export type AggregateData = z.infer<typeof AggregateData>

/** Section 2.10: `field` is an RFC 6901 pointer. */
export const FieldError = z
  .looseObject({ field: z.string(), detail: z.string(), reason: z.string().nullish() })
  .meta({ id: 'FieldError' })
export type FieldError = z.infer<typeof FieldError>

/** Section 2.12. */
export const Problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(PROBLEM_CODES),
    reason: z.string().nullish(),
    field: z.string().nullish(),
    errors: z.array(FieldError).nullish(),
    request_id: z.string().nullish(),
  })
  .meta({ id: 'Problem' })
export type Problem = z.infer<typeof Problem>

const batchItemStatus = z.literal(BATCH_ITEM_STATUSES)

/** Section 2.10: what went wrong with one item of a batch. */
export const ProblemWire = z
  .looseObject({ ...Problem.shape, status: batchItemStatus })
  .meta({ id: 'ProblemWire' })
export type ProblemWire = z.infer<typeof ProblemWire>

/** Section 2.10. */
export const BatchItemResult = z
  .looseObject({
    index: z.int().min(0),
    status: batchItemStatus,
    record: RecordRepresentation.nullish(),
    problem: ProblemWire.nullish(),
  })
  .meta({ id: 'BatchItemResult' })
export type BatchItemResult = z.infer<typeof BatchItemResult>

/** Section 2.10. */
export const BatchSummary = z
  .looseObject({ total: z.int(), succeeded: z.int(), failed: z.int() })
  .meta({ id: 'BatchSummary' })
export type BatchSummary = z.infer<typeof BatchSummary>

/** Section 2.11: the filter vocabulary. */
export const FILTER_OPERATORS = [
  'eq',
  'neq',
  'is_null',
  'gt',
  'gte',
  'lt',
  'lte',
  'starts_with',
  'ends_with',
  'contains',
  'not_contains',
  'contains_any',
  'not_contains_any',
  'in',
  'not_in',
] as const
export type FilterOperator = (typeof FILTER_OPERATORS)[number]

/** Section 2.11. Nodes take no extra keys; depth and list lengths have reasons of their own and are checked apart. */
export type FilterNode =
  | { $and: FilterNode[] }
  | { $or: FilterNode[] }
  | { property: string; op: FilterOperator; value: z.infer<ReturnType<typeof z.json>> }

export const FilterNode: z.ZodType<FilterNode> = z
  .lazy(() =>
    z.union([
      z.strictObject({ $and: z.array(FilterNode).min(1) }),
      z.strictObject({ $or: z.array(FilterNode).min(1) }),
      z.strictObject({ property: z.string(), op: z.enum(FILTER_OPERATORS), value: z.json() }),
    ]),
  )
  .meta({ id: 'FilterNode' })

/** Section 4.1. */
export const QueryBody = z
  .strictObject({
    cursor: z.string().nullish(),
    filter: FilterNode.nullish(),
    limit: z.int().min(1).max(PAGE_LIMIT_MAX).optional(),
    properties: z.array(z.string()).nullish(),
    search: z.string().max(SEARCH_CHARS_MAX).nullish(),
    sorts: z
      .array(z.strictObject({ property: z.string(), direction: z.enum(['asc', 'desc']) }))
      .max(SORTS_MAX)
      .optional(),
  })
  .meta({ id: 'QueryBody' })
export type QueryBody = z.infer<typeof QueryBody>

export const AGGREGATIONS = ['count', 'sum', 'avg', 'min', 'max'] as const

/** Section 4.2. */
export const AggregateBody = z
  .strictObject({
    aggregations: z
      .array(z.strictObject({ op: z.enum(AGGREGATIONS), property: z.string().nullish() }))
      .length(1),
    filter: FilterNode.nullish(),
    group_by: z.array(z.string()).optional(),
    limit: z.int().min(1).max(PAGE_LIMIT_MAX).optional(),
    offset: z.int().min(0).optional(),
  })
  .meta({ id: 'AggregateBody' })
export type AggregateBody = z.infer<typeof AggregateBody>

/** Section 4: body of create, update and upsert. */
export const RecordBody = z
  .strictObject({ data: z.strictObject({ properties: Properties }) })
  .meta({ id: 'RecordBody' })
export type RecordBody = z.infer<typeof RecordBody>

const batchOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ data: z.array(item).min(1).max(BATCH_ITEMS_MAX) })

const recordId = z.string().min(1)

/** Section 4.4: bodies of the batch operations. */
export const BatchWriteBody = batchOf(z.strictObject({ properties: Properties })).meta({
  id: 'BatchWriteBody',
})
export type BatchWriteBody = z.infer<typeof BatchWriteBody>
export const BatchUpdateBody = batchOf(
  z.strictObject({ id: recordId, properties: Properties }),
).meta({ id: 'BatchUpdateBody' })
export type BatchUpdateBody = z.infer<typeof BatchUpdateBody>
export const BatchDeleteBody = batchOf(z.strictObject({ id: recordId })).meta({
  id: 'BatchDeleteBody',
})
export type BatchDeleteBody = z.infer<typeof BatchDeleteBody>

/** Our choice for the payload of the associate operation (section 4.7 leaves it open). */
export const AssociateBody = z
  .strictObject({ data: z.strictObject({ target_id: z.string() }) })
  .meta({ id: 'AssociateBody' })
export type AssociateBody = z.infer<typeof AssociateBody>

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
