// Shapes of settings that several parts of records-sync.yaml share.

import { z } from 'zod'

/** Names of syncs and connections. */
export const NAME = /^[a-z][a-z0-9_]{0,62}$/
/** A secret given as a variable of the environment. */
export const SECRET_VARIABLE = /^\$\{([A-Za-z_]\w*)\}$/
const nameExpected =
  'expected a name of a-z, 0-9 and _ that begins with a letter, at most 63 characters'

export const textSetting = () => z.string().min(1, 'expected a text that is not empty')
export const pathSetting = (expected = 'expected the path of a file, not a URL') =>
  textSetting().refine((path) => !/^[a-z][a-z0-9+.-]+:\/\//i.test(path), expected)
export const namedMap = <T extends z.ZodType>(value: T) =>
  z.record(z.string().regex(NAME, nameExpected), value)
export const emptySetting = () => z.enum(['omit', 'clear', 'reject'])
export const nameList = () =>
  z
    .array(textSetting())
    .refine((list) => new Set(list).size === list.length, 'expected each name once')
export const schemaName = () =>
  z
    .string()
    .regex(
      /^[a-z_][a-z0-9_]{0,62}$/,
      'expected a name of a-z, 0-9 and _ that does not begin with a digit, at most 63 characters',
    )
export const textList = () => z.array(textSetting()).min(1, 'expected at least one word')

/** Where a secret is; `instead` says what to write if the setting holds the secret itself. */
export const secretPlace = (what: string, instead: string) =>
  z.union([
    z.string().regex(SECRET_VARIABLE, instead),
    z.strictObject({
      env: z
        .string()
        .regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable')
        .optional()
        .describe(`Environment variable that holds the ${what}.`),
      file: pathSetting()
        .optional()
        .describe(
          `File that holds the ${what}, relative to this file; only its owner may read it.`,
        ),
      command: textSetting()
        .optional()
        .describe(`Shell command that prints the ${what} within 10 seconds.`),
    }),
  ])

export const betweenNumbers = (min: number, max: number) => {
  const expected = `expected a number from ${min} to ${max}`
  return z.number().min(min, expected).max(max, expected)
}
