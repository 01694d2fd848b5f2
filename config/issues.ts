// Turns what the schema refuses into issues for people: the bad value, what was expected, and where.
// Promise kept here: a value that a variable filled, that may be a key or that is a URL is never shown.

import { z } from 'zod'
import type { Issue } from '../src/core/errors.ts'
import { joinWords, nearestWord, suggestWord } from '../src/core/suggest.ts'
import { stepsBelowSecret, type Path } from '../src/settings/marks.ts'
import { pathText, type ConfigDocument } from './document.ts'
import { configSchema } from './schema.ts'

type SchemaIssue = z.core.$ZodIssue

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** Here keys and passwords are written, on purpose or by mistake: where secrets are, and next to them. */
const isSecret = (path: Path): boolean =>
  ['connections', 'warehouses', 'notifications'].includes(String(path[0])) ||
  (path[0] === 'ledger' && path.length > 1) ||
  stepsBelowSecret(configSchema, path) !== undefined

/** The value at `path` of `data`; undefined if there is none. */
export function valueAt(data: unknown, path: Path): unknown {
  let value = data
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<PropertyKey, unknown>)[step]
  }
  return value
}

/** A value in a message. */
function shownValue(value: unknown, source: string | undefined): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  const text = source ?? String(value)
  if (text.includes('://')) return 'not valid'
  return `\`${quoteValue(text)}\``
}

