// Who may import whom (design of the layers, src/README.md): the table below, read against every import of the project.

import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

interface Rule {
  /** Layers of ours that may be imported by value, or one file of them; a layer may always import itself. */
  value: readonly string[]
  /** Layers of which only types may be imported: `import type`. */
  type?: readonly string[]
  packages: readonly string[]
  /** Modules of Node; default: all. */
  node?: readonly string[]
}

const PARTS = ['client', 'service', 'sources', 'warehouses', 'ledger']
const IMPORTABLE = [
  ...PARTS,
  'conform',
  'core',
  'contract',
  'outbound',
  'sqlite',
  'config',
  'runs',
  'import',
  'mirror',
  'workflows',
  'activities',
  'schedules',
  'temporal',
  'monitoring',
  'report',
  'actions',
  'corrections',
  'mapping-tests',
  'audit',
]
const WORK: Rule = {
  value: ['core', 'contract', 'runs', 'sources/index.ts'],
  type: ['client', 'config', 'sources', 'ledger', 'warehouses'],
  packages: [],
  node: ['node:crypto'],
}

const LAYERS: Readonly<Record<string, Rule>> = {
  core: { value: [], packages: [], node: [] },
  net: { value: [], type: ['core'], packages: [] },
  contract: { value: ['core'], packages: ['zod'], node: [] },
  outbound: { value: ['core'], packages: ['undici'] },
  client: { value: ['core', 'contract', 'outbound'], packages: ['undici'] },
  sqlite: { value: ['core'], packages: ['@photostructure/sqlite'] },
  service: {
    value: ['core', 'contract', 'net', 'sqlite'],
    packages: ['fastify', 'zod'],
  },
  conform: {
    value: ['core', 'contract', 'client'],
    packages: ['zod'],
    node: ['node:crypto', 'node:events', 'node:http'],
  },
  settings: { value: ['core'], packages: ['zod'], node: [] },
  sources: {
    value: ['core', 'contract', 'settings'],
    type: ['client', 'warehouses'],
    packages: ['csv-parse', 'zod'],
  },
  postgres: { value: ['core'], packages: ['pg'], node: [] },
  warehouses: {
    value: ['core', 'postgres', 'settings', 'sqlite'],
    packages: ['@duckdb/node-api', 'pg', 'pg-copy-streams', 'zod'],
  },
  ledger: {
    value: ['core', 'sqlite', 'postgres'],
    packages: ['pg'],
  },
  runs: { value: ['core'], type: ['config', 'ledger'], packages: [], node: [] },
  import: { ...WORK, packages: ['libphonenumber-js', 're2js'] },
  mirror: WORK,
  config: {
    value: ['core', 'contract', 'settings', 'sources/index.ts', 'warehouses/index.ts'],
    packages: ['yaml', 'zod'],
  },
  activities: {
    value: ['core', 'runs', 'import', 'mirror', 'sources/index.ts'],
    type: ['config', 'sources', 'warehouses', 'ledger'],
    packages: ['@temporalio/activity', '@temporalio/common'],
  },
  workflows: {
    value: ['core'],
    type: ['activities'],
    packages: ['@temporalio/workflow', '@temporalio/common', 'zod'],
    node: [],
  },
  schedules: {
    value: ['core', 'workflows'],
    type: ['config', 'runs'],
    packages: ['@temporalio/client', '@temporalio/common'],
    node: ['node:crypto'],
  },
  temporal: {
    value: ['core', 'config', 'net', 'outbound', 'workflows'],
    type: ['runs', 'ledger'],
    packages: [
      '@temporalio/activity',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      '@temporalio/worker',
    ],
  },
  dev: { value: [...IMPORTABLE, 'worker'], packages: ['@temporalio/*', 'zod'] },
  resources: {
    value: ['core', 'contract', 'client', 'config', 'outbound', 'warehouses'],
    type: ['sources', 'ledger', 'report'],
    packages: [],
  },
  monitoring: {
    value: ['core', 'config', 'net', 'outbound'],
    type: ['ledger', 'runs', 'resources'],
    packages: [],
  },
  report: {
    value: ['core', 'contract', 'runs', 'sources/index.ts'],
    type: ['ledger'],
    packages: ['zod'],
    node: ['node:crypto'],
  },
  actions: {
    value: [
      'core',
      'corrections',
      'import',
      'resources',
      'runs',
      'schedules',
      'temporal',
      'workflows',
      'dev/parts.ts',
      'warehouses/processes.ts',
    ],
    type: ['client', 'config', 'ledger'],
    packages: ['@temporalio/client'],
    node: ['node:os'],
  },
  console: {
    value: [
      'actions',
      'core',
      'client',
      'config',
      'contract',
      'corrections',
      'import',
      'monitoring',
      'net',
      'report',
      'resources',
      'runs',
      'outbound',
    ],
    type: ['ledger'],
    packages: ['fastify', 'zod'],
  },
  corrections: {
    value: ['core', 'runs', 'sources'],
    type: ['config', 'ledger'],
    packages: [],
    node: ['node:timers/promises'],
  },
  'mapping-tests': {
    value: ['core', 'contract', 'config', 'sources'],
    type: ['import', 'ledger'],
    packages: ['zod'],
    node: ['node:fs', 'node:path'],
  },
  audit: { value: ['core', 'ledger'], packages: [], node: [] },
  worker: { value: [...IMPORTABLE, 'console', 'dev', 'resources'], packages: ['@temporalio/*'] },
  cli: {
    value: [...IMPORTABLE, 'console', 'dev', 'worker', 'resources'],
    packages: ['commander', 'pino', '@temporalio/client'],
  },
}

