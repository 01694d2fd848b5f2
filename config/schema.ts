// The shape of records-sync.yaml: every setting with what it means. The JSON Schema for editors and the reference in
// README.md are made from it. What one setting means for another is in checks.ts.
// Promise kept here: an unknown setting is refused, and each message says what was expected.

import { z } from 'zod'
import { EVERY_OPERATION, FilterNode, requestOf } from '../src/contract/index.ts'
import { IMPORT_MODES, modeMeaning } from '../src/core/import-modes.ts'
import {
  notificationSettings,
  scheduleSettings,
  temporalSettingsSchema,
  workerSettings,
} from './operating.ts'
import {
  betweenNumbers,
  emptySetting,
  namedMap,
  nameList,
  pathSetting,
  schemaName,
  secretPlace,
  textSetting,
  textList,
} from './parts.ts'

/** The field types a cell can be read as. */
export const CELL_TYPES = [
  'text',
  'long_text',
  'email',
  'phone',
  'url',
  'number',
  'currency',
  'boolean',
  'date',
  'datetime',
  'select',
  'multi_select',
  'user',
] as const

/** Exactly YYYY, one of MM and M, one of DD and D. */
function isDateFormat(format: string): boolean {
  const parts = format.match(/YYYY|MM|DD|M|D/g) ?? []
  return (
    parts
      .map((part) => part[0])
      .toSorted()
      .join('') === 'DMY'
  )
}

function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label)
    return true
  } catch {
    return false
  }
}

/** What is wrong with the address of a service, or undefined. Never shows the address: it may hold a password. */
function serviceProblem(address: string): string | undefined {
  if (!URL.canParse(address)) return 'expected a URL such as `https://api.example.com`'
  const url = new URL(address)
  const loopback = url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback))
    return 'expected an https URL; http only for a literal loopback address such as `http://127.0.0.1:8080`'
  if (url.username !== '' || url.password !== '')
    return 'expected a URL without user name and password; the key has a setting of its own'
  if (url.search !== '' || url.hash !== '') return 'expected a URL without `?` and `#`'
  return undefined
}

