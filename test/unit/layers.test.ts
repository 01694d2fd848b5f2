// Who may import whom (the table of layers in src/README.md), read from the import statements themselves.
// Promise kept here: a breach in any TypeScript file of the product makes this test fail and is named.

import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

interface Layer {
  /** Layers it may import, besides itself. */
  readonly imports: readonly string[]
  /** Layers it may name in `import type` only. */
  readonly types: readonly string[]
  readonly packages: readonly string[]
  /** Whether Node's own modules may be imported. */
  readonly builtins: boolean
}

const words = (text: string) => text.split(' ').filter((word) => word !== '')

/** "everything" is every layer but `cli`, which nobody imports. */
const everything = words(
  'core contract client service sources warehouses ledger import mirror config activities workflows dev worker',
)

const layer = (imports: string, types: string, packages: string, builtins = true): Layer => ({
  imports: imports === 'everything' ? everything : words(imports),
  types: types === 'everything' ? everything : words(types),
  packages: words(packages),
  builtins,
})

const LAYERS: Readonly<Record<string, Layer>> = {
  core: layer('', '', '', false),
  contract: layer('core', '', 'zod'),
  client: layer('core contract', '', 'undici'),
  service: layer('core contract', '', 'fastify @photostructure/sqlite zod'),
  sources: layer('core contract warehouses', 'client', ''),
  warehouses: layer('core contract', 'client', ''),
  ledger: layer('core contract', 'client', ''),
  import: layer('core contract', 'client sources warehouses ledger', ''),
  mirror: layer('core contract', 'client sources warehouses ledger', ''),
  config: layer('core contract', '', 'yaml zod'),
  activities: layer('core import mirror', 'everything', '@temporalio/activity @temporalio/common'),
  workflows: layer('core', 'activities', '@temporalio/workflow @temporalio/common zod', false),
  dev: layer('everything', '', '@temporalio/worker @temporalio/client'),
  worker: layer('everything', '', '@temporalio/worker @temporalio/client'),
  cli: layer('everything', '', 'commander pino @temporalio/client @temporalio/envconfig'),
}

/** Packages that one folder has to itself, within its layer. */
const FOLDER_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'src/sources/csv': ['csv-parse'],
  'src/ledger/sqlite': ['@photostructure/sqlite'],
  'src/ledger/postgres': ['pg'],
  'src/warehouses/duckdb': ['@duckdb/node-api'],
  'src/warehouses/postgres': ['pg'],
}

const FOLDERS = ['src', 'config', 'workflows', 'activities']

interface Import {
  readonly specifier: string
  readonly typeOnly: boolean
}

