// What changed at the object types of a mirror, for `show`, the pages of the console and programs.

import { z } from 'zod'
import {
  handlingMeaning,
  SCHEMA_CHANGE_HANDLINGS,
  SCHEMA_CHANGE_KINDS,
} from '../core/domain/schema-changes.ts'
import type { NotedSchemaChange, SchemaHistory } from '../ledger/ledger.ts'

export const schemaChange = z
  .object({
    run: z.int().describe('The run that found it.'),
    at: z.string().describe('When it was found; ISO 8601 in UTC.'),
    done_at: z
      .string()
      .nullable()
      .describe('When the table had been changed; null if the run ended before it was.'),
    stream: z.string().describe('The object type.'),
    property: z.string(),
    kind: z.enum(SCHEMA_CHANGE_KINDS).describe('`back`: removed before, with the same field type.'),
    type_before: z.string().nullable().describe('Field type, such as `number` or `select[]`.'),
    type_now: z.string().nullable(),
    handling: z.enum(SCHEMA_CHANGE_HANDLINGS).describe('What became of the table.'),
    columns: z
      .array(z.string())
      .describe('Those that were added or are written again, or else those that stay.'),
  })
  .meta({ id: 'SchemaChange', description: 'A property that a run of a mirror found changed.' })
export type SchemaChangeReport = Readonly<
  Omit<z.output<typeof schemaChange>, 'columns'> & { columns: readonly string[] }
>

/** What is shown of a run or a sync; the rest is in the ledger. */
export const SCHEMA_CHANGES_SHOWN = 20

/** The newest first. */
export async function readSchemaChanges(
  ledger: SchemaHistory,
  of: { readonly run: number } | { readonly sync: string },
): Promise<z.output<typeof schemaChange>[]> {
  return (await ledger.schemaChanges({ ...of, limit: SCHEMA_CHANGES_SHOWN })).map(reportOf)
}

const reportOf = ({
  run,
  foundAt,
  doneAt,
  stream,
  property,
  kind,
  before,
  now,
  handling,
  columns,
}: NotedSchemaChange): z.output<typeof schemaChange> => ({
  run,
  at: foundAt,
  done_at: doneAt,
  stream,
  property,
  kind,
  type_before: before,
  type_now: now,
  handling,
  columns: [...columns],
})

/** `added as number`, `number before, text now` */
export function schemaChangeText({
  kind,
  type_before: before,
  type_now: now,
}: Pick<SchemaChangeReport, 'kind' | 'type_before' | 'type_now'>): string {
  switch (kind) {
    case 'added':
      return `added, ${now}`
    case 'removed':
      return `removed, was ${before}`
    case 'retyped':
      return `${now}, was ${before}`
    case 'back':
      return `back, ${now}`
  }
}

/** What became of the table, or what would have. */
export const handlingText = ({
  handling,
  done_at: done,
}: Pick<SchemaChangeReport, 'handling' | 'done_at'>): string =>
  done === null ? 'not done: the run ended before the table was changed' : handlingMeaning(handling)