/** Packages that live in one folder of their layer. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  'csv-parse': ['src/sources/csv/'],
  '@duckdb/node-api': ['src/warehouses/duckdb/'],
  pg: ['src/postgres/', 'src/ledger/postgres/', 'src/warehouses/postgres/'],
  'pg-copy-streams': ['src/warehouses/postgres/'],
  undici: ['src/client/', 'src/outbound/'],
}

interface Import {
  specifier: string
  /** Gone after compiling. `import { type X }` is not: it stays as `import {}`. */
  isType: boolean
}

const NAMES = String.raw`[\w$]+|\*\s*as\s+[\w$]+|\{[^}]*\}`
const STATEMENT = new RegExp(
  [
    String.raw`^import\s+(?<importType>type\s+(?!from\b))?(?:(?:${NAMES})(?:\s*,\s*(?:${NAMES}))?\s*from\s*)(?<q1>['"])(?<imported>[^'"]+)\k<q1>`,
    String.raw`^export\s+(?<exportType>type\s+)?(?:\*(?:\s*as\s+[\w$]+)?|\{[^}]*\})\s*from\s*(?<q2>['"])(?<exported>[^'"]+)\k<q2>`,
    String.raw`^import\s*(?<q3>['"])(?<bare>[^'"]+)\k<q3>`,
    String.raw`\bimport\(\s*(?:(?<q4>['"])(?<dynamic>[^'"]+)\k<q4>|(?<computed>[^)]*))`,
  ].join('|'),
  'gm',
)

/** The imports of a formatted file: statements begin their line. A type written `import('…').X` counts as a value. */
function importsOf(source: string): Import[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/\*|\*).*$/gm, '')
  return [...code.matchAll(STATEMENT)].map(({ groups = {} }) => ({
    specifier:
      groups['imported'] ??
      groups['exported'] ??
      groups['bare'] ??
      groups['dynamic'] ??
      `(${groups['computed']})`,
    isType: groups['importType'] !== undefined || groups['exportType'] !== undefined,
  }))
}

