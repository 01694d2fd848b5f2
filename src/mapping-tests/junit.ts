// The results of tests as JUnit XML, which servers of continuous integration read.

import { relative } from 'node:path'
import type { TestDifference, TestResult } from './run-tests.ts'

/** The results of one sync. */
export interface TestSuite {
  readonly sync: string
  readonly results: readonly TestResult[]
  readonly seconds: number
}

/** @param at ISO 8601 @param folder that the files of tests are named from */
export function junitXml(suites: readonly TestSuite[], at: string, folder: string): string {
  const body = suites.flatMap(({ sync, results, seconds }) => [
    `  <testsuite${attributes({
      name: sync,
      tests: results.length,
      failures: failed(results),
      errors: 0,
      skipped: 0,
      time: seconds.toFixed(3),
      timestamp: timestamp(at),
    })}>`,
    ...results.flatMap((result) => caseLines(sync, result, folder)),
    '  </testsuite>',
  ])
  const all = suites.flatMap(({ results }) => results)
  const time = suites.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3)
  return xml(body, { tests: all.length, failures: failed(all), errors: 0, time })
}

/** Where no test has run: a report of an earlier run must not be taken for this one's. */
export const junitError = (message: string, at: string): string =>
  xml(
    [
      `  <testsuite${attributes({ name: 'configuration', tests: 1, failures: 0, errors: 1, skipped: 0, time: '0.000', timestamp: timestamp(at) })}>`,
      `    <testcase${attributes({ classname: 'records-sync', name: 'the tests can run', time: '0.000' })}>`,
      `      <error${attributes({ message })}>${escaped(message)}</error>`,
      '    </testcase>',
      '  </testsuite>',
    ],
    { tests: 1, failures: 0, errors: 1, time: '0.000' },
  )

type Attributes = Readonly<Record<string, string | number>>

const xml = (body: readonly string[], totals: Attributes): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: 'records-sync test', ...totals })}>`,
    ...body,
    '</testsuites>',
    '',
  ].join('\n')

const failed = (results: readonly TestResult[]): number =>
  results.filter(({ differences }) => differences.length > 0).length

/** JUnit's times have no zone. */
const timestamp = (at: string): string => at.slice(0, 19)

function caseLines(sync: string, { test, differences }: TestResult, folder: string): string[] {
  const { name, line } = test
  const file = relative(folder, test.file)
  const head = `    <testcase${attributes({ classname: sync, name, file, line, time: '0.000' })}`
  if (differences.length === 0) return [`${head}/>`]
  const texts = differences.map(differenceText)
  return [
    `${head}>`,
    `      <failure${attributes({ message: texts[0]!, type: 'difference' })}>${escaped(texts.join('\n'))}</failure>`,
    '    </testcase>',
  ]
}

const differenceText = ({ property, column, expected, got }: TestDifference): string =>
  `${property ?? 'row'}${column === null ? '' : ` from column ${column}`}: expected ${expected}, got ${got}`

const attributes = (values: Attributes): string =>
  Object.entries(values)
    .map(([name, value]) => ` ${name}="${escaped(String(value)).replaceAll(/[\n\r\t]/g, ' ')}"`)
    .join('')

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** XML has no form for most control characters, and none for half of a surrogate pair. */
const UNKNOWN_TO_XML =
  // oxlint-disable-next-line no-control-regex -- control characters are what it finds
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/gu

const escaped = (text: string): string =>
  text.replaceAll(UNKNOWN_TO_XML, '\ufffd').replaceAll(/[&<>"]/g, (found) => ENTITIES[found]!)
