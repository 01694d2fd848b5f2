// The report of one run: what `show --json` and `report --json` print, and what the page is drawn from. Its schema is published as
// docs/run-report.schema.json. Promise kept here: a report holds figures, names and our own words; no value of a row, no key and no
// record id. Times are ISO 8601 in UTC; what is not known is null.

import { z } from 'zod'
import { CHANGED_BY, DIFFERENCE_KINDS } from '../core/domain/differences.ts'
import { PURPOSES } from '../core/domain/purpose.ts'
import { READ_BACK_NAMES, RUN_STATES } from '../core/domain/books.ts'
import { ITEM_STATES, TIMED_OUTCOMES } from '../core/domain/outcomes.ts'
import { jobSchemas } from './job-schemas.ts'
import { laterRunSchemas } from './later-run-schemas.ts'
import { keptSchemas } from './kept-schemas.ts'
import { outcomeSchemas } from './outcome-schemas.ts'
import { loggedAction } from './action-log.ts'
import { rejectGroupSchema } from './reject-schemas.ts'
import { schemaChange } from './schema-changes.ts'

const count = z.int().meta({ id: 'Count' })
const text = z.string()
const time = z.string().meta({ id: 'Time', description: 'ISO 8601, in UTC.' })
const countOrNull = count.nullable()
const textOrNull = text.nullable()
const timeOrNull = time.nullable()
const countEach = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, count])) as Record<Name, typeof count>
const eachOf = <Name extends string>(names: readonly Name[]) => z.object(countEach(names))
const rejectGroup = rejectGroupSchema(count)
const { rows, links, deletions, account } = outcomeSchemas(count)
const { retryReport, undoReport } = laterRunSchemas(count, time, rows)
const { kept, compared: keptOfCompared, writtenOver } = keptSchemas(count)

/** What every command prints of a run. */
const runFacts = z.object({
  run: count,
  sync: text,
  kind: z.enum(['import', 'mirror']),
  mode: z.enum(['run', 'plan']),
  purpose: z.enum(PURPOSES),
  retry_of: countOrNull.describe('Of a retry: the run whose rows it took.'),
  undo_of: countOrNull.describe('Of an undo: the run that it undoes.'),
  limits: textOrNull.describe('What the run was limited to, in words; null: nothing.'),
  backfill: z
    .object({
      window: z.object({ from: timeOrNull, to: timeOrNull }).nullable(),
      only: z.array(text).nullable().describe('Object types.'),
    })
    .nullable(),
  state: z.enum(RUN_STATES),
  reason: textOrNull.describe('What blocks the run, or why it was closed.'),
  message: textOrNull,
  opened_at: time,
  closed_at: timeOrNull.describe('Null while the run is live.'),
  rows_read: countOrNull,
  rows: rows.nullable().describe('Of an import: its rows by outcome.'),
  links: links.nullable().describe('Of an import with links: they by outcome.'),
  deletions: deletions
    .nullable()
    .describe(
      'Of an import: records whose rows are gone from the source, or ask for it, by outcome.',
    ),
  balanced: z
    .boolean()
    .nullable()
    .describe('Whether every row, and every link, has exactly one outcome.'),
  read_to_end: z.boolean().nullable().describe('Whether the source was read to its end.'),
  replayed: countOrNull.describe('Rows that were sent again after a lost answer.'),
  maybe_created: countOrNull.describe(
    'Of upserts, those of them and those that were found as they were sent (`looked_up`): so many may be counted as `updated` although the run created them. 0 where `created` is exact.',
  ),
  looked_up: countOrNull.describe(
    'Rows whose answer was lost, and whose record was then found as it was sent.',
  ),
  in_doubt: countOrNull.describe('Rows that the service may or may not hold.'),
  read_back: z
    .partialRecord(z.enum(READ_BACK_NAMES), count)
    .nullable()
    .describe('Rows by what reading them back showed.'),
  rows_different: countOrNull.describe(
    'Of an import: rows or records that the run knows to differ.',
  ),
  deleted: countOrNull.describe(
    'Of a reconciliation of an import: extra records that are gone now.',
  ),
  kept,
  written_over: writtenOver,
  workflow_id: text,
  key_fingerprint: textOrNull,
  warnings: z.array(text),
  verified_through: timeOrNull.describe(
    'The time up to which the run proved the sync equal on both sides.',
  ),
})

const streamReport = z
  .object({
    stream: text,
    table: textOrNull,
    state: z.enum(['waiting', 'pulling', 'sweeping', 'approval', 'complete', 'failed']),
    mode: z.enum(['full', 'incremental']).nullable(),
    requests: count,
    read: count,
    inserted: count,
    changed: count,
    unchanged: count,
    deleted: count,
    older: countOrNull.describe('Answers that came late and changed nothing.'),
    reverted: countOrNull.describe('Rows that were newer than the service has them.'),
    differs: z.boolean().nullable().describe('Whether the table is known to differ.'),
    misfits: countOrNull.describe('Rows with a value that did not fit its column.'),
    service_count: countOrNull.describe('Records, by the count of the service.'),
    table_count: countOrNull.describe('Rows of the table.'),
    message: textOrNull,
  })
  .meta({ id: 'StreamReport' })