/** A file of `src` as a rule names it. */
const fileOf = (path: string): string => path.replace(/^src\//, '')

function layerOf(path: string): string {
  const [top = '', second = ''] = path.split('/')
  return top === 'src' ? second.replace(/\.ts$/, '') : top
}

/** What is wrong with the imports of one file. */
function breachesOf(path: string, source: string): string[] {
  const layer = layerOf(path)
  const rule = LAYERS[layer]
  if (rule === undefined)
    return [`${path} is of no layer; expected one of ${Object.keys(LAYERS).join(', ')}`]
  return importsOf(source)
    .filter(({ specifier, isType }) => !isAllowed(path, layer, rule, specifier, isType))
    .map(
      ({ specifier, isType }) =>
        `${path} (${layer}) may not import ${isType ? 'type ' : ''}${specifier}`,
    )
}

function isAllowed(
  path: string,
  layer: string,
  rule: Rule,
  specifier: string,
  isType: boolean,
): boolean {
  if (specifier.startsWith('.')) {
    const file = posix.join(posix.dirname(path), specifier)
    const target = layerOf(file)
    return (
      target === layer ||
      rule.value.includes(target) ||
      rule.value.includes(fileOf(file)) ||
      (isType && (rule.type ?? []).includes(target))
    )
  }
  if (specifier.startsWith('node:')) return rule.node === undefined || rule.node.includes(specifier)
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
  // Without `node:` a module of Node looks like a package.
  if (builtinModules.includes(name)) return false
  const listed = rule.packages.some((entry) =>
    entry.endsWith('/*') ? name.startsWith(entry.slice(0, -1)) : name === entry,
  )
  return listed && (HOMES[name]?.some((home) => path.startsWith(home)) ?? true)
}

/** Files that import each other, types included: each circle once, as the list of its files. */
function circlesOf(sources: readonly { path: string; source: string }[]): string[][] {
  const paths = new Set(sources.map(({ path }) => path))
  const targets = new Map(
    sources.map(({ path, source }) => [
      path,
      importsOf(source)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(posix.dirname(path), specifier))
        .filter((target) => paths.has(target)),
    ]),
  )
  const reached = new Map<string, Set<string>>()
  const reach = (from: string): Set<string> => {
    const known = reached.get(from)
    if (known !== undefined) return known
    const found = new Set<string>()
    const open = [...targets.get(from)!]
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (found.has(path)) continue
      found.add(path)
      open.push(...targets.get(path)!)
    }
    reached.set(from, found)
    return found
  }
  const circles = new Map<string, string[]>()
  for (const path of [...paths].filter((each) => reach(each).has(each))) {
    const circle = [...reach(path)].filter((other) => reach(other).has(path)).toSorted()
    circles.set(circle[0]!, circle)
  }
  return [...circles.values()]
}

/** Rooms that others enter through their `index.ts` alone. */
const FACES = ['activities', 'audit', 'conform', 'contract', 'corrections', 'import', 'mirror']

/** Imports that enter such a room elsewhere. */
function sideDoors(sources: readonly { path: string; source: string }[]): string[] {
  return sources.flatMap(({ path, source }) =>
    importsOf(source)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => posix.join(posix.dirname(path), specifier))
      .filter((target) => {
        const layer = layerOf(target)
        const isDoor = target.endsWith(`${layer}/index.ts`)
        return layer !== layerOf(path) && FACES.includes(layer) && !isDoor
      })
      .map((target) => `${path}: ${target}`),
  )
}

/** The floors of a room, the lowest first: a folder imports from its own and from lower ones. The room's own files stand above. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  import: ['mapping', 'look', 'judge', 'outbox', 'steps'],
}

/** The folder of a room that a file lies in; null: the room's own. */
const folderOf = (path: string): string | null => {
  const [, , folder, file] = path.split('/')
  return file === undefined ? null : folder!
}

/** Folders of one room that import each other, and imports from a lower floor to a higher one. */
function knotsOf(files: readonly { path: string; source: string }[]): string[] {
  const arrows = new Map<string, string>()
  for (const { path, source } of files) {
    const from = folderOf(path)
    if (from === null) continue
    for (const { specifier } of importsOf(source)) {
      if (!specifier.startsWith('.')) continue
      const target = posix.join(posix.dirname(path), specifier)
      const to = folderOf(target)
      if (layerOf(target) !== layerOf(path) || to === null || to === from) continue
      arrows.set(`${layerOf(path)}: ${from} ${to}`, `${path} imports ${target}`)
    }
  }
  const back = (arrow: string): string => arrow.replace(/(\S+) (\S+)$/, '$2 $1')
  const isUpward = (arrow: string): boolean => {
    const [room, from, to] = arrow.split(/:? /)
    const floors = FLOORS[room!] ?? []
    return floors.includes(from!) && floors.indexOf(to!) > floors.indexOf(from!)
  }
  return [...arrows]
    .filter(([arrow]) => arrows.has(back(arrow)) || isUpward(arrow))
    .map(([, text]) => text)
}

/** Rooms where the program is put together: they may import nearly everything, and use what they need. */
const ROOTS = ['dev', 'worker', 'cli']

