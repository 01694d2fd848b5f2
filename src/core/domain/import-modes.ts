// The register of import modes: what `mode` of an import does with a row.

import { SyncError } from '../errors.ts'
import { namesWith } from '../register.ts'
import type { SparedState, WrittenState } from './outcomes.ts'

interface ImportModeEntry {
  /** For the reference of the configuration. */
  readonly meaning: string
  /** Whether `mode` of an import may be it; the others are those of syncs of another form. */
  readonly isChosen: boolean
  /** The operation of the service that writes a batch of rows; null if no record is written. */
  readonly operation: string | null
  /** The one that writes a single row, where a service has no batches. */
  readonly single: string | null
  /** What the object type has to accept on the public API. */
  readonly needs: readonly ('create' | 'update' | 'associate')[]
  /** What a row is whose lost answer is settled by a look-up that finds its record as it was sent. */
  readonly found: WrittenState
  /** The state of a row that is not written because its key exists, or because it does not; null if each row is written. */
  readonly spares: Exclude<SparedState, 'protected'> | null
}

const IMPORT_MODE = {
  upsert: {
    meaning: 'creates what is missing, updates what is there',
    isChosen: true,
    operation: 'batchUpsert',
    single: 'upsertRecord',
    needs: ['create', 'update'],
    found: 'updated',
    spares: null,
  },
  create: {
    meaning: 'creates what is missing, leaves what is there as it is',
    isChosen: true,
    operation: 'batchCreate',
    single: 'createRecord',
    needs: ['create'],
    found: 'created',
    spares: 'exists',
  },
  update: {
    meaning: 'updates what is there, creates nothing',
    isChosen: true,
    operation: 'batchUpdate',
    single: 'updateRecord',
    needs: ['update'],
    found: 'updated',
    spares: 'not_found',
  },
  /** Of a sync with `link`: its rows are looked up, and only their links are written. */
  link: {
    meaning: 'links records that are there, writes none',
    isChosen: false,
    operation: null,
    single: null,
    needs: ['associate'],
    found: 'updated',
    spares: 'not_found',
  },
} as const satisfies Record<string, ImportModeEntry>
export type ImportMode = keyof typeof IMPORT_MODE

/** The modes that `mode` of an import may be. */
export const IMPORT_MODES = namesWith(IMPORT_MODE, { isChosen: true })
export type WritingMode = (typeof IMPORT_MODES)[number]

/** Whether rows become records. */
export const writesRecords = (mode: ImportMode): mode is WritingMode =>
  IMPORT_MODE[mode].operation !== null

export const modeMeaning = (mode: ImportMode): string => IMPORT_MODE[mode].meaning

/** The operations that write batches. */
export type ImportOperation = (typeof IMPORT_MODE)[WritingMode]['operation']
/** The same, one row a request. */
export type SingleOperation = (typeof IMPORT_MODE)[WritingMode]['single']

export const IMPORT_OPERATIONS: readonly ImportOperation[] = IMPORT_MODES.map(
  (mode) => IMPORT_MODE[mode].operation,
)

/** The mode that writes with an operation. */
export const modeOfOperation = (operation: ImportOperation): WritingMode =>
  IMPORT_MODES.find((mode) => IMPORT_MODE[mode].operation === operation)!

/** @throws SyncError `mode_writes_nothing` */
export function operationOfMode(mode: ImportMode): ImportOperation {
  if (writesRecords(mode)) return IMPORT_MODE[mode].operation
  throw new SyncError('mode_writes_nothing', `An import with mode ${mode} writes no records`)
}

/** All that a mode states. */
export const modeEntry = (
  mode: ImportMode,
): ImportModeEntry & {
  readonly operation: ImportOperation | null
  readonly single: SingleOperation | null
} => IMPORT_MODE[mode]

/** The single operation that stands in for each operation of batches. */
export const SINGLE_OPERATIONS = Object.fromEntries(
  IMPORT_MODES.map((mode) => [IMPORT_MODE[mode].operation, IMPORT_MODE[mode].single]),
) as Readonly<Record<ImportOperation, SingleOperation>>
