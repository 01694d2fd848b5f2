// Settings that change a cell before it is read: small ones, in one order. What is larger is a query over the file (`sql`).

import { z } from 'zod'
import { nameList, pathSetting, textSetting } from '../src/settings/parts.ts'

/** Characters of a pattern. */
const PATTERN_CHARS_MAX = 1_000

/** What a cell becomes; null: an empty one. */
const becomes = z.union([z.string(), z.number(), z.boolean()]).nullable()

export const transformationSettings = {
  columns: nameList()
    .min(1, 'expected the name of at least one column')
    .optional()
    .describe(
      'Columns of the source whose cells are put together, in this order. Empty cells are left out.',
    ),
  join: z.string().optional().describe('Text between the cells of `columns`. Default: one space.'),
  trim: z
    .boolean()
    .optional()
    .describe(
      'Whether white space around a cell is taken away. Default: true with `columns`, `pattern`, `case`, `map`, `prefix` or `suffix`; otherwise a text is sent as it is.',
    ),
  pattern: textSetting()
    .max(PATTERN_CHARS_MAX, `expected at most ${PATTERN_CHARS_MAX} characters`)
    .optional()
    .describe(
      'Regular expression in the syntax of RE2 that the cell must match, anywhere in it: `^` and `$` stand for its ends. With one named group, such as `(?<zip>\\d{5})`, the cell becomes what the group matches; with several, `template` says how they are put together.',
    ),
  template: textSetting()
    .optional()
    .describe(
      'What the cell becomes, with the named groups of `pattern` in braces: `{first} {last}`.',
    ),
  case: z
    .enum(['lower', 'upper', 'title'])
    .optional()
    .describe(
      'Small letters, capitals, or a capital at the beginning of each word and small letters behind it.',
    ),
  map: z
    .union([
      pathSetting(),
      z
        .record(z.string(), becomes)
        .refine((entries) => Object.keys(entries).length > 0, 'expected at least one entry')
        .transform((entries) =>
          Object.fromEntries(
            Object.entries(entries).map(([from, to]) => [from, to === null ? null : String(to)]),
          ),
        ),
    ])
    .optional()
    .describe(
      'What cells become: `{ DE: Germany, n/a: null }`, null for an empty cell; or a CSV file, relative to this file, whose first column is what a cell holds and whose second one is what it becomes. Cells are compared letter by letter, after `case`.',
    ),
  else: z
    .enum(['reject', 'keep', 'empty'])
    .optional()
    .describe(
      'What a cell becomes that `pattern` does not match or `map` does not have: the row is set aside, the cell stays as it is, or it counts as empty. Default: `reject`.',
    ),
  prefix: textSetting().optional().describe('Text before a cell that is not empty.'),
  suffix: textSetting().optional().describe('Text behind a cell that is not empty.'),
  default: z
    .union([textSetting(), z.number(), z.boolean()])
    .transform(String)
    .optional()
    .describe(
      'What is sent where the cell is empty, written as a cell. Not with `empty`, and not for the matching property.',
    ),
  phone: z
    .string()
    .regex(
      /^(?:[A-Z]{2}(?: (?:national|international))?|international)$/,
      'expected a country code of ISO 3166 such as `DE`, alone or as `DE national` or `DE international`, or `international` where every number begins with +',
    )
    .optional()
    .describe(
      'Country of telephone numbers that name none, a code of ISO 3166 such as `DE`; `international`: every number begins with +. A number without + that may also be one whose + a spreadsheet took away, such as 491701234567, is set aside; `DE national` or `DE international` says which of both it is. Numbers are sent in the form of E.164, such as `+49301234567`. Default: numbers are sent as they are.',
    ),
}
