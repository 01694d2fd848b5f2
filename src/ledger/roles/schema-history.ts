// What changed at the object types of a mirror. Promise kept here: what changed a table has a row, whatever became of the worker that
// changed it, because it is noted before; that a row has no end says that it is not known whether the table was changed.

import type { SchemaChange } from '../../core/domain/schema-changes.ts'

export interface NotedSchemaChange extends SchemaChange {
  readonly run: number
  readonly stream: string
  /** Counted in its run and stream. */
  readonly number: number
  readonly foundAt: string
  /** When the table had been changed; of what changes no table, when it was found. */
  readonly doneAt: string | null
}

export interface SchemaHistory {
  /** Notes what a run found of a stream; not again what its sync noted last of the property. */
  noteSchemaChanges(run: number, stream: string, changes: readonly SchemaChange[]): Promise<void>
  /** Notes that the table was changed. */
  endSchemaChanges(run: number, stream: string, numbers: readonly number[]): Promise<void>
  /** The newest first: of a sync, of a run, or of one stream of a run. */
  schemaChanges(
    of: ({ readonly sync: string } | { readonly run: number; readonly stream?: string }) & {
      readonly limit: number
    },
  ): Promise<readonly NotedSchemaChange[]>
}
