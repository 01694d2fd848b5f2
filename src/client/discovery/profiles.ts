// What each operation of the contract looks like in a document, whatever its name there.

import type { OperationId } from '../../contract/index.ts'
import type { Meaning, Verb } from './words.ts'

export interface Profile {
  readonly verb: Verb
  /** Takes many items at a time. */
  readonly many: boolean
  /** Meanings that name what it is about. */
  readonly about: readonly Meaning[]
  /** Meanings that name something else. */
  readonly notAbout: readonly Meaning[]
  /** Fields of its request that identify it: of the body, or of the body's `data`. Empty: it has no body. */
  readonly takes: readonly string[]
  readonly takesIn: 'body' | 'data'
  /** What its answer holds as `data`, with fields that identify it. */
  readonly gives: 'object' | 'list'
  readonly marks: readonly string[]
}

const reads = {
  verb: 'read',
  many: false,
  notAbout: [],
  takes: [],
  takesIn: 'body',
  gives: 'object',
} as const
const others = ['association', 'field', 'property'] as const
const records = {
  about: ['record', 'object'],
  notAbout: others,
  marks: ['object_type', 'properties'],
} as const
const objectTypes = {
  about: ['object', 'type'],
  notAbout: ['record', ...others],
  marks: ['writable_operations', 'allows_custom_properties', 'label_plural'],
} as const
const write = {
  ...records,
  many: false,
  takes: ['properties'],
  takesIn: 'data',
  gives: 'object',
} as const
const batch = {
  ...write,
  many: true,
  gives: 'list',
  marks: ['index', 'status', 'record', 'problem'],
} as const

/** Without the two public operations: the document is found by them. */
export const PROFILES: Readonly<Partial<Record<OperationId, Profile>>> = {
  readSelf: { ...reads, about: ['self'], marks: ['org_id', 'reach', 'principal', 'permissions'] },
  listObjectTypes: { ...reads, ...objectTypes, gives: 'list' },
  readObjectType: { ...reads, ...objectTypes },
  listFieldTypes: {
    ...reads,
    about: ['field'],
    notAbout: ['record', 'association'],
    gives: 'list',
    marks: ['value_type', 'aggregations', 'sortable'],
  },
  listRecords: { ...reads, ...records, gives: 'list' },
  createRecord: { ...write, verb: 'create' },
  upsertRecord: { ...write, verb: 'upsert' },
  readRecord: { ...reads, ...records },
  updateRecord: { ...write, verb: 'update' },
  deleteRecord: { ...reads, ...records, verb: 'delete', marks: [] },
  queryRecords: {
    ...records,
    verb: 'query',
    many: false,
    takes: ['filter', 'sorts', 'search', 'cursor', 'limit'],
    takesIn: 'body',
    gives: 'list',
  },
  aggregateRecords: {
    ...records,
    verb: 'aggregate',
    many: false,
    takes: ['aggregations', 'group_by'],
    takesIn: 'body',
    gives: 'object',
    marks: ['total_groups', 'results'],
  },
  batchCreate: { ...batch, verb: 'create' },
  batchUpdate: { ...batch, verb: 'update' },
  batchUpsert: { ...batch, verb: 'upsert' },
  batchDelete: { ...batch, verb: 'delete', takes: ['id'] },
  listAssociations: {
    ...reads,
    about: ['association'],
    gives: 'list',
    marks: ['source', 'target', 'cardinality'],
  },
  listAssociationEdges: {
    ...reads,
    about: ['association'],
    gives: 'list',
    marks: ['association_type', 'source_id', 'target_id'],
  },
  associateRecords: {
    ...write,
    verb: 'associate',
    about: ['association'],
    notAbout: [],
    takes: ['target_id', 'association_type'],
    marks: ['association_type', 'source_id', 'target_id'],
  },
}
