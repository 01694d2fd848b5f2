// Reads the golden exchanges (test/golden/README.md), the examples of the OpenAPI document among them, and compares an answer
// with what was written by hand.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OPERATIONS, type OperationId } from '../../src/contract/index.ts'
import type { FaultKind } from '../../src/service/index.ts'

export interface GoldenRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** A body that is not JSON. */
  readonly raw?: string
  /** Values to keep, by JSON pointer into the answer's body. */
  readonly as?: Readonly<Record<string, string>>
}

export interface Exchange {
  readonly operation: OperationId
  /** Its name in the OpenAPI document, if it is an example there. */
  readonly example?: string
  readonly title: string
  readonly source: string
  readonly key?: 'full' | 'none' | 'unknown' | 'reader'
  readonly limit?: number
  /** False: exchange rates are unavailable. */
  readonly rates?: boolean
  /** A fault that the request meets. */
  readonly fault?: FaultKind
  readonly client?: string
  readonly only?: string
  readonly given?: readonly GoldenRequest[]
  readonly request: GoldenRequest
  readonly response: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
  }
}

const folder = fileURLToPath(new URL('./', import.meta.url))

type Written = Omit<Exchange, 'operation'>

const exampleFile = new URL('../../src/service/openapi/examples.json', import.meta.url)
/** Those of the OpenAPI document. */
export const exampleExchanges: readonly Exchange[] = Object.entries(
  JSON.parse(readFileSync(exampleFile, 'utf8')) as Record<OperationId, Written[]>,
).flatMap(([operation, cases]) =>
  cases.map((exchange) => ({ operation: operation as OperationId, ...exchange })),
)

const others: readonly Exchange[] = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .toSorted()
  .flatMap((name) => {
    const operation = name.replace('.json', '') as OperationId
    if (!(operation in OPERATIONS)) throw new Error(`golden file of no operation: ${name}`)
    const cases = JSON.parse(readFileSync(`${folder}${name}`, 'utf8')) as Written[]
    return cases.map((exchange) => ({ operation, ...exchange }))
  })

export const exchanges: readonly Exchange[] = [...exampleExchanges, ...others]

/** The value at a JSON pointer. */
export const at = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((current, step) => (current as Record<string, unknown>)[step], value)

/** Puts kept values in the place of `{{as:name}}`. */
export function filled<Value>(value: Value, kept: ReadonlyMap<string, string>): Value {
  const text = JSON.stringify(value)
  if (text === undefined) return value
  return JSON.parse(
    text.replaceAll(/\{\{as:(\w+)\}\}/g, (_, name: string) =>
      JSON.stringify(kept.get(name) ?? '').slice(1, -1),
    ),
  ) as Value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What differs between an answer and the written one; nothing where it fits. */
export function differencesOf(
  expected: unknown,
  actual: unknown,
  only: string | undefined,
  path = '',
): string[] {
  const differs = () => [
    `${path || '/'}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`,
  ]
  if (expected === '{{any}}') return actual === undefined ? differs() : []
  if (expected === '{{string}}') return typeof actual === 'string' && actual !== '' ? [] : differs()
  if (expected === '{{digits}}') return /^\d+$/.test(String(actual)) ? [] : differs()
  if (expected === '{{string or null}}')
    return actual === null || typeof actual === 'string' ? [] : differs()
  if (expected === '{{boolean}}') return typeof actual === 'boolean' ? [] : differs()
  if (expected === '{{list}}') return Array.isArray(actual) ? [] : differs()
  if (expected === '{{integer}}') return Number.isInteger(actual) ? [] : differs()
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return differs()
    if (only !== undefined && isObject(expected[0]) && only in expected[0])
      return expected.flatMap((element: Record<string, unknown>) =>
        differencesOf(
          element,
          actual.find((candidate: Record<string, unknown>) => candidate[only] === element[only]),
          only,
          `${path}/${String(element[only])}`,
        ),
      )
    if (actual.length !== expected.length) return differs()
    return expected.flatMap((element, index) =>
      differencesOf(element, actual[index], only, `${path}/${index}`),
    )
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return differs()
    return Object.keys(expected).flatMap((name) =>
      differencesOf(expected[name], actual[name], only, `${path}/${name}`),
    )
  }
  return Object.is(expected, actual) ? [] : differs()
}
