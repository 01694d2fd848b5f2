// What answers are about (specification section 2), as zod schemas. Objects tolerate unknown fields (section 9.4).

import { z } from 'zod'
import { someInside, type Json } from '../../core/json.ts'
import { BATCH_ITEM_STATUSES, PROBLEM_CODES } from '../problems.ts'

/**
 * Any JSON; the property's field type decides which of it is valid (section 2.1). A number that JavaScript cannot hold
 * is a `LosslessNumber`.
 */
export const PropertyValue = z.custom<Json>(isJson).meta({ id: 'PropertyValue' })

function isJson(value: unknown): boolean {
  return !someInside(value, (one) =>
    typeof one === 'number'
      ? !Number.isFinite(one)
      : typeof one !== 'string' && typeof one !== 'boolean' && typeof one !== 'object',
  )
}

/** Section 2.1. */
export const Properties = z
  .record(z.string(), PropertyValue)
  .meta({ id: 'Properties', description: 'Property name to value' })
export type Properties = z.infer<typeof Properties>

/** Section 4.3 rule 1. */
export const WrittenProperties = z.record(z.string(), PropertyValue).meta({
  id: 'WrittenProperties',
  description:
    'Property name to value. A null clears the property; one that is left out stays as it is. A value that does not fit the field type of its property is refused, in a batch with its item only.',
})

/** Section 2.1. */
export const RecordRepresentation = z
  .looseObject({
    id: z.string().describe('Unique identifier of the record'),
    object_type: z.string().describe("Internal name of the record's object type"),
    properties: Properties,
  })
  .meta({ id: 'RecordRepresentation', description: 'A record' })
export type RecordRepresentation = z.infer<typeof RecordRepresentation>

/** Section 2.3. */
export const SelectOption = z
  .looseObject({
    value: z.string().describe('What a record stores'),
    label: z.string().describe('What a person reads'),
    description: z.string().default(''),
  })
  .meta({ id: 'SelectOption', description: 'An option of a select-type property' })
export type SelectOption = z.infer<typeof SelectOption>

export const WRITABILITIES = ['writable', 'create_only', 'read_only'] as const

/** Section 2.3. */
export const PropertyWire = z
  .looseObject({
    name: z.string().describe('Internal name, the key in `properties`'),
    label: z.string().describe('What a person reads'),
    field_type: z.string().describe('Name of a field type'),
    writability: z.enum(WRITABILITIES).describe('create_only: may be set once'),
    operators: z.array(z.string()).describe('Filter operators that it supports'),
    is_multi: z.boolean().describe('Its value is a list'),
    is_unique: z.boolean().describe('A second record cannot take its value'),
    options: z.array(SelectOption).describe('Of a select-type property'),
    description: z.string().default(''),
    default_value: PropertyValue.default(null),
  })
  .meta({ id: 'PropertyWire', description: 'A property of an object type' })
export type PropertyWire = z.infer<typeof PropertyWire>

export const WRITABLE_OPERATIONS = ['create', 'update', 'delete', 'associate'] as const
export type WritableOperation = (typeof WRITABLE_OPERATIONS)[number]

/** Section 2.2. */
export const ObjectSummary = z
  .looseObject({
    name: z.string().describe('Internal name, the `object_type` of paths'),
    label: z.string().describe('Singular label'),
    label_plural: z.string().describe('Plural label'),
    kinds: z.array(z.string()).describe('Entity kinds that this type maps to'),
    is_system: z.boolean().describe('Built in'),
    allows_custom_properties: z.boolean(),
    writable_operations: z
      .array(z.enum(WRITABLE_OPERATIONS))
      .describe(
        'What the type accepts on this API, whoever asks; empty for a read-only type. The key needs its own write grant as well.',
      ),
    description: z.string().default(''),
    icon: z.string().default(''),
  })
  .meta({ id: 'ObjectSummary', description: 'An object type without its properties' })
export type ObjectSummary = z.infer<typeof ObjectSummary>

/** Section 2.2: a summary with its properties. */
export const ObjectSchema = z
  .looseObject({ ...ObjectSummary.shape, properties: z.array(PropertyWire) })
  .meta({ id: 'ObjectSchema', description: 'An object type with its properties' })
export type ObjectSchema = z.infer<typeof ObjectSchema>

/** Section 2.4. */
export const FieldTypeWire = z
  .looseObject({
    name: z.string().describe("What a property's field_type says"),
    label: z.string(),
    value_type: z.string().describe('JSON shape of a value'),
    operators: z.array(z.string()).describe('Filter operators'),
    aggregations: z.array(z.string()),
    sortable: z.boolean(),
    units: z.array(z.string()).describe('Accepted unit codes, such as currency codes'),
    description: z.string().default(''),
  })
  .meta({ id: 'FieldTypeWire', description: 'A field type: what values of a property look like' })
export type FieldTypeWire = z.infer<typeof FieldTypeWire>

export const CARDINALITIES = ['one_to_one', 'one_to_many', 'many_to_one', 'many_to_many'] as const
export type Cardinality = (typeof CARDINALITIES)[number]

/** Section 2.5. */
export const AssociationWire = z
  .looseObject({
    name: z.string(),
    label: z.string(),
    source: z.string().describe('Name of the source object type'),
    target: z.string().describe('Name of the target object type'),
    cardinality: z.enum(CARDINALITIES).describe('Source to target'),
    description: z.string().default(''),
  })
  .meta({ id: 'AssociationWire', description: 'An association definition' })