/** A text as a message shows it: short, on one line. */
export function quoteValue(text: string): string {
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return short.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Checks `data` of the document against `schema`. */
export function validate<T extends z.ZodType>(
  schema: T,
  document: ConfigDocument,
): { output: z.output<T> } | { output: undefined; issues: Issue[] } {
  const result = schema.safeParse(document.data, { error: ownMessage })
  return result.success
    ? { output: result.data }
    : { output: undefined, issues: issuesOf(result.error.issues, document, []) }
}

/**
 * Messages for settings that have none of their own. Only here is the shape known that an unknown key was written in: the keys of
 * that shape, and those of the settings in it as `setting.key`, travel as the issue's message, one per line.
 */
const ownMessage: z.core.$ZodErrorMap = (problem) => {
  if (problem.code === 'unrecognized_keys')
    return [...keysOf(problem.inst), ...nestedKeysOf(problem.inst)].join('\n')
  if (problem.code === 'too_small' && problem.origin === 'array')
    return `expected a list of at least ${problem.minimum}`
  return undefined
}

/** The keys of a mapping with settings, or with names of a fixed set. */
const keysOf = (inst: unknown): readonly string[] =>
  inst instanceof z.ZodRecord
    ? (inst.keyType as z.ZodEnum<Record<string, string>>).options
    : Object.keys((inst as z.ZodObject).shape)

/** `setting.key` of the settings that are mappings themselves: a key of theirs may stand one level too far left. */
function nestedKeysOf(inst: unknown): readonly string[] {
  if (!(inst instanceof z.ZodObject)) return []
  return Object.entries(inst.shape as Readonly<Record<string, unknown>>).flatMap(
    ([name, setting]) => {
      const inner = setting instanceof z.ZodOptional ? (setting.unwrap() as unknown) : setting
      return inner instanceof z.ZodObject ? keysOf(inner).map((key) => `${name}.${key}`) : []
    },
  )
}

/** The issues of a failed validation, one per wrong value or key. */
function issuesOf(
  problems: readonly SchemaIssue[],
  document: ConfigDocument,
  parent: Path,
): Issue[] {
  return problems.flatMap((problem) => {
    const path = [...parent, ...problem.path]
    if (problem.code === 'unrecognized_keys')
      return problem.keys.map((key) => unknownKey(key, path, document, problem.message.split('\n')))
    if (valueAt(document.data, path) === undefined) {
      const place = path.length > 1 ? ` in \`${pathText(path.slice(0, -1))}\`` : ''
      return [at(path, document, `missing key \`${String(path.at(-1))}\`${place}`)]
    }
    if (problem.code === 'invalid_union') {
      // The form that was meant is the one whose own kind fits; if several fit, the one with the fewest wrong keys. A list or a
      // mapping is no word.
      const [meant] = problem.errors
        .filter((errors) =>
          errors.every((one) => one.path.length > 0 || one.code !== 'invalid_type'),
        )
        .toSorted(
          (a, b) => Number(isWordForm(a)) - Number(isWordForm(b)) || wrongKeys(a) - wrongKeys(b),
        )
      // The setting takes one of a few words or another kind of value: all of them were possible.
      if (meant && !isWordForm(meant)) return issuesOf(meant, document, path)
      return [
        at(path, document, wrong(path, document, `expected ${kindsOf(problem.errors.flat())}`)),
      ]
    }
    if (problem.code === 'invalid_key') {
      const name = String(problem.path.at(-1))
      const message = `\`${quoteValue(name)}\`: ${problem.issues[0]?.message ?? 'not a valid name'}`
      return [at(path, document, message, 'key')]
    }
    return [
      at(path, document, wrong(path, document, expectation(problem, valueAt(document.data, path)))),
    ]
  })
}

/** What the value should have been, if it is of none of these kinds. */
const kindsOf = (problems: readonly SchemaIssue[]): string =>
  [
    ...new Set(
      problems.map((one) => {
        if (isWordOf(one)) return joinWords(one.values.map(String))
        return one.code === 'invalid_type' ? kinds[one.expected] : undefined
      }),
    ),
  ].join(' or ')

/** Whether the value itself should have been one of some words. */
const isWordOf = (problem: SchemaIssue): problem is z.core.$ZodIssueInvalidValue =>
  problem.code === 'invalid_value' && problem.path.length === 0

/** Whether that alone is wrong: the form is a few words. */
const isWordForm = (problems: readonly SchemaIssue[]): boolean =>
  problems.length === 1 && isWordOf(problems[0]!)

/** Keys that are missing, unknown or hold something wrong. */
const wrongKeys = (problems: readonly SchemaIssue[]): number =>
  problems.reduce((sum, one) => sum + (one.code === 'unrecognized_keys' ? one.keys.length : 1), 0)

function at(
  path: Path,
  document: ConfigDocument,
  message: string,
  place: 'key' | 'value' = 'value',
): Issue {
  return { message, path: pathText(path), ...document.place(path, place) }
}

function wrong(path: Path, document: ConfigDocument, expected: string): string {
  const value = valueAt(document.data, path)
  const shown =
    isSecret(path) && typeof value !== 'object'
      ? 'not valid'
      : shownValue(value, document.source(path))
  return `\`${pathText(path)}\` is ${shown}; ${expected}`
}

function expectation(problem: SchemaIssue, value: unknown): string {
  if (problem.code === 'invalid_value') {
    const values = problem.values.map(String)
    const near = typeof value === 'string' ? nearestWord(value, values) : undefined
    const hint = near === undefined ? '' : `; did you mean \`${near}\`?`
    return `expected one of ${joinWords(values)}${hint}`
  }
  if (problem.code !== 'invalid_type') return problem.message
  const kind = kinds[problem.expected] ?? problem.expected
  const quote = problem.expected === 'string' && ['number', 'boolean'].includes(typeof value)
  return quote ? `expected ${kind}; put it in quotes` : `expected ${kind}`
}

function unknownKey(
  key: string,
  parent: Path,
  document: ConfigDocument,
  known: readonly string[],
): Issue {
  const valid = known.filter((one) => !one.includes('.'))
  // A key of the service may have been pasted in the place of a setting's name.
  const hidden = isSecret(parent) && parent.length > 1 && !/^[a-z_]{1,24}$/.test(key)
  const message = hidden
    ? `unknown key; valid keys: ${joinWords(valid)}`
    : `unknown key \`${quoteValue(key)}\`${outerOf(key, parent, document, known) ?? suggestWord(key, valid, 'valid keys')}`
  return {
    ...at([...parent, key], document, message, 'key'),
    path: pathText(hidden ? parent : [...parent, key]),
  }
}

/** Where a key belongs that a setting next to it takes. */
function outerOf(
  key: string,
  parent: Path,
  document: ConfigDocument,
  known: readonly string[],
): string | null {
  const outer = known
    .filter((one) => one.endsWith(`.${key}`))
    .map((one) => one.slice(0, -key.length - 1))
    .find((name) => valueAt(document.data, [...parent, name]) !== undefined)
  return outer === undefined ? null : `; it is a key of \`${outer}\`: indent it further`
}
