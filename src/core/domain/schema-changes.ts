// What a mirror's run finds changed at an object type since its table was made, property by property, and what becomes of the table.

import { namesOf } from '../register.ts'

/** `back`: a property that was removed before, with the same field type. */
export const SCHEMA_CHANGE_KINDS = ['added', 'removed', 'retyped', 'back'] as const
export type SchemaChangeKind = (typeof SCHEMA_CHANGE_KINDS)[number]

interface HandlingEntry {
  /** Whether the table is another one after it. */
  readonly changesTable: boolean
  readonly meaning: string
}

const HANDLING = {
  column_added: { changesTable: true, meaning: 'a column was added; one full listing fills it' },
  column_revived: {
    changesTable: true,
    meaning: 'its column is written again; one full listing fills it',
  },
  column_kept: { changesTable: true, meaning: 'its column stays, with what it held' },
  misfits: {
    changesTable: false,
    meaning: 'its column stays; values that do not fit go to _misfits',
  },
  left_out: { changesTable: false, meaning: 'left out, as schema_changes is ignore' },
  frozen: {
    changesTable: false,
    meaning: 'nothing: the table waits for a person, as schema_changes is freeze',
  },
} as const satisfies Record<string, HandlingEntry>
export type SchemaChangeHandling = keyof typeof HANDLING

export const SCHEMA_CHANGE_HANDLINGS = namesOf(HANDLING)

export const isTableChanged = (handling: SchemaChangeHandling): boolean =>
  HANDLING[handling].changesTable

export const handlingMeaning = (handling: SchemaChangeHandling): string =>
  HANDLING[handling].meaning

export interface SchemaChange {
  readonly property: string
  readonly kind: SchemaChangeKind
  /** Field types, such as `number`, or `number[]` of a multi-value property; null where the property is not there. */
  readonly before: string | null
  readonly now: string | null
  readonly handling: SchemaChangeHandling
  /** Names of the columns that it is about: those that were added or are written again, or else those that stay. */
  readonly columns: readonly string[]
}
