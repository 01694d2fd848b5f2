// The shape of records-sync.yaml: every setting with what it means. The JSON Schema for editors and the reference in
// README.md are made from it, and so are the types of a loaded configuration. What one setting means for another is in checks.ts.
// Promise kept here: an unknown setting is refused, and each message says what was expected.

import { z } from 'zod'
import { choiceOf } from '../src/settings/choice.ts'
import { marked } from '../src/settings/marks.ts'
import { namedMap, nameList, nameOf } from '../src/settings/parts.ts'
import { WAREHOUSES } from '../src/warehouses/index.ts'
import { connectionSettings } from './connections.ts'
import { consoleSettings } from './console.ts'
import { importSettings } from './imports.ts'
import { ledgerSettings } from './ledger.ts'
import { linkSyncSettings } from './links.ts'
import { mirrorSettings } from './mirrors.ts'
import { testSettings } from './tests.ts'
import {
  notificationSettings,
  scheduleSettings,
  temporalSettingsSchema,
  workerSettings,
} from './operating.ts'

const sync = marked(
  z.strictObject({
    import: importSettings
      .optional()
      .describe('Rows become records. Exactly one of `import`, `link` and `mirror`.'),
    link: linkSyncSettings
      .optional()
      .describe(
        'Rows become links between records that are there; no record is written: docs/imports.md, "Links".',
      ),
    mirror: mirrorSettings
      .optional()
      .describe(
        'Records become rows: the tables of a schema in a warehouse are kept like the records of a service. docs/mirror.md describes them.',
      ),
    tests: testSettings
      .optional()
      .describe(
        'Of an import: rows with what becomes of them. `records-sync test` compares, and asks no service: docs/imports.md.',
      ),
    after: nameList(nameOf('syncs'))
      .optional()
      .describe(
        'Syncs that have to end before it begins, where they run together: `run --all`, `run` with several names, or a group. docs/groups.md describes it.',
      ),
    schedule: scheduleSettings
      .optional()
      .describe(
        'When it runs by itself: `every 15 minutes`, a cron line such as `0 6 * * 1-5` (in UTC), or a mapping with one of the following. `records-sync schedules apply` makes it so.',
      ),
  }),
  {
    is: 'choice',
    among: [
      { name: 'import', settings: { tests: testSettings } },
      { name: 'link' },
      { name: 'mirror' },
    ],
  },
)

const group = z.strictObject({
  syncs: z
    .union([z.literal('all'), nameList(nameOf('syncs'))])
    .describe(
      'Its syncs: a list of names, or `all`. Each begins when those that it is `after` have ended.',
    ),
  schedule: scheduleSettings
    .optional()
    .describe(
      'When they run by themselves, as for a sync. Its syncs need no schedules of their own.',
    ),
})

export const configSchema = z.strictObject({
  ledger: ledgerSettings
    .default('.records-sync/ledger.db')
    .describe(
      'Where the outcome of every row is kept: a SQLite file, relative to this file, or a mapping with one of the following.',
    ),
  connections: namedMap(connectionSettings).describe('The services, by name.'),
  warehouses: namedMap(choiceOf(WAREHOUSES))
    .default({})
    .describe('The databases that queries are asked of and that mirrors write to, by name.'),
  syncs: namedMap(sync).describe('The jobs, by name.'),
  groups: namedMap(group)
    .default({})
    .describe('Syncs that run together, in their order, by name. No group has the name of a sync.'),
  temporal: temporalSettingsSchema
    .default({})
    .describe(
      'The Temporal server. What the environment says (`TEMPORAL_ADDRESS` and its like) goes first; docs/temporal.md has the order.',
    ),
  worker: workerSettings.prefault({}).describe('The workers of this configuration.'),
  console: consoleSettings
    .prefault({})
    .describe('The console, `records-sync console`: docs/console.md.'),
  notifications: namedMap(notificationSettings)
    .default({})
    .describe(
      'Webhooks that get a message when a run needs a person, by name: docs/monitoring.md.',
    ),
})

export type ConfigOutput = z.output<typeof configSchema>
