// The register of import modes: what `mode` of an import does with a row.

import { namesOf } from '../register.ts'
import type { SparedState, WrittenState } from './item-states.ts'

interface ImportModeEntry {
  /** For the reference of the configuration. */
  readonly meaning: string
  /** The operation of the service that writes a batch of rows. */
  readonly operation: string
  /** The one that writes a single row, where a service has no batches. */
  readonly single: string
  /** What the object type has to accept on the public API. */
  readonly needs: readonly ('create' | 'update')[]
  /** What a row is whose lost answer is settled by a look-up that finds its record as it was sent. */
  readonly found: WrittenState
  /** The state of a row that is not written because its key exists, or because it does not; null if each row is written. */
  readonly spares: SparedState | null
}

const IMPORT_MODE = {
  upsert: {
    meaning: 'creates what is missing, updates what is there',
    operation: 'batchUpsert',
    single: 'upsertRecord',
    needs: ['create', 'update'],
    found: 'updated',
    spares: null,
  },
  create: {
    meaning: 'creates what is missing, leaves what is there as it is',
    operation: 'batchCreate',
    single: 'createRecord',
    needs: ['create'],
    found: 'created',
    spares: 'exists',
  },
  update: {
    meaning: 'updates what is there, creates nothing',
    operation: 'batchUpdate',
    single: 'updateRecord',
    needs: ['update'],
    found: 'updated',
    spares: 'absent',
  },
} as const satisfies Record<string, ImportModeEntry>
export type ImportMode = keyof typeof IMPORT_MODE

export const IMPORT_MODES = namesOf(IMPORT_MODE)

export const modeMeaning = (mode: ImportMode): string => IMPORT_MODE[mode].meaning

/** The operations that write batches. */
export type ImportOperation = (typeof IMPORT_MODE)[ImportMode]['operation']
/** The same, one row a request. */
export type SingleOperation = (typeof IMPORT_MODE)[ImportMode]['single']

export const IMPORT_OPERATIONS: readonly ImportOperation[] = Object.values(IMPORT_MODE).map(
  ({ operation }) => operation,
)

/** The mode that writes with an operation. */
export const modeOfOperation = (operation: ImportOperation): ImportMode =>
  IMPORT_MODES.find((mode) => IMPORT_MODE[mode].operation === operation)!

export const operationOfMode = (mode: ImportMode): ImportOperation => IMPORT_MODE[mode].operation

/** All that a mode states. */
export const modeEntry = (
  mode: ImportMode,
): ImportModeEntry & {
  readonly operation: ImportOperation
  readonly single: SingleOperation
} => IMPORT_MODE[mode]

/** The single operation that stands in for each operation of batches. */
export const SINGLE_OPERATIONS = Object.fromEntries(
  Object.values(IMPORT_MODE).map(({ operation, single }) => [operation, single]),
) as Readonly<Record<ImportOperation, SingleOperation>>