const booksReport = z
  .object({
    rows: account,
    links: account.extend({ replaced: count }).nullable().describe('Of an import with links.'),
    deletions: account.nullable().describe('Null if none was due.'),
    balanced: z
      .boolean()
      .describe('Every row and every link has exactly one outcome. Not yet true of a live run.'),
    read_to_end: z
      .boolean()
      .describe(
        'False: the run ended before its source was read to its end, and no book counts the rest.',
      ),
    replayed: count,
    maybe_created: count,
    looked_up: count,
    in_doubt: count,
    read_back: z
      .array(z.object({ name: z.enum(READ_BACK_NAMES), rows: count, meaning: text }))
      .describe('What reading back showed, the worst first.'),
    kept,
    written_over: writtenOver,
  })
  .meta({ id: 'BooksReport' })

const differencesReport = z
  .object({
    found: eachOf(DIFFERENCE_KINDS).describe('Records that differ, by kind.'),
    left: eachOf(DIFFERENCE_KINDS).describe('Those of them that are not repaired.'),
    groups: z.array(
      z.object({
        stream: text,
        kind: z.enum(DIFFERENCE_KINDS),
        field: textOrNull,
        whose: z.enum(CHANGED_BY).describe('The side that last changed it.'),
        differences: count,
        repaired: count,
        example: countOrNull.describe('The lowest number of a row; null if none has one.'),
      }),
    ),
    held: count.describe('Rows that no retry sends, because each may become a second record.'),
  })
  .meta({ id: 'RunDifferences' })

const comparisonReport = z
  .object({
    whole: z.boolean().describe('Whether both sides were compared in full.'),
    repair: z.boolean(),
    delete_extra: z.boolean().describe('Whether the repair deletes what the source lacks.'),
    compared: countOrNull.describe('Rows of the source, or records of the service.'),
    equal: countOrNull,
    kept: keptOfCompared,
    found: eachOf(DIFFERENCE_KINDS),
    left: eachOf(DIFFERENCE_KINDS),
    fields: z
      .array(
        z.object({
          stream: text,
          field: textOrNull,
          differences: count,
          repaired: count,
          kinds: eachOf(DIFFERENCE_KINDS),
          whose: eachOf(CHANGED_BY),
          example_row: countOrNull,
        }),
      )
      .describe(
        'By stream and field, most differences first. `field` is null for records that exist on one side only.',
      ),
    fields_omitted: count,
    verified_through: timeOrNull,
  })
  .meta({ id: 'ReportComparison' })

const workReport = z
  .object({
    requests: count,
    limit_per_minute: countOrNull.describe(
      'Requests a minute that the service allows, as known when the report was made.',
    ),
    outcomes: z
      .object({
        share_seconds: z.number(),
        points: z.array(z.object({ at: time, ...countEach(TIMED_OUTCOMES) })),
      })
      .nullable()
      .describe('Outcomes of rows over time, in equal shares; null if the run was too short.'),
    rate: z
      .object({
        share_seconds: z.number(),
        points: z.array(
          z.object({ at: time, per_minute: z.number(), failed_per_minute: z.number() }),
        ),
      })
      .nullable()
      .describe(
        'Requests over time, in shares of a minute or more; null if the run was too short.',
      ),
  })
  .meta({ id: 'WorkReport' })

const errorsReport = z
  .object({
    rows: count.describe('Rows that were rejected, or read back otherwise.'),
    groups: z
      .array(
        z.object({
          rows: count,
          state: z.enum(ITEM_STATES),
          code: textOrNull,
          reason: textOrNull,
          column: textOrNull.describe('Column of the source.'),
          property: textOrNull,
          example_row: count.describe('Number of the first row of the group.'),
        }),
      )
      .describe('Most rows first.'),
    omitted: count.describe('Groups that were left out.'),
  })
  .meta({ id: 'ErrorsReport' })

const leftReport = z.object({
  rows: count.describe(
    'Rows that no later run brought in: no retry, no retry of one, and no regular run.',
  ),
  of: count.describe('The number of rejects that there were.'),
  by_run: z
    .array(z.object({ run: count, rows: count }))
    .describe('By the run that last tried them.'),
})

