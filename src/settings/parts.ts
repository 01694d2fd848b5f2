// Shapes of settings that several parts of records-sync.yaml share.

import { z } from 'zod'
import { marked, type Mark } from './marks.ts'

/** Where a secret is: a variable of the environment, a file (absolute path), or a shell command that prints it. */
export type SecretSource =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: string }
/** The forms of the place of a secret. */
export const SECRET_FORMS = ['env', 'file', 'command'] as const

/** Names of syncs and connections. */
const NAME = /^[a-z][a-z0-9_]{0,62}$/
/** A secret given as a variable of the environment. */
const SECRET_VARIABLE = /^\$\{([A-Za-z_]\w*)\}$/
const nameExpected =
  'expected a name of a-z, 0-9 and _ that begins with a letter, at most 63 characters'

export const textSetting = () => z.string().min(1, 'expected a text that is not empty')
/** `except`: a word that is no path. */
export const pathSetting = ({
  expected = 'expected the path of a file, not a URL',
  except,
  isKey,
}: { readonly expected?: string; readonly except?: string; readonly isKey?: true } = {}) =>
  marked(
    textSetting().refine((path) => !/^[a-z][a-z0-9+.-]+:\/\//i.test(path), expected),
    { is: 'path', except, isKey },
  )
/** The path of a file that holds a key: no query reads it. */
export const keyFile = () => pathSetting({ isKey: true })
/** The name of a member of that section. */
export const nameOf = (section: (Mark & { is: 'name' })['of']) =>
  marked(textSetting(), { is: 'name', of: section })
export const namedMap = <T extends z.ZodType>(value: T) =>
  z.record(z.string().regex(NAME, nameExpected), value)
export const emptySetting = () => z.enum(['omit', 'clear', 'reject'])
export const nameList = (name: z.ZodString = textSetting()) =>
  z.array(name).refine((list) => new Set(list).size === list.length, 'expected each name once')
export const schemaName = () =>
  z
    .string()
    .regex(
      /^[a-z_][a-z0-9_]{0,62}$/,
      'expected a name of a-z, 0-9 and _ that does not begin with a digit, at most 63 characters',
    )
export const textList = () => z.array(textSetting()).min(1, 'expected at least one word')

/** `host:port`; an IPv6 address is in brackets. */
export const hostPort = (expected: string) =>
  z.string().regex(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, expected)

/** Where a secret is; `instead` says what to write if the setting holds the secret itself. */
export const secretPlace = (what: string, instead: string) =>
  marked(
    z
      .union([
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
      // With none or two of the forms the configuration is refused.
      .transform((place) =>
        typeof place === 'string'
          ? { env: SECRET_VARIABLE.exec(place)![1]! }
          : (place as SecretSource),
      ),
    { is: 'secret', what },
  )

export const countSetting = (min: number) =>
  z.number().int().min(min, `expected a number of at least ${min}`)

export const betweenNumbers = (min: number, max: number) => {
  const expected = `expected a number from ${min} to ${max}`
  return z.number().min(min, expected).max(max, expected)
}
