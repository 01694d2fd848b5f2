// Settings of an import: where its rows come from, where they go, and what each property gets.

import { z } from 'zod'
import { dateFormatProblem, EPOCHS, isLanguage } from '../src/core/date-format.ts'
import { IMPORT_MODES, modeMeaning } from '../src/core/domain/import-modes.ts'
import type { Json } from '../src/core/json.ts'
import { isZone, zoneProblem } from '../src/core/time-zone.ts'
import { choiceOf } from '../src/settings/choice.ts'
import {
  betweenNumbers,
  countSetting,
  emptySetting,
  nameOf,
  textList,
  textSetting,
} from '../src/settings/parts.ts'
import { SOURCES } from '../src/sources/index.ts'
import { approveSetting } from './approval.ts'
import { linkSettings } from './links.ts'
import { propertyProtectionSettings, protectionSettings } from './protection.ts'
import { transformationSettings } from './transformations.ts'

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
  'domain',
] as const

const dateFormat = () =>
  z.string().superRefine((format, context) => {
    const message = dateFormatProblem(format)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })

export const mappingSettings = z.strictObject({
  column: textSetting()
    .optional()
    .describe('Column of the source. Exactly one of `column`, `columns` and `value`.'),
  ...transformationSettings,
  value: z
    // Whatever the document holds: JSON.
    .custom<Json>()
    .optional()
    .describe(
      'A constant, in the shape the service expects. It takes no other setting but `compare`, `on_conflict`, `first_contact` and `write`.',
    ),
  type: z
    .enum(CELL_TYPES)
    .optional()
    .describe(
      "Field type to read the cell as. Default: the property's own. `domain` takes the domain from a URL: `https://www.example.com/` is `example.com`.",
    ),
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
    .union([dateFormat(), z.array(dateFormat()).min(1, 'expected at least one format')], {
      error: 'expected a format such as `DD.MM.YYYY`, or a list of formats',
    })
    .optional()
    .describe(
      'How dates are written, and the days of times: `DD.MM.YYYY`, `D-MMM-YY`, `MMMM D, YYYY`. Of a list of formats each is tried; a cell that two of them read as different days is set aside. Default: `YYYY-MM-DD`. A date with midnight behind it is `YYYY-MM-DD 00:00:00`.',
    ),
  window: betweenNumbers(1, 9_900)
    .int('expected a whole number')
    .optional()
    .describe(
      'First of the 100 years that two digits (`YY`) stand for: `1950` for 1950 to 2049. Needed with `YY`.',
    ),
  language: z
    .string()
    .refine(isLanguage, 'expected a language such as `de` or `pt-BR`')
    .optional()
    .describe('Language of the names of months (`MMM`, `MMMM`). Default: `en`.'),
  epoch: z
    .enum(EPOCHS)
    .optional()
    .describe(
      'What cells count that are numbers: `s` or `ms` since 1970, for times; `spreadsheet`, for dates, the days of spreadsheets: 31182 is 1985-05-15. Default: cells are no numbers.',
    ),
  zone: z
    .string()
    .refine(isZone, { error: ({ input }) => zoneProblem(String(input)) })
    .optional()
    .describe(
      'Time zone of times that name none. A time that its clocks show twice or never is refused. Default: such times are refused.',
    ),
  decimal: z.enum(['.', ',']).optional().describe('Decimal separator. Default: `.`.'),
  thousands: z
    .enum(['.', ',', "'", ' '])
    .optional()
    .describe(
      'Separator of thousands, which a number may have. A cell with it whose first digit is 0, such as `0.500`, is refused. Default: none.',
    ),
  symbol: z
    .string()
    .regex(
      /^(?:[^\s\d.,+()'’\u2010-\u2015\u2212]{1,3}|\p{L}{1,3}\.)$/u,
      'expected a sign such as `€`, or a code such as `EUR` or `Rs.`',
    )
    .optional()
    .describe(
      'Sign that a number may have before or behind it, such as `€` or `%`. Default: none.',
    ),
  negative: z
    .enum(['parentheses', 'trailing'])
    .optional()
    .describe(
      'How negative numbers may also be written, next to `-30`: `(30)`, or `30-`. Default: in no other way.',
    ),
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
  ...propertyProtectionSettings,
})

export const importSettings = z.strictObject({
  from: choiceOf(SOURCES).describe('Where the rows come from.'),
  to: nameOf('connections').describe('Name of the connection that is written to.'),
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
      'How much of what was written is read back and compared. A sample is every row of up to 2,000, and of more every n-th row, 1,000 to 2,000 in all. A row whose answer shows something else than was sent is read back whatever this says.',
    ),
  keep_before: z
    .boolean()
    .optional()
    .describe(
      'Whether each row is looked up right before it is sent, 100 a request, and what its record held is stored in the ledger: the before-images of a run (docs/imports.md, "What records held before"). A row whose record has its values already is not sent. Default: false; true with `on_conflict`, `first_contact` or `write` that protect values.',
    ),
  ...protectionSettings,
  rows_min: countSetting(1)
    .optional()
    .describe(
      'Rows: a regular run whose source has fewer of them asks first, such as after an export that broke. Not for queries with `watermark`. Default: no limit.',
    ),
  rows_max: countSetting(1)
    .optional()
    .describe('Rows: a run that would send more of them asks first. Default: no limit.'),
  creates_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe(
      'Percent of the rows to be sent, 0 to 100: a run that would create more records than that asks first. Keys that no run has written before are looked up, 100 a request; a run takes the others for records that exist, and a reconciliation counts all that are missing. Default: no limit.',
    ),
  clears_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe(
      'Percent of the values to be sent, 0 to 100: a run that would clear more of them asks first. Default: no limit.',
    ),
  approve: approveSetting,
  missing_rows: z
    .union(
      [
        z.enum(['ignore', 'delete']),
        z.strictObject({
          clear: z
            .record(textSetting(), z.custom<Json>())
            .describe(
              'Values that a record gets whose row is gone, by property, in the shape the service expects; null clears a property.',
            ),
        }),
      ],
      { error: 'expected `ignore`, `delete` or `clear: { PROPERTY: value }`' },
    )
    .optional()
    .describe(
      'What becomes of the records of rows that the last complete reading had and this one does not: nothing (`ignore`), a deletion (`delete`), or other values (`clear`). Only records that this sync has written, and that are as it left them. Default: `ignore`.',
    ),
  missing_rows_max_percent: betweenNumbers(0, 100)
    .optional()
    .describe(
      'Percent of the records that the sync has written, 0 to 100: a run that would delete or clear more of them, and more than 10, asks first. With `0` it asks before the first one. Default: 10.',
    ),
  delete_when: z
    .strictObject({
      column: textSetting().describe('Column of the source.'),
      equals: z
        .union([textSetting(), textList()], {
          error:
            'expected a text, or a list of texts, in quotes where YAML reads a number or a truth value',
        })
        .transform((given) => (typeof given === 'string' ? [given] : given))
        .describe('The text of the cell, without space around it; or a list of such texts.'),
    })
    .optional()
    .describe(
      'Rows that say themselves that their record is gone: one whose cell has the text deletes the record that this sync has written for its key. Of its other cells none is read. Default: no row.',
    ),
  properties: z
    .record(
      textSetting(),
      z
        .union([textSetting(), mappingSettings])
        .transform((given) => (typeof given === 'string' ? { column: given } : given)),
    )
    .describe('Where each property gets its value: the name of a column, or a mapping.'),
  links: z
    .array(linkSettings)
    .min(1, 'expected at least one link')
    .optional()
    .describe(
      'What the records of the rows are linked to, once they are written: docs/imports.md, "Links". Default: nothing.',
    ),
})