const provenanceReport = z
  .object({
    from: textOrNull.describe('Where the rows came from, in words: no path, no query.'),
    to: textOrNull,
    source_digest: textOrNull.describe('SHA-256 of the source, hex.'),
    key_fingerprint: textOrNull,
    warnings: z.array(text),
    workflow_id: text,
    workflow_run_id: text,
    workflow_url: textOrNull.describe('Address of the run in the Temporal UI.'),
    manifest: z
      .object({
        digest: text,
        signed: z.boolean(),
        previous: textOrNull.describe('Digest of the previous manifest.'),
      })
      .nullable()
      .describe('Of the sealed account of a closed run.'),
  })
  .meta({ id: 'ProvenanceReport' })

const verdictReport = z
  .object({
    tone: z
      .enum(['good', 'live', 'look', 'bad'])
      .describe(
        '`good`: nothing to do. `live`: still at work. `look`: a person should look. `bad`: a person has to.',
      ),
    words: text,
    meaning: text.describe('One or two sentences.'),
    next: z.array(z.object({ text, command: textOrNull.describe('The command to type.') })),
  })
  .meta({
    id: 'ReportVerdict',
    description: 'What the state of the run means, for a person who reads nothing else.',
  })

/** What the report of a run says besides its facts. */
const parts = {
  v: z.literal(1).describe('Version of this format.'),
  made_at: time,
  verdict: verdictReport,
  figures: z.array(z.object({ name: text, value: count })).describe('The most important figures.'),
  books: booksReport.nullable().describe('Of an import.'),
  streams: z.array(streamReport).nullable().describe('Of a mirror.'),
  differences: differencesReport.nullable().describe('Of a reconciliation.'),
  comparison: comparisonReport.nullable().describe('Of a reconciliation, field by field.'),
  work: workReport,
  errors: errorsReport,
  retry_of: countOrNull,
  left: leftReport
    .nullable()
    .describe(
      'What is left of the rows that were not accepted; null while the run is live, and if nothing of it is known.',
    ),
  retries: z
    .array(retryReport)
    .describe('Runs that retried rows of this one, and runs that retried theirs, oldest first.'),
  undos: z.array(undoReport).describe('Runs that undid this one, oldest first.'),
  provenance: provenanceReport,
  commands: z
    .object({ rejects: text, audit: text })
    .describe('Commands that show the rows themselves, and that check the ledger.'),
}

/** What `report --json` prints. */
const runReport = z
  .object({
    ...parts,
    run: runFacts.extend({
      seconds: z.number().describe('From its opening to its end, or to the time of the report.'),
    }),
  })
  .meta({ id: 'RunReport', description: 'What `report --json` prints.' })

/**
 * What `show --json` prints: the report with the facts of the run at the top, and what is for the owner of the rows alone, because a
 * service may have put a value into its words.
 */
const shownRun = runReport
  .omit({ run: true })
  .extend(runReport.shape.run.shape)
  .extend({
    requests: count,
    ...jobSchemas,
    rejects: z.array(rejectGroup),
    schema_changes: z
      .array(schemaChange)
      .nullable()
      .describe(
        'Of a mirror: what it found changed at its object types, the newest first; at most 20.',
      ),
    actions: z.array(loggedAction).describe('What people did to it, the newest first; at most 20.'),
    left: leftReport.extend({ rejects: z.array(rejectGroup) }).nullable(),
  })
  .meta({ id: 'ShownRun', description: 'What `show --json` prints.' })

export const RUN_REPORT_SCHEMAS = { report: runReport, show: shownRun } as const

/** The published JSON Schema, as text. Programs that read it must expect more fields. */
export function runReportSchemaText(): string {
  const { report, show } = RUN_REPORT_SCHEMAS
  const schema = z.toJSONSchema(z.union([report, show]), { io: 'input' })
  const about = {
    title: 'records-sync run report',
    description: 'What `records-sync --json report RUN` and `records-sync --json show RUN` print.',
  }
  return `${JSON.stringify({ ...about, ...schema }, null, 2)}\n`
}

/** Nothing changes a report once it is made. */
type ReadonlyDeep<Value> = Value extends (infer Item)[]
  ? readonly ReadonlyDeep<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: ReadonlyDeep<Value[Key]> }
    : Value
type Made<Schema extends z.ZodType> = ReadonlyDeep<z.output<Schema>>

export type RunFacts = Made<typeof runFacts>
export type RunReport = Made<typeof runReport>
export type ShownRun = Made<typeof shownRun>
export type ReportVerdict = RunReport['verdict']
export type Step = ReportVerdict['next'][number]
export type ReportFigure = RunReport['figures'][number]
export type BooksReport = Made<typeof booksReport>
export type StreamReport = Made<typeof streamReport>
export type RunDifferences = Made<typeof differencesReport>
export type ReportComparison = Made<typeof comparisonReport>
export type FieldDifferences = ReportComparison['fields'][number]
export type WorkReport = Made<typeof workReport>
export type ErrorsReport = Made<typeof errorsReport>
export type ErrorGroup = ErrorsReport['groups'][number]
export type LeftoverReport = Made<typeof leftReport>
export type ProvenanceReport = Made<typeof provenanceReport>
