// Settings of the tests of a mapping, which its owner writes next to it.

import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '../src/core/json.ts'
import { marked, type ChoicePart } from '../src/settings/marks.ts'
import { pathSetting, textSetting } from '../src/settings/parts.ts'

/** How a test says that a property is left out of what is sent. */
export const NOT_SENT = '(not sent)'
/** How a test says that a property is cleared: null is sent. */
export const CLEARED = '(cleared)'

const rowTest = {
  name: textSetting()
    .optional()
    .describe('What the test shows, in a few words. Each test of a sync has a name of its own.'),
  row: z
    .record(textSetting(), z.custom<Json>())
    .optional()
    .describe(
      'Cells by column. A column that is left out is an empty cell. Exactly one of `row` and `file`.',
    ),
  expect: z
    .record(textSetting(), z.custom<Json>())
    .optional()
    .describe(
      `The values that are sent, by property; \`${NOT_SENT}\` and \`${CLEARED}\` for none. Properties that are left out are not compared. Exactly one of \`expect\` and \`reject\`.`,
    ),
  reject: z
    .union([textSetting(), z.array(textSetting()).min(1)])
    .optional()
    .describe(
      'Why the row is set aside: a reason such as `not_a_date`, or `not_a_date in COLUMN`; a list where several things are wrong.',
    ),
}

const fileTests = {
  file: pathSetting()
    .optional()
    .describe(
      'CSV file with a test in each row: the columns of the source, `expect PROPERTY` for each property that is compared, `reject` and `test` (the name) where they are wanted.',
    ),
}

const FORMS: readonly ChoicePart[] = [
  {
    name: 'row',
    settings: rowTest,
    needs: ['name'],
    check(given, complain) {
      if (Object.hasOwn(given, 'expect') === Object.hasOwn(given, 'reject'))
        complain([], 'expected exactly one of `expect` and `reject`')
      if (!isJsonObject(given['expect'])) return
      for (const [property, value] of Object.entries(given['expect']))
        if (value === null)
          complain(
            ['expect', property],
            `no value is expected here: write \`${NOT_SENT}\` if the property is left alone, \`${CLEARED}\` if it is cleared`,
          )
    },
  },
  { name: 'file', settings: fileTests },
]

export const testSettings = z.array(
  marked(z.strictObject({ ...rowTest, ...fileTests }), { is: 'choice', among: FORMS }),
)

/** Names that more than one test of a list has, and where the second one is. */
export function repeatedNames(tests: readonly JsonObject[]): { name: string; index: number }[] {
  const names = tests.map(({ name }) => name)
  return names.flatMap((name, index) =>
    typeof name === 'string' && names.indexOf(name) < index ? [{ name, index }] : [],
  )
}
