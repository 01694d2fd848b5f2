// The results of `records-sync test` for a person: what has failed with each difference, and how old the schema is.

import { relative } from 'node:path'
import {
  schemaAgeText,
  type SavedSchema,
  type TestResult,
  type TestSuite,
} from '../../mapping-tests/index.ts'
import {
  countText,
  formatNumber,
  printWrapped,
  safeText,
  table,
  type Terminal,
} from '../shared/terminal.ts'

/** Of one sync; --json and --junit have all of them. */
const PASSED_SHOWN = 20
const FAILED_SHOWN = 50
const INDENT = 8

interface ShownTests {
  readonly file: string
  readonly schema: SavedSchema
  readonly suites: readonly TestSuite[]
  readonly warnings: readonly string[]
  readonly days: number
}

export function printTests(terminal: Terminal, shown: ShownTests): void {
  const { suites, warnings } = shown
  for (const { sync, results } of suites) printSuite(terminal, sync, results)
  const all = suites.flatMap(({ results }) => results)
  const failed = all.filter(hasFailed).length
  terminal.out(
    terminal.style(
      failed === 0 ? 'green' : 'red',
      `${countText(all.length, 'test')}: ${formatNumber(all.length - failed)} passed, ${formatNumber(failed)} failed`,
    ),
  )
  printWrapped(terminal, schemaText(shown))
  for (const warning of warnings)
    printWrapped(terminal, `warning: ${safeText(warning, 1_000)}`, { style: 'yellow' })
}

const hasFailed = ({ differences }: TestResult): boolean => differences.length > 0

/** `Schema of https://crm.example, org 1, saved 3 days ago, at 2026-11-20 08:15 UTC: records-sync.service-schema.json` */
function schemaText({ file, schema, days }: ShownTests): string {
  const services = Object.values(schema.connections).map(
    ({ service, self }) => `${service}, org ${self.org_id}`,
  )
  const at = schema.saved_at.slice(0, 16).replace('T', ' ')
  const from = [...new Set(services)].join('; ')
  return `Schema of ${safeText(from, 300)}, saved ${schemaAgeText(days)}, at ${at} UTC: ${relative(process.cwd(), file)}`
}

function printSuite(terminal: Terminal, sync: string, results: readonly TestResult[]): void {
  terminal.out(terminal.style('bold', sync))
  const failed = results.filter(hasFailed)
  const passed = results.filter((result) => !hasFailed(result))
  const shown = new Set([...failed.slice(0, FAILED_SHOWN), ...passed.slice(0, PASSED_SHOWN)])
  for (const result of results) if (shown.has(result)) printResult(terminal, result)
  const left = [
    ...(failed.length > FAILED_SHOWN
      ? [`${formatNumber(failed.length - FAILED_SHOWN)} more failed (--json has all of them)`]
      : []),
    ...(passed.length > PASSED_SHOWN
      ? [`${formatNumber(passed.length - PASSED_SHOWN)} more passed`]
      : []),
  ]
  if (left.length > 0) terminal.out(`  and ${left.join(', ')}`)
}

function printResult(terminal: Terminal, { test, differences }: TestResult): void {
  const state =
    differences.length === 0 ? terminal.style('green', 'passed') : terminal.style('red', 'failed')
  const place = `${relative(process.cwd(), test.file)}:${test.line}`
  const where = differences.length === 0 ? '' : ` (${place})`
  printWrapped(terminal, `${safeText(test.name, 300)}${where}`, {
    indent: INDENT,
    head: `${state}  `,
  })
  if (differences.length === 0) return
  const rows = differences.map(({ property, column, expected, got }) =>
    [property, expected, got, column].map((cell) => (cell === null ? null : safeText(cell, 300))),
  )
  for (const line of table(['property', 'expected', 'got', 'column'], rows).split('\n'))
    terminal.out(`${' '.repeat(INDENT)}${line}`)
}