const service = z.string().superRefine((address, context) => {
  const message = serviceProblem(address)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const key = secretPlace(
  'key',
  'a key does not belong into this file; write `key: "${RECORDS_API_KEY}"`, `key: { file: ./key }` or `key: { command: "…" }`',
)

const ledger = z.union([
  pathSetting(
    'expected the path of a file; a database is named by `ledger: { postgres: "${LEDGER_URL}" }`',
  ),
  z.strictObject({
    sqlite: pathSetting().optional().describe('SQLite file, relative to this file: the long form.'),
    postgres: secretPlace(
      'URL',
      'its URL does not belong into this file, because it may hold a password; write `postgres: "${LEDGER_URL}"`, `postgres: { file: ./ledger-url }` or `postgres: { command: "…" }`',
    )
      .optional()
      .describe(
        'PostgreSQL database, for workers on several machines. Where its URL is, such as `postgres://user:password@host:5432/database`, never the URL itself: `"${NAME}"` (a variable of the environment), or a mapping with one of the following.',
      ),
    schema: schemaName()
      .default('records_sync')
      .describe('Schema of its own in that database; made by the first run. With `postgres` only.'),
    signing_key: secretPlace(
      'signing key',
      'a key does not belong into this file; write `signing_key: "${LEDGER_SIGNING_KEY}"`, `signing_key: { file: ./signing-key }` or `signing_key: { command: "…" }`',
    )
      .optional()
      .describe(
        'Where the key is with which a worker signs the manifest of each run, and `records-sync audit` checks it, never the key itself: at least 16 characters. Next to `sqlite` or `postgres`. Default: manifests are not signed. docs/ledger.md explains it.',
      ),
  }),
])

const warehouse = z.strictObject({
  duckdb: pathSetting()
    .optional()
    .describe(
      'DuckDB file, relative to this file, or `:memory:` for queries that read only Parquet, CSV and JSON files. Exactly one of `duckdb` and `postgres`.',
    ),
  files: z
    .array(pathSetting())
    .optional()
    .describe(
      'Folders, relative to this file, whose Parquet, CSV and JSON files queries of a DuckDB warehouse may read; `[]` for none. Keys, ledgers and `/proc` are never read. Default: the folder of this file.',
    ),
  postgres: secretPlace(
    'URL',
    'its URL does not belong into this file, because it may hold a password; write `postgres: "${DWH_URL}"`, `postgres: { file: ./dwh-url }` or `postgres: { command: "…" }`',
  )
    .optional()
    .describe(
      'PostgreSQL database. Where its URL is, such as `postgres://user:password@host:5432/database`, never the URL itself: `"${NAME}"` (a variable of the environment), or a mapping with one of the following.',
    ),
})

const place = (what: string) =>
  z
    .enum(['query', 'body', 'item'])
    .optional()
    .describe(`Where ${what} goes: the query, the body next to \`data\`, or each item of \`data\`.`)

const request = z.strictObject({
  request: textSetting().describe('Method and path, as in the short form.'),
  matching_property: place('the name of the matching property'),
  association_type: place("an association's name"),
  target_id: place('the id of the record to link to'),
})

const operations = z
  .partialRecord(z.enum(EVERY_OPERATION), z.union([textSetting(), request]))
  .superRefine((requests, context) => {
    for (const id of EVERY_OPERATION) {
      const told = requests[id]
      const form = told === undefined ? undefined : requestOf(id, told)
      if (form && 'problem' in form)
        context.addIssue({ code: 'custom', message: form.problem, path: [id] })
    }
  })

const weight = (who: string, initial: number) =>
  betweenNumbers(1, 100).default(initial).describe(`Share of ${who}, 1 to 100.`)

const quota = z.strictObject({
  reserve_percent: betweenNumbers(0, 90)
    .default(0)
    .describe(
      'Percent of the quota that is left to people and other applications, 0 to 90: this much is kept free.',
    ),
  shares: z
    .strictObject({
      import: weight('imports', 60),
      mirror: weight('mirrors', 30),
      backfill: weight('backfills', 10),
    })
    .prefault({})
    .describe(
      'How the rest is divided while several kinds of work wait for it: by these weights. What one kind does not use, the others get.',
    ),
})

const connection = z.strictObject({
  service: service.describe(
    'URL of the Records Service: https, or http to a literal loopback address.',
  ),
  key: key.describe(
    'Where the API key is, never the key itself: `"${NAME}"` (a variable of the environment), or a mapping with one of the following.',
  ),
  operations: operations
    .optional()
    .describe(
      "How operations are requested, where the service's OpenAPI document does not say it rightly: method and path, such as `PUT /objects/{object_type}/records/batch/`, or a mapping with one of the following. The path counts from `/rest/v1`; where it begins with `{base_url}`, from `service`. `records-sync check --operations` lists them all.",
    ),
  quota: quota
    .prefault({})
    .describe("How the org's requests a minute are used: docs/pacing.md explains it."),
})

const mapping = z.strictObject({
  column: textSetting()
    .optional()
    .describe('Column of the source. Exactly one of `column` and `value`.'),
  value: z
    .unknown()
    .optional()
    .describe(
      'A constant, in the shape the service expects. It takes no other setting but `compare`.',
    ),
  type: z
    .enum(CELL_TYPES)
    .optional()
    .describe("Field type to read the cell as. Default: the property's own."),
  split: textSetting()
    .optional()
    .describe('Separator of the values in one cell, for a property that holds several.'),
  unit: z
    .string()
    .regex(/^[A-Z]{3}$/, 'expected an ISO 4217 code such as `EUR`')
    .optional()
    .describe('Currency of an amount, an ISO 4217 code.'),
  unit_column: textSetting()
    .optional()
    .describe('Column that holds the ISO 4217 code. Not with `unit`.'),
  format: z
    .string()
    .refine(isDateFormat, 'expected YYYY, MM (or M) and DD (or D), once each, such as `DD.MM.YYYY`')
    .optional()
    .describe('How dates are written. Default: `YYYY-MM-DD`.'),
  decimal: z
    .enum(['.', ','])
    .optional()
    .describe('Decimal separator. Default: `.`. Thousands separators are never read.'),
  true: textList()
    .optional()
    .describe('Words that mean true, whatever their case. Default: true, yes, 1.'),
  false: textList()
    .optional()
    .describe('Words that mean false, whatever their case. Default: false, no, 0.'),
  empty: emptySetting()
    .optional()
    .describe("What an empty cell means. Default: the import's `empty`."),
  compare: z
    .boolean()
    .optional()
    .describe(
      'Whether what the service holds is compared with what was sent. `false` for a property that the service computes or keeps otherwise on purpose: it is sent when the source changes, no difference of it counts, and no row is sent again for it. Not for the matching property. Default: true.',
    ),
})

const records = z.strictObject({
  connection: textSetting().describe(
    'Name of the connection whose records are read; it may be the one that is written to.',
  ),
  object_type: textSetting().describe('Object type of the records that are read.'),
  filter: FilterNode.optional().describe(
    'Which records, as a filter tree of the service: `{ property, op, value }`, or `$and` or `$or` with a list of such. Default: every record that the key can read.',
  ),
  properties: z
    .array(textSetting())
    .min(1, 'expected at least one name')
    .optional()
    .describe(
      'Properties that are read; `id` always is. Default: every property that the key can read.',
    ),
})

const watermark = z.strictObject({
  column: textSetting().describe(
    'Column of the answer with numbers, dates, times or texts, best one that grows with every change of a row. Its greatest value is the next `:watermark`.',
  ),
  initial: z
    .union([textSetting(), z.number()])
    .describe('What `:watermark` is at first, such as `1970-01-01T00:00:00Z` or `0`.'),
})

/** Exactly one of the kinds is named; checks.ts says which settings belong to which kind. */
const from = z.strictObject({
  csv: pathSetting()
    .optional()
    .describe('CSV file, relative to this file. Its first line names the columns.'),
  delimiter: z
    .string()
    .regex(/^[^\r\n\0\ufeff]$/u, 'expected one character, such as `,`, `;` or `"\\t"`')
    .optional()
    .describe('Character between the cells of a CSV file. Default: `,`.'),
  quote: z
    .string()
    .regex(/^[^\r\n\0\ufeff]$/u, 'expected one character, or null for none')
    .nullable()
    .optional()
    .describe(
      'Character around cells that hold the delimiter or a new line; null for none. Default: `"`.',
    ),
  encoding: z
    .string()
    .refine(isEncoding, 'expected an encoding such as `utf-8`, `windows-1252` or `utf-16le`')
    .optional()
    .describe('Encoding of the file. Default: what its byte order mark says, else UTF-8.'),
  ragged: z
    .enum(['refuse', 'reject'])
    .optional()
    .describe(
      'What a row of a CSV file with too few or too many cells does: `reject` sets it aside alone (`row_ragged`), `refuse` stops before anything is written. A last row with too few cells always stops, because the file may be cut off. Default: `reject`.',
    ),
  query: textSetting()
    .optional()
    .describe(
      'One SQL query, a SELECT, whose rows are imported in its order. docs/warehouses.md says how values become cells.',
    ),
  warehouse: textSetting().optional().describe('Name of the warehouse that answers the query.'),
  watermark: watermark
    .optional()
    .describe(
      'What `:watermark` is in the query, which then reads only what changed. docs/warehouses.md explains it.',
    ),
  records: records
    .optional()
    .describe(
      'Records of a Records Service: of another org, of another type, or those that are written to. docs/records.md says how values are copied.',
    ),
})

const importing = z.strictObject({
  from: from.describe('Where the rows come from.'),
  to: textSetting().describe('Name of the connection that is written to.'),
  object_type: textSetting().describe('Object type of the records, such as `svc_contact`.'),
  matching_property: textSetting().describe(
    'Property that says which record a row is. It is one of `properties`, best a unique one.',
  ),
  mode: z
    .enum(IMPORT_MODES)
    .default('upsert')
    .describe(`${IMPORT_MODES.map((mode) => `\`${mode}\` ${modeMeaning(mode)}`).join('; ')}.`),
  empty: emptySetting()
    .default('omit')
    .describe('What an empty cell means: leave the property alone, clear it, or refuse the row.'),
  verify: z
    .enum(['none', 'sample', 'all'])
    .default('sample')
    .describe(
      'How much of what was written is read back and compared. A row whose answer shows something else than was sent is read back whatever this says.',
    ),
  rows_min: z
    .number()
    .int()
    .min(1, 'expected a number of at least 1')
    .optional()
    .describe(
      'Rows: a regular run whose source has fewer of them asks first, such as after an export that broke. Not for queries with `watermark`. Default: no limit.',
    ),
  rows_max: z
    .number()
    .int()
    .min(1, 'expected a number of at least 1')
    .optional()
    .describe('Rows: a run that would send more of them asks first. Default: no limit.'),
  creates_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe(
      'Percent of the rows to be sent, 0 to 100: a run that would create more records than that asks first. Keys that no run has written before are looked up, 100 a request. Default: no limit.',
    ),
  clears_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe(
      'Percent of the values to be sent, 0 to 100: a run that would clear more of them asks first. Default: no limit.',
    ),
  properties: z
    .record(textSetting(), z.union([textSetting(), mapping]))
    .describe('Where each property gets its value: the name of a column, or a mapping.'),
})

const mirroring = z.strictObject({
  from: textSetting().describe('Name of the connection whose records are read.'),
  to: textSetting().describe(
    'Name of the warehouse that is written to: a DuckDB file, which is made where it is missing, or a PostgreSQL database.',
  ),
  schema: schemaName()
    .optional()
    .describe(
      'Schema of the warehouse for the tables of this mirror; it is made where it is missing, and no other program may have tables in it. Default: the name of the sync.',
    ),
  object_types: z
    .union([z.enum(['all']), nameList().min(1, 'expected at least one name')])
    .default('all')
    .describe(
      'Object types whose records are mirrored, a table for each: a list of names, or `all` that the key can read, also those that are added later.',
    ),
  except: nameList()
    .default([])
    .describe('Object types that are left out. With `object_types: all` only.'),
  associations: nameList()
    .default([])
    .describe(
      'Associations whose links are mirrored, a table for each. Costs one request for each record of the type that an association begins at: `records-sync plan` says how long that takes. Default: none.',
    ),
  schema_changes: z
    .enum(['evolve', 'freeze', 'ignore'])
    .default('evolve')
    .describe(
      'What a new property, or one whose field type changed, means: `evolve` adds a column, `freeze` stops the run until a person decides, `ignore` leaves it out.',
    ),
  deletions: z
    .enum(['soft', 'hard'])
    .default('soft')
    .describe(
      'What the row of a deleted record becomes: `soft` keeps it and sets `_deleted_at`, `hard` removes it.',
    ),
  deletions_max_percent: betweenNumbers(0, 100)
    .default(10)
    .describe(
      'Percent of the rows of a table, 0 to 100: a run that would delete more of them, and more than 10 rows, asks first, and `records-sync approve` answers. With `0` it asks before it deletes any row.',
    ),
  full_every_hours: betweenNumbers(1, 8_760)
    .default(24)
    .describe(
      'Hours, 1 to 8760, after which everything is read again, which also finds deleted records. In between a run reads what changed.',
    ),
  overlap_seconds: betweenNumbers(0, 86_400)
    .default(300)
    .describe(
      'Seconds, 0 to 86400, that a run goes back behind the last change that it knows, because a change may show late.',
    ),
  modification_property: z
    .record(textSetting(), textSetting())
    .default({})
    .describe(
      'Property that says when a record was changed last, by object type, such as `{ svc_contact: svc_touched_at }`; a date with a time. Default: one like `svc_updated_at`, with whatever prefix the service has; a type without one is read whole by every run up to 1,000 records, and above that its changes are found only by the full listing (`full_every_hours`).',
    ),
})

const sync = z.strictObject({
  import: importing
    .optional()
    .describe('Rows become records. Exactly one of `import` and `mirror`.'),
  mirror: mirroring
    .optional()
    .describe(
      'Records become rows: the tables of a schema in a warehouse are kept like the records of a service. docs/mirror.md describes them.',
    ),
  schedule: scheduleSettings
    .optional()
    .describe(
      'When it runs by itself: `every 15 minutes`, a cron line such as `0 6 * * 1-5` (in UTC), or a mapping with one of the following. `records-sync schedules apply` makes it so.',
    ),
})

/** A whole records-sync.yaml. */
export const configSchema = z.strictObject({
  ledger: ledger
    .default('.records-sync/ledger.db')
    .describe(
      'Where the outcome of every row is kept: a SQLite file, relative to this file, or a mapping with one of the following.',
    ),
  connections: namedMap(connection).describe('The services, by name.'),
  warehouses: namedMap(warehouse)
    .default({})
    .describe('The databases that queries are asked of and that mirrors write to, by name.'),
  syncs: namedMap(sync).describe('The jobs, by name.'),
  temporal: temporalSettingsSchema
    .default({})
    .describe(
      'The Temporal server. What the environment says (`TEMPORAL_ADDRESS` and its like) goes first; docs/temporal.md has the order.',
    ),
  worker: workerSettings.prefault({}).describe('The workers of this configuration.'),
  notifications: namedMap(notificationSettings)
    .default({})
    .describe(
      'Webhooks that get a message when a run needs a person, by name: docs/monitoring.md.',
    ),
})

export type ConfigInput = z.input<typeof configSchema>
export type ConfigOutput = z.output<typeof configSchema>
export type SyncOutput = ConfigOutput['syncs'][string]
export type ImportOutput = NonNullable<SyncOutput['import']>
