// The register of import modes: what `mode` of an import does with a row.

import { namesOf } from '../register.ts'

interface ImportModeEntry {
  /** For the reference of the configuration. */
  readonly meaning: string
  /** The operation of the service that writes a batch of rows. */
  readonly operation: string
}

const IMPORT_MODE = {
  upsert: {
    meaning: 'creates what is missing, updates what is there',
    operation: 'batchUpsert',
  },
} as const satisfies Record<string, ImportModeEntry>
export type ImportMode = keyof typeof IMPORT_MODE

export const IMPORT_MODES = namesOf(IMPORT_MODE)

export const modeMeaning = (mode: ImportMode): string => IMPORT_MODE[mode].meaning

/** The operations that write batches. */
export type ImportOperation = (typeof IMPORT_MODE)[ImportMode]['operation']

export const operationOfMode = (mode: ImportMode): ImportOperation => IMPORT_MODE[mode].operation
