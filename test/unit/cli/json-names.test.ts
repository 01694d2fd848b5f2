// The names of the JSON output: the compiler refuses one that the list does not have, and nothing is printed past it.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { COMMON_JSON_NAMES, OTHER_JSON_NAMES } from '../../../src/cli/json-names.ts'
import { printJson } from '../../../src/cli/json.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${root}docs/command-line.md`, 'utf8')
const names: readonly string[] = [...Object.keys(COMMON_JSON_NAMES), ...OTHER_JSON_NAMES]

const printed = (print: (terminal: { out(line?: string): void }) => void): string => {
  const lines: string[] = []
  print({ out: (line = '') => void lines.push(line) })
  return lines.join('\n')
}

test('each name is there once, in snake_case', () => {
  expect(names.filter((name) => !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))).toEqual([])
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})

test('the page explains the names that programs meet most', () => {
  for (const [name, meaning] of Object.entries(COMMON_JSON_NAMES))
    expect(page).toContain(`| \`${name}\` | ${meaning} |`)
})

test('the compiler refuses a name that is not in the list, at every depth', () => {
  const lines = printed((terminal) => {
    printJson(terminal, { run: 1, states: { created: 2 }, warnings: ['none'] })
    // @ts-expect-error: not in the list
    printJson(terminal, { runNumber: 1 })
    // @ts-expect-error: not in the list
    printJson(terminal, { run: 1, errors: [{ code: 'a', howMany: 2 }] })
    const columns: Record<string, number> = { howMany: 2 }
    printJson(terminal, columns)
  })
  expect(lines.split('\n')).toHaveLength(4)
})

test('every name of the schema of show and report is in the list', () => {
  const found = new Set<string>()
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, below] of Object.entries(value)) {
      if (key === 'properties') Object.keys(below as object).forEach((name) => found.add(name))
      walk(below)
    }
  }
  walk(JSON.parse(readFileSync(`${root}docs/run-report.schema.json`, 'utf8')))
  const all = new Set(names)
  expect(found.size).toBeGreaterThan(100)
  expect([...found].filter((name) => !all.has(name))).toEqual([])
})

/** Where JSON is no output of a command. */
const NO_OUTPUT: Readonly<Record<string, number>> = {
  'json.ts': 1,
  // The refusal of a command line, printed where commander has failed.
  'main.ts': 1,
  // Comparisons, keys of maps, lengths, and quotes in messages.
  'views/live-runs.ts': 1,
  'commands/init-service.ts': 1,
  'commands/links.ts': 2,
  'commands/rejects.ts': 1,
  'commands/sql.ts': 1,
}

test('JSON is printed in one place', () => {
  const folder = `${root}src/cli/`
  const counts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => {
      const text = readFileSync(folder + name, 'utf8')
      // In a text: quotes around what a person wrote.
      const all = text.split('JSON.stringify(').length - text.split('${JSON.stringify(').length
      return [name, name === 'main.ts' ? text.split('JSON.stringify(').length - 1 : all] as const
    })
    .filter(([, count]) => count > 0)
  expect(Object.fromEntries(counts)).toEqual(NO_OUTPUT)
})