export type AssociationWire = z.infer<typeof AssociationWire>

/** Section 2.6. */
export const AssociationEdgeWire = z
  .looseObject({
    association_type: z.string().describe('Name of an association definition'),
    source_id: z.string().describe('The record that was asked for'),
    target_id: z.string(),
    cardinality: z.enum(CARDINALITIES).describe('Source to target'),
  })
  .meta({ id: 'AssociationEdgeWire', description: 'A link from one record to another' })
export type AssociationEdgeWire = z.infer<typeof AssociationEdgeWire>

/** Section 2.7. Only `org_id` and `reach` are certain; a client tolerates differing fields. */
export const Self = z
  .looseObject({
    org_id: z.int().describe('The org that the key belongs to'),
    principal: z
      .looseObject({
        entity_id: z.string(),
        entity_type: z.string().nullable(),
        display_name: z.string().nullable(),
      })
      .optional()
      .describe('Whose key it is'),
    permissions: z
      .array(z.looseObject({ entity_type: z.string(), read: z.boolean(), write: z.boolean() }))
      .optional()
      .describe('By object type'),
    reach: z
      .enum(['user', 'org'])
      .describe("user: sees what its creator sees; org: every user's private records as well"),
  })
  .meta({ id: 'Self', description: 'The caller: a key' })
export type Self = z.infer<typeof Self>

/** Section 2.8. */
export const PaginationWire = z
  .looseObject({
    has_more: z.boolean().describe('Whether another page exists: nothing else tells'),
    next_cursor: z
      .string()
      .nullish()
      .describe('Opaque, valid for 24 hours; null on the last page, a text on every other'),
  })
  .refine((page) => !page.has_more || typeof page.next_cursor === 'string', {
    message: 'next_cursor must be a string whenever has_more is true',
  })
  .meta({
    id: 'PaginationWire',
    // Not as a condition: client generators do not read conditions, and some fail at a constant that is a boolean.
    description: 'Where a listing goes on. `next_cursor` is a text whenever `has_more` is true',
  })
export type PaginationWire = z.infer<typeof PaginationWire>

/** A currency value (section 2.1). */
export const Money = z
  .looseObject({
    amount: z.string().describe('Decimal'),
    unit: z.string().describe('ISO 4217 code'),
  })
  .meta({ id: 'Money', description: 'A currency value' })

/** Section 2.9. */
export const AggregateData = z
  .looseObject({
    total_groups: z.int().describe('Groups across all pages'),
    results: z
      .array(
        z.looseObject({
          group_by: z.record(z.string(), PropertyValue).describe('Group key to value'),
          value: z
            .union([z.int(), z.string(), z.array(Money), z.null()])
            .describe(
              'An integer for count, a decimal text for a number or date property, one amount per currency for a currency property, null where no value applies',
            ),
        }),
      )
      .describe('One row per group of this page'),
    has_more: z.boolean().describe('Groups exist beyond this page'),
  })
  .meta({ id: 'AggregateData', description: 'One page of groups' })
export type AggregateData = z.infer<typeof AggregateData>

/** Section 2.10: `field` is an RFC 6901 pointer. */
export const FieldError = z
  .looseObject({
    field: z.string().describe('RFC 6901 pointer into the body'),
    detail: z.string().describe('What was expected'),
    reason: z.string().nullish().describe('Machine-readable; new values may appear'),
  })
  .meta({ id: 'FieldError', description: 'One violation' })
export type FieldError = z.infer<typeof FieldError>

/** Section 2.12. */
export const Problem = z
  .looseObject({
    type: z.string().describe('URI of the page about the code'),
    title: z.string().describe('Reason phrase of the status'),
    status: z.int().describe('The HTTP status'),
    detail: z.string().describe('What is wrong and what was expected, for people'),
    code: z.enum(PROBLEM_CODES).describe('Closed set'),
    reason: z
      .string()
      .nullish()
      .describe('Machine-readable sub-classification; new values may appear'),
    field: z.string().nullish().describe('RFC 6901 pointer into the body'),
    errors: z.array(FieldError).nullish().describe('Every violation, where there are several'),
    request_id: z.string().nullish().describe('To be quoted to support'),
  })
  .meta({ id: 'Problem', description: 'Why a request was refused (RFC 9457)' })
export type Problem = z.infer<typeof Problem>

const batchItemStatus = z.literal(BATCH_ITEM_STATUSES)

/** Section 2.10: what went wrong with one item of a batch. */
export const ProblemWire = z.looseObject({ ...Problem.shape, status: batchItemStatus }).meta({
  id: 'ProblemWire',
  description: 'Why an item of a batch was refused; pointers begin at the request body',
})
export type ProblemWire = z.infer<typeof ProblemWire>

/** Section 2.10. */
export const BatchItemResult = z
  .looseObject({
    index: z.int().min(0).describe("Position in the request's `data`, from 0"),
    status: batchItemStatus.describe('What the item alone would have been answered'),
    record: RecordRepresentation.nullish(),
    problem: ProblemWire.nullish(),
  })
  .meta({
    id: 'BatchItemResult',
    description: 'What became of one item: a record where it has one, a problem where it failed',
  })
export type BatchItemResult = z.infer<typeof BatchItemResult>

/** Section 2.10. */
export const BatchSummary = z
  .looseObject({ total: z.int(), succeeded: z.int(), failed: z.int() })
  .meta({ id: 'BatchSummary', description: 'Items by outcome' })
export type BatchSummary = z.infer<typeof BatchSummary>
