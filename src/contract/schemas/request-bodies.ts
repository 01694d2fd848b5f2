// The bodies of requests (specification sections 2.11 and 4), as zod schemas. They take no extra keys.

import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import {
  BATCH_ITEMS_MAX,
  IN_VALUES_MAX,
  PAGE_LIMIT_MAX,
  SEARCH_CHARS_MAX,
  SORTS_MAX,
} from '../limits.ts'
import { PropertyValue, WrittenProperties } from './representations.ts'

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

/** Section 2.11. Nodes take no extra keys; depth and list lengths have reasons of their own and are checked separately. */
export type FilterNode = FilterAnd | FilterOr | FilterLeaf
export type FilterAnd = { $and: FilterNode[] }
export type FilterOr = { $or: FilterNode[] }
export type FilterLeaf = {
  property: string
  op: FilterOperator
  value: Json
}

// Each node has its own name: client generators need a name for a schema that refers to itself.
export const FilterAnd: z.ZodType<FilterAnd> = z
  .strictObject({ $and: z.array(z.lazy(() => FilterNode)).min(1) })
  .meta({ id: 'FilterAnd', title: 'And', description: 'Every child must match' })

export const FilterOr: z.ZodType<FilterOr> = z
  .strictObject({ $or: z.array(z.lazy(() => FilterNode)).min(1) })
  .meta({ id: 'FilterOr', title: 'Or', description: 'At least one child must match' })

export const FilterLeaf: z.ZodType<FilterLeaf> = z
  .strictObject({
    property: z.string().describe('A readable property of the object type'),
    op: z.enum(FILTER_OPERATORS).describe('One that the property supports'),
    value: PropertyValue.describe(
      `Fits the property's field type; a boolean for is_null, a list of at most ${IN_VALUES_MAX} for in, not_in, contains_any, not_contains_any`,
    ),
  })
  .meta({ id: 'FilterLeaf', title: 'Leaf', description: 'A condition on one property' })

export const FilterNode: z.ZodType<FilterNode> = z
  .lazy(() => z.union([FilterAnd, FilterOr, FilterLeaf]))
  .meta({
    id: 'FilterNode',
    description: 'A filter tree of at most 8 levels. Nodes take no extra keys.',
  })

const pageLimit = (what: string) =>
  z
    .int()
    .min(1)
    .max(PAGE_LIMIT_MAX)
    .optional()
    .describe(`${what} per page at most; left out: ${PAGE_LIMIT_MAX}`)

/** Section 4.1. */
export const QueryBody = z
  .strictObject({
    cursor: z.string().nullish().describe('`next_cursor` of the page before; it carries its query'),
    filter: FilterNode.nullish().describe('Left out: every readable record matches'),
    limit: pageLimit('Records'),
    properties: z
      .array(z.string())
      .nullish()
      .describe('Names to return; left out: every readable property'),
    search: z
      .string()
      // Characters, as JSON Schema counts them; `max` counts UTF-16 units.
      .refine((text) => [...text].length <= SEARCH_CHARS_MAX, {
        message: `at most ${SEARCH_CHARS_MAX} characters were expected`,
      })
      .meta({ maxLength: SEARCH_CHARS_MAX, description: 'Free text, in addition to the filter' })
      .nullish(),
    sorts: z
      .array(z.strictObject({ property: z.string(), direction: z.enum(['asc', 'desc']) }))
      .max(SORTS_MAX)
      .optional(),
  })
  .meta({ id: 'QueryBody', description: 'What to list; every field may be left out' })
export type QueryBody = z.infer<typeof QueryBody>

export const AGGREGATIONS = ['count', 'sum', 'avg', 'min', 'max'] as const

/** Section 4.2. */
export const AggregateBody = z
  .strictObject({
    aggregations: z
      .array(
        z.strictObject({
          op: z.enum(AGGREGATIONS),
          property: z.string().nullish().describe('Left out for count'),
        }),
      )
      .length(1),
    filter: FilterNode.nullish().describe('Left out: every readable record counts'),
    group_by: z.array(z.string()).optional().describe('Names of properties'),
    limit: pageLimit('Groups'),
    offset: z.int().min(0).optional().describe('Groups to skip; left out: 0'),
  })
  .meta({ id: 'AggregateBody', description: 'What to compute, of which records, by which groups' })
export type AggregateBody = z.infer<typeof AggregateBody>

/** Section 4: body of create, update and upsert. */
export const RecordBody = z
  .strictObject({ data: z.strictObject({ properties: WrittenProperties }) })
  .meta({ id: 'RecordBody', description: 'The properties of one record' })
export type RecordBody = z.infer<typeof RecordBody>

const batchOf = <Item extends z.ZodRawShape>(id: string, what: string, item: Item) =>
  z
    .strictObject({ data: z.array(z.strictObject(item)).min(1).max(BATCH_ITEMS_MAX) })
    .meta({ id, description: `${what} of 1 to ${BATCH_ITEMS_MAX} records` })

const recordId = z.string().min(1)

/** Section 4.4: bodies of the batch operations. */
export const BatchWriteBody = batchOf('BatchWriteBody', 'The properties', {
  properties: WrittenProperties,
})
export type BatchWriteBody = z.infer<typeof BatchWriteBody>
export const BatchUpdateBody = batchOf('BatchUpdateBody', 'Ids and properties', {
  id: recordId,
  properties: WrittenProperties,
})
export type BatchUpdateBody = z.infer<typeof BatchUpdateBody>
export const BatchDeleteBody = batchOf('BatchDeleteBody', 'Ids', { id: recordId })
export type BatchDeleteBody = z.infer<typeof BatchDeleteBody>

/** The id of the record to link to. */
export const AssociateTarget = z
  .strictObject({ target_id: z.string() })
  .meta({ id: 'AssociateTarget', description: 'The record to link to' })

/** The same within `data`, as in every other write. */
export const AssociateData = z
  .strictObject({ data: AssociateTarget })
  .meta({ id: 'AssociateData', description: 'The record to link to, within `data`' })

/** Section 4.7 leaves the payload open; `/target_id` of rule 4.3.6 points into the plain form. */
export const AssociateBody = z.union([AssociateData, AssociateTarget]).meta({
  id: 'AssociateBody',
  description: 'The record to link to, in either form',
})
export type AssociateBody = z.infer<typeof AssociateBody>
