// Runs the tests of a mapping: each row goes through the compiled mapping of the import itself, and what would be sent, or why it would
// not, is compared with what is expected.

import type { ImportConfig } from '../../config/index.ts'
import { mappedColumns } from '../core/domain/mapped-columns.ts'
import { parseJson, type Json } from '../core/json.ts'
import type { compileMapping } from '../import/index.ts'
import type { CellError, StagedItem } from '../ledger/ledger.ts'
import { isAsExpected, shownValue } from './expected-value.ts'
import type { ExpectedError, MappingTest } from './mapping-test.ts'

/** A row that maps. */
const ACCEPTED = '(accepted)'
/** The row asks for the deletion of its record. */
const WITHDRAWN = 'withdrawn'
/** Nothing, or nothing more, is wrong with the row. */
const NO_ERROR = '(no such error)'
const NO_OTHER = '(nothing else wrong)'

/** Something that is otherwise than expected. */
export interface TestDifference {
  /** Null: the whole row. */
  readonly property: string | null
  /** The column that it comes from; null: none. */
  readonly column: string | null
  readonly expected: string
  readonly got: string
}

export interface TestResult {
  readonly test: MappingTest
  /** None: the test has passed. */
  readonly differences: readonly TestDifference[]
}

type Mapping = Pick<ReturnType<typeof compileMapping>, 'map' | 'schema'>

/** @param mapping of `config` */
export const runMappingTests = (
  tests: readonly MappingTest[],
  config: ImportConfig,
  mapping: Mapping,
): TestResult[] =>
  tests.map((test) => ({ test, differences: differencesOf(test, config, mapping) }))

function differencesOf(
  test: MappingTest,
  config: ImportConfig,
  { map, schema }: Mapping,
): TestDifference[] {
  const item = map(test.row)
  if (item.valid && item.withdrawn) {
    const asked: CellError = {
      reason: WITHDRAWN,
      column: config.delete_when?.column ?? null,
      field: null,
      value: null,
      detail: 'the row asks for the deletion of its record (delete_when)',
    }
    return test.values === null
      ? errorDifferences(test.errors, [asked])
      : [{ property: null, column: asked.column, expected: ACCEPTED, got: foundText(asked) }]
  }
  if (test.values === null)
    return item.valid
      ? [{ property: null, column: null, expected: errorsText(test.errors), got: ACCEPTED }]
      : errorDifferences(test.errors, errorsOf(item))
  if (!item.valid) {
    const { values } = test
    return errorsOf(item).map((error) => ({
      property: error.field,
      column: error.column,
      expected:
        error.field !== null && values.has(error.field)
          ? shownValue(values.get(error.field))
          : ACCEPTED,
      got: foundText(error),
    }))
  }
  const { properties: sent } = parseJson(item.payload) as { properties: Record<string, Json> }
  return [...test.values].flatMap(([property, expected]) => {
    const value = Object.hasOwn(sent, property) ? sent[property] : undefined
    const mapping = config.properties[property]!
    const { split } = mapping
    const [column = null] = mappedColumns(mapping)
    const type = schema[property]!.type
    if (isAsExpected(value, expected, { type, split })) return []
    return [
      {
        property,
        column,
        expected: shownValue(expected),
        got: shownValue(value),
      },
    ]
  })
}

const errorsOf = (item: StagedItem & { readonly valid: false }): readonly CellError[] => [
  item,
  ...(item.more ?? []),
]

/** Each error is expected once, and each expected one is found. */
function errorDifferences(
  expected: readonly ExpectedError[],
  found: readonly CellError[],
): TestDifference[] {
  const others = [...found]
  const missing = expected.filter((error) => {
    const at = others.findIndex((one) => isMeant(error, one))
    if (at >= 0) others.splice(at, 1)
    return at < 0
  })
  return Array.from({ length: Math.max(missing.length, others.length) }, (_, at) => {
    const [wanted, other] = [missing[at], others[at]]
    return {
      property: other?.field ?? null,
      column: other?.column ?? null,
      expected: wanted === undefined ? NO_OTHER : errorsText([wanted]),
      got: other === undefined ? NO_ERROR : foundText(other),
    }
  })
}

const isMeant = ({ reason, where }: ExpectedError, found: CellError): boolean =>
  reason === found.reason && (where === null || where === found.column || where === found.field)

const errorsText = (errors: readonly ExpectedError[]): string =>
  `reject: ${errors.map(({ reason, where }) => (where === null ? reason : `${reason} in ${where}`)).join('; ')}`

const foundText = ({ reason, column, detail }: CellError): string =>
  `reject: ${reason}${column === null ? '' : ` in ${column}`}: ${detail}`