/** What the layers may import and do not. `WORK` is what both `import` and `mirror` may. */
function unusedLeave(sources: readonly { path: string; source: string }[]): string[] {
  const used = new Map<string, Set<string>>()
  for (const { path, source } of sources)
    for (const { specifier, isType } of importsOf(source)) {
      const layer = layerOf(path)
      const file = posix.join(posix.dirname(path), specifier)
      const target = specifier.startsWith('.') ? layerOf(file) : specifier
      const names = used.get(layer) ?? new Set<string>()
      const kind = isType ? 'type' : 'value'
      names
        .add(target)
        .add(`${kind} ${target}`)
        .add(`${kind} ${fileOf(file)}`)
      used.set(layer, names)
    }
  return Object.entries(LAYERS)
    .filter(([layer]) => !ROOTS.includes(layer))
    .flatMap(([layer, { value, type = [], packages, node = [] }]) => {
      const names = used.get(layer) ?? new Set<string>()
      const shared =
        layer === 'import' ? used.get('mirror')! : layer === 'mirror' ? used.get('import')! : names
      const has = (name: string) => names.has(name) || shared.has(name)
      const hasPackage = (name: string) =>
        [...names].some((each) =>
          name.endsWith('/*')
            ? each.startsWith(name.slice(0, -1))
            : each === name || each.startsWith(`${name}/`),
        )
      return [
        ...value.filter((name) => !has(`value ${name}`)),
        ...type.filter((name) => !has(name)),
        ...packages.filter((name) => !hasPackage(name)),
        ...node.filter((name) => !has(name)),
      ].map((name) => `${layer}: ${name}`)
    })
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILES = ['src', 'config', 'workflows', 'activities'].flatMap((folder) =>
  readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
)

const sources = FILES.map((path) => ({ path, source: readFileSync(`${ROOT}${path}`, 'utf8') }))

describe('the layers', () => {
  it('hold in every file', () => {
    expect(sources.flatMap(({ path, source }) => breachesOf(path, source))).toEqual([])
    expect(FILES.length).toBeGreaterThan(20)
    expect(sources.flatMap(({ source }) => importsOf(source)).length).toBeGreaterThan(FILES.length)
  })

  it('are without circles of files', () => {
    expect(circlesOf(sources)).toEqual([])
    const [a, b, c, d] = [
      { path: 'src/x/a.ts', source: "import type { B } from './b.ts'" },
      { path: 'src/x/b.ts', source: "import { C } from '../y/c.ts'" },
      { path: 'src/y/c.ts', source: "export { A } from '../x/a.ts'" },
      { path: 'src/y/d.ts', source: "import { A } from '../x/a.ts'" },
    ]
    expect(circlesOf([a!, b!, c!, d!])).toEqual([['src/x/a.ts', 'src/x/b.ts', 'src/y/c.ts']])
    expect(circlesOf([a!, b!, d!])).toEqual([])
  })

  it('have no two folders that import each other, and floors that only go down', () => {
    expect(knotsOf(sources)).toEqual([])
    const [a, b, c] = [
      { path: 'src/mirror/x/a.ts', source: "import type { B } from '../y/b.ts'" },
      { path: 'src/mirror/y/b.ts', source: "import { A } from '../x/c.ts'" },
      { path: 'src/import/look/a.ts', source: "import { A } from '../judge/b.ts'" },
    ]
    expect(knotsOf([a!, b!])).toHaveLength(2)
    expect(knotsOf([a!, c!])).toEqual(['src/import/look/a.ts imports src/import/judge/b.ts'])
  })

  it('are entered through their public faces', () => {
    expect(sideDoors(sources)).toEqual([])
    const path = 'src/worker.ts'
    const push = "import { push } from './import/outbox/push.ts'"
    expect(sideDoors([{ path, source: push }])).toEqual([`${path}: src/import/outbox/push.ts`])
    const face = "import { push } from './import/index.ts'"
    expect(sideDoors([{ path, source: face }])).toEqual([])
    expect(
      sideDoors([{ path: 'src/import/steps/close.ts', source: "import './ports.ts'" }]),
    ).toEqual([])
  })

  it('keep the ground of core free of what is above it', () => {
    const upward = ({ specifier }: Import) => /^\.\/[^/]+\//.test(specifier)
    const ground = sources.filter(({ path }) => posix.dirname(path) === 'src/core')
    expect(ground.length).toBeGreaterThan(10)
    expect(ground.filter(({ source }) => importsOf(source).some(upward))).toEqual([])
  })

  it('have no leave that they do not use', () => {
    expect(unusedLeave(sources)).toEqual([])
    expect(unusedLeave(sources.filter(({ path }) => path !== 'src/report/style.ts'))).toContain(
      'report: node:crypto',
    )
  })

  it('are told from imports of every form', () => {
    const source = [
      "// import a from 'comment'",
      " * import('comment')",
      "import b from 'b'",
      "import * as c from 'c'",
      "import d, { e,\n  type f } from 'd'",
      "import type { g } from 'g'",
      "import { type h } from 'h'",
      "import 'i'",
      "export * from 'j'",
      "export * as k from 'k'",
      "export { l } from 'l'",
      "export type { m } from 'm'",
      "export const n = 'from'\nimport { o } from 'o'",
      "  const p = await import('p')",
      '  const q = await import(q)',
      'export const r = `x`',
      "export type S = { from: 'x' }",
    ].join('\n')
    const found = importsOf(source).map(({ specifier, isType }) =>
      isType ? `type ${specifier}` : specifier,
    )
    const names = ['b', 'c', 'd', 'type g', 'h', 'i', 'j', 'k', 'l', 'type m', 'o', 'p', '(q)']
    expect(found).toEqual(names)
  })

  const allowed = [
    ['src/import/steps/stage.ts', "import type { Source } from '../../sources/source.ts'"],
    [
      'src/import/steps/stage.ts',
      "import { ERRORS } from '../../contract/index.ts'\nimport { createHash } from 'node:crypto'",
    ],
    [
      'src/client/transport.ts',
      "import { Pool } from 'undici'\nimport { x } from './pacer/index.ts'",
    ],
    ['src/sources/csv/records.ts', "import { Parser } from 'csv-parse'"],
    ['src/warehouses/duckdb/index.ts', "import { DuckDBInstance } from '@duckdb/node-api'"],
    ['config/schema.ts', "import { WAREHOUSES } from '../src/warehouses/index.ts'"],
    ['src/warehouses/postgres/index.ts', "import { resolveUrl } from '../../postgres/url.ts'"],
    ['src/sqlite/database.ts', "import { DatabaseSync } from '@photostructure/sqlite'"],
    ['src/service/store/data-file.ts', "import { openSqliteFile } from '../../sqlite/database.ts'"],
    ['workflows/import.ts', "import type { Activities } from '../activities/index.ts'"],
    ['activities/index.ts', "import type { Source } from '../src/sources/source.ts'"],
    ['src/worker.ts', "import { openCsv } from './sources/csv/index.ts'"],
    ['src/service/http/app.ts', "import fastify from 'fastify'"],
  ] as const
  it.each(allowed)('let %s say %s', (path, source) => {
    expect(breachesOf(path, source)).toEqual([])
  })

  const refused = [
    ['src/core/errors.ts', "import { z } from 'zod'"],
    ['src/core/errors.ts', "import { createHash } from 'node:crypto'"],
    ['src/core/errors.ts', "import type { A } from '../contract/index.ts'"],
    ['src/contract/index.ts', "import { readFileSync } from 'node:fs'"],
    ['src/service/http/app.ts', "import type { RecordsClient } from '../../client/index.ts'"],
    ['src/service/handlers/batch.ts', "export { x } from '../../client/index.ts'"],
    ['src/client/call.ts', "import { z } from 'zod'"],
    ['src/import/steps/stage.ts', "import { openCsv } from '../../sources/csv/index.ts'"],
    ['src/import/steps/stage.ts', "import { type Source } from '../../sources/source.ts'"],
    ['config/schema.ts', "import { openDuckdb } from '../src/warehouses/duckdb/index.ts'"],
    ['src/import/steps/stage.ts', "const { openCsv } = await import('../../sources/csv/index.ts')"],
    ['src/import/steps/stage.ts', "import { readFile } from 'node:fs/promises'"],
    ['src/sources/query.ts', "import { Parser } from 'csv-parse'"],
    [
      'src/sources/csv/index.ts',
      "import { parse } from 'csv-parse/sync'\nimport { Pool } from 'undici'",
    ],
    ['src/ledger/postgres/index.ts', "import { DatabaseSync } from '@photostructure/sqlite'"],
    ['src/ledger/open.ts', "import pg from 'pg'"],
    ['src/warehouses/index.ts', "import { DuckDBInstance } from '@duckdb/node-api'"],
    ['src/sources/query/index.ts', "import { openWarehouse } from '../../warehouses/index.ts'"],
    ['workflows/import.ts', "import { openImport } from '../activities/index.ts'"],
    ['workflows/import.ts', "import 'node:crypto'"],
    ['workflows/import.ts', "import { join } from 'path'"],
    ['activities/index.ts', "import { openLedger } from '../src/ledger/sqlite/index.ts'"],
    ['src/worker.ts', "import { createContext } from './cli/context.ts'"],
    ['src/dev/embedded.ts', "import type { CommandContext } from '../cli/context.ts'"],
    ['src/client/call.ts', 'await import(name)'],
    ['src/client/call.ts', "import { folder } from '../../test/unit/sources/files.ts'"],
    ['src/helpers/index.ts', ''],
  ] as const
  it.each(refused)('do not let %s say %s', (path, source) => {
    expect(breachesOf(path, source)).toHaveLength(1)
  })
})