const staticImport =
  /^(?:import\s+(?:(type)\s+(?!from\b))?(?:[\w$*{][^'"]*?\bfrom\s*)?|import\s*|export\s+(?:(type)\s+)?(?:\*(?:\s+as\s+[\w$]+)?|\{[^}'"]*\})\s*from\s*)(['"])([^'"\n]+)\3/gm
const staticStart = /^(?:import\b(?!\s*[(.])|export\b[^'"=()]*?\bfrom\s*['"])/gm
const dynamicImport = /\bimport\s*\(\s*(?:(['"])([^'"\n]+)\1\s*[,)])?/g
const otherLoaders = /\bcreateRequire\b|\bgetBuiltinModule\b|\brequire\s*\(/

/**
 * Every import of a formatted file, where statements begin in the first column. `import { type A }` counts as an import
 * of values, because the compiler keeps it. What looks like an import in a comment counts too.
 * @throws Error for an import that it cannot read, so that none is missed
 */
function importsOf(text: string): Import[] {
  const found: Import[] = []
  for (const match of text.matchAll(staticImport)) {
    found.push({ specifier: match[4]!, typeOnly: (match[1] ?? match[2]) !== undefined })
  }
  const begun = [...text.matchAll(staticStart)].length
  if (begun !== found.length) throw new Error(`${begun - found.length} imports cannot be read`)
  for (const match of text.matchAll(dynamicImport)) {
    if (match[2] === undefined) throw new Error('import() of something other than a plain string')
    found.push({ specifier: match[2], typeOnly: false })
  }
  if (otherLoaders.test(text)) throw new Error('loads modules by other means than import')
  return found
}

/** The layer of a file of the repository, by its path: `src/core/json.ts` is `core`. */
function layerOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  return first === 'src' ? path.basename(second, '.ts') : first
}

/** What `file` imports against the table, in words; empty where all is well. */
function breachesOf(file: string, text: string): string[] {
  const name = layerOf(file)
  const own = LAYERS[name]
  if (own === undefined) return [`${file} is in no layer`]
  let imports: Import[]
  try {
    imports = importsOf(text)
  } catch (error) {
    return [`${file}: ${(error as Error).message}`]
  }
  const folder = Object.keys(FOLDER_PACKAGES).find((key) => file.startsWith(`${key}/`))
  const packages = [...own.packages, ...(folder === undefined ? [] : FOLDER_PACKAGES[folder]!)]

  const isAllowed = ({ specifier, typeOnly }: Import): boolean => {
    if (isBuiltin(specifier)) return own.builtins
    if (!specifier.startsWith('.')) return packages.includes(packageOf(specifier))
    const target = layerOf(path.posix.join(path.posix.dirname(file), specifier))
    return (
      target === name || own.imports.includes(target) || (typeOnly && own.types.includes(target))
    )
  }
  return imports
    .filter((one) => !isAllowed(one))
    .map((one) => `${file} imports ${one.typeOnly ? 'types of ' : ''}${one.specifier}`)
}

/** `@temporalio/common/lib/x` is of the package `@temporalio/common`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

const root = path.resolve(import.meta.dirname, '../..')
const files = FOLDERS.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => path.posix.join(folder, name.replaceAll(path.sep, '/'))),
)

describe('layers', () => {
  test('no file of the product imports what its layer may not', () => {
    expect(files.length).toBeGreaterThan(20)
    const all = files.map((file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }))
    expect(all.flatMap(({ file, text }) => breachesOf(file, text))).toEqual([])
  })

  test('the scan reads imports in every folder, and in most files', () => {
    const read = files.filter(
      (file) => importsOf(readFileSync(path.join(root, file), 'utf8')).length > 0,
    )
    expect(new Set(read.map((file) => file.split('/')[0]))).toEqual(new Set(FOLDERS))
    expect(read.length).toBeGreaterThan(files.length / 2)
  })
})

describe('the scan', () => {
  test.each<[string, Import[]]>([
    ["import a from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["import 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["import * as a from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ['import a, {\n  b,\n} from "x"', [{ specifier: 'x', typeOnly: false }]],
    ["import type { A } from 'x'", [{ specifier: 'x', typeOnly: true }]],
    ["import type A from 'x'", [{ specifier: 'x', typeOnly: true }]],
    ["import type from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["import { type A } from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["import data from 'x' with { type: 'json' }", [{ specifier: 'x', typeOnly: false }]],
    ["export * from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["export * as a from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["export {\n  a,\n} from 'x'", [{ specifier: 'x', typeOnly: false }]],
    ["export type { A } from 'x'", [{ specifier: 'x', typeOnly: true }]],
    ["  const { a } = await import('x')", [{ specifier: 'x', typeOnly: false }]],
    ["export const a = 'from'\nexport const b = import.meta.url\nconst c = [...'x']", []],
    [
      "import type { A } from 'x'\nimport { b } from 'y'\n\nexport const c = 'z'",
      [
        { specifier: 'x', typeOnly: true },
        { specifier: 'y', typeOnly: false },
      ],
    ],
  ])('%j', (text, expected) => {
    expect(importsOf(text)).toEqual(expected)
  })

  test.each([
    "import {\n  a, // not 'b'\n} from 'x'",
    'const a = await import(name)',
    'const a = await import(`x`)',
    "const a = require('x')",
    'const load = createRequire(import.meta.url)',
  ])('refuses what it cannot read: %j', (text) => {
    expect(() => importsOf(text)).toThrow()
  })
})

describe('a breach is found', () => {
  test.each([
    ['src/core/json.ts', "import { z } from 'zod'"],
    ['src/core/json.ts', "import { Problem } from '../contract/index.ts'"],
    ['src/core/json.ts', "import type { Problem } from '../contract/index.ts'"],
    ['src/core/json.ts', "import { createHash } from 'node:crypto'"],
    ['src/core/json.ts', "import { createHash } from 'crypto'"],
    ['src/service/http.ts', "import type { RecordsClient } from '../client/index.ts'"],
    ['src/service/handlers/reads.ts', "import { call } from '../../client/call.ts'"],
    ['src/client/call.ts', "import { startService } from '../service/index.ts'"],
    ['src/client/call.ts', "import { z } from 'zod'"],
    ['src/service/http.ts', "import { Pool } from 'undici'"],
    ['src/import/push.ts', "import { createClient } from '../client/index.ts'"],
    ['src/import/push.ts', "import { type RecordsClient } from '../client/index.ts'"],
    ['src/import/open.ts', "  const { openCsv } = await import('../sources/csv/index.ts')"],
    ['src/sources/records.ts', "import { parse } from 'csv-parse'"],
    ['src/sources/csv-other/index.ts', "import { parse } from 'csv-parse'"],
    ['src/ledger/postgres/index.ts', "import { DatabaseSync } from '@photostructure/sqlite'"],
    ['workflows/import.ts', "import { createActivities } from '../activities/index.ts'"],
    ['workflows/import.ts', "import fs from 'node:fs'"],
    ['activities/index.ts', "import { openSqliteLedger } from '../src/ledger/sqlite/index.ts'"],
    ['src/dev/embedded.ts', "import { demo } from '../cli/demo.ts'"],
    ['src/worker.ts', "import type { Context } from './cli/context.ts'"],
    ['config/load.ts', "import { openCsv } from '../src/sources/csv/index.ts'"],
    ['src/utils/text.ts', ''],
    ['src/other.ts', ''],
  ])('%s: %s', (file, text) => {
    expect(breachesOf(file, text)).toHaveLength(1)
  })

  test.each([
    ['src/sources/csv/index.ts', "import { parse } from 'csv-parse/sync'"],
    ['src/import/push.ts', "import type { RecordsClient } from '../client/index.ts'"],
    ['src/import/push.ts', "import { close } from './close.ts'"],
    ['workflows/import.ts', "import type { createActivities } from '../activities/index.ts'"],
    ['src/worker.ts', "import { createClient } from './client/index.ts'"],
    ['src/cli/demo.ts', "import { startEmbedded } from '../dev/embedded.ts'"],
    ['activities/index.ts', "import type { Ledger } from '../src/ledger/ledger.ts'"],
  ])('and what is allowed is not: %s: %s', (file, text) => {
    expect(breachesOf(file, text)).toEqual([])
  })
})
