// Every message about a wrong configuration, as a file: each setting made wrong in a few ways, and the settings that are wrong
// together. `RECORDS_SYNC_GOLDEN=write` writes the file; whoever changes a message reads the difference.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isMap, isScalar, isSeq, parse, parseDocument, type Document } from 'yaml'
import { issuesOf } from '../unit/config/project.ts'
import { isSoak } from '../runs.ts'

const here = join(import.meta.dirname, 'configuration')
const read = (name: string) => readFileSync(join(here, name), 'utf8')
const base = read('every-setting.yaml')
const bases = [base, read('other-forms.yaml')]

const folder = mkdtempSync(join(tmpdir(), 'records-sync-golden-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'records-sync.yaml')

type Steps = readonly (string | number)[]

/** What is wrong in nearly every place. */
const WRONG = [
  ['a mapping', { nonsense: 1 }],
  ['a negative number', -7],
  ['a text', 'no such thing!'],
  ['nothing', null],
] as const

/** Every path of the document, mappings and lists included, but the top. */
function pathsOf(node: unknown, path: Steps = []): Steps[] {
  const below = isMap(node)
    ? node.items.flatMap(({ key, value }) =>
        pathsOf(value, [...path, String(isScalar(key) ? key.value : key)]),
      )
    : isSeq(node)
      ? node.items.flatMap((item, index) => pathsOf(item, [...path, index]))
      : []
  return [...(path.length === 0 ? [] : [path]), ...below]
}

/** The issues of the document after a change, where there are any. */
async function after(change: (document: Document) => void, text = base): Promise<string[]> {
  const document = parseDocument(text)
  change(document)
  return await issuesOf(document.toString({ lineWidth: 0 }), {}, file)
}

interface Combination {
  readonly title: string
  readonly set?: Readonly<Record<string, unknown>>
  readonly remove?: readonly string[]
}

const combinations = parse(read('combinations.yaml')) as readonly Combination[]

const stepsOf = (path: string): Steps =>
  path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step))

/** The same configuration with one sync alone, which is read in a fraction of the time. */
function withSyncAlone(text: string, sync: string): string {
  const document = parseDocument(text)
  const { syncs } = document.toJS() as { readonly syncs: Readonly<Record<string, unknown>> }
  for (const name of Object.keys(syncs)) if (name !== sync) document.deleteIn(['syncs', name])
  document.deleteIn(['syncs', sync, 'after'])
  for (const section of ['groups', 'notifications']) document.deleteIn([section])
  return document.toString({ lineWidth: 0 })
}

async function messagesOf(whole: string): Promise<string[]> {
  const lines: string[] = []
  const parts = new Map<string, string>()
  for (const path of pathsOf(parseDocument(whole).contents)) {
    if (!isLooked(path.join('.'))) continue
    const [section, name, part] = path.map(String)
    const isOfSync = section === 'syncs' && part !== undefined && part !== 'after'
    if (isOfSync && !parts.has(name!)) parts.set(name!, withSyncAlone(whole, name!))
    const text = isOfSync ? parts.get(name!)! : whole
    const add = async (what: string, change: (document: Document) => void) => {
      const issues = await after(change, text)
      if (issues.length === 0) return
      // Without the place: a new setting would change that of all below it. Every issue has one.
      const messages = issues.map((issue) => /^\d+:\d+: (.*)$/.exec(issue)![1])
      lines.push(`${path.join('.')}: ${what}`, ...messages.map((message) => `  ${message}`))
    }
    for (const [what, value] of WRONG)
      await add(what, (document) => document.setIn(path, document.createNode(value)))
    await add('left out', (document) => document.deleteIn(path))
    if (isMap(parseDocument(text).getIn(path)))
      await add('an unknown setting', (document) => document.setIn([...path, 'nonsense'], 1))
  }
  return lines
}

async function messagesTogether(): Promise<string> {
  const lines: string[] = []
  for (const { title, set = {}, remove = [] } of combinations) {
    const issues = await after((document) => {
      for (const [path, value] of Object.entries(set))
        document.setIn(stepsOf(path), document.createNode(value))
      for (const path of remove) document.deleteIn(stepsOf(path))
    })
    expect(issues, title).not.toEqual([])
    lines.push(title, ...issues.map((issue) => `  ${issue}`))
  }
  return `${lines.join('\n')}\n`
}

/** `npm test` looks at a quarter of the settings, chosen by the length of their paths. */
const isLooked = (path: string): boolean =>
  isSoak || process.env['RECORDS_SYNC_GOLDEN'] === 'write' || path.length % 4 === 0

/** The messages of one setting that is wrong in one way: a line without a space at its begin, and those below it. */
const blocksOf = (text: string): string[] => text.match(/^\S.*\n(?: .*\n)*/gm) ?? []

/** Compares with the file, or with a part of it, or writes it. */
function expectFile(name: string, found: string, partOf = (text: string) => text): void {
  const path = join(here, name)
  if (process.env['RECORDS_SYNC_GOLDEN'] === 'write') writeFileSync(path, found)
  expect(found).toBe(partOf(readFileSync(path, 'utf8')))
}

/** The names that users give, as the reference writes them. */
const OPEN_NAMES =
  /^(connections|warehouses|syncs|groups|notifications|console\.users|properties|operations|modification_property)$/

test('every setting of the reference is in the base', () => {
  const reference = read('../../../config/README.md')
  const named = [...reference.matchAll(/^- `([^`]+)` \(/gm)].map(([, setting]) => setting!)
  const there = new Set(
    bases
      .flatMap((text) => pathsOf(parseDocument(text).contents))
      .map((path) =>
        path.reduce<string>((before, step) => {
          const above = before.split('.').at(-1)!
          if (typeof step === 'number') return `${before}[]`
          const name =
            above === 'properties' && !before.endsWith('records.properties')
              ? 'PROPERTY'
              : above === 'operations'
                ? 'OPERATION'
                : OPEN_NAMES.test(before)
                  ? 'NAME'
                  : step
          return before === '' ? name : `${before}.${name}`
        }, ''),
      ),
  )
  expect(named.length).toBeGreaterThan(100)
  // The forms of a secret are the same everywhere.
  const isThere = (setting: string) =>
    there.has(setting) || there.has(setting.replace(/\.(env|file|command)$/, ''))
  expect(named.filter((setting) => !isThere(setting))).toEqual([])
})

test('each message about a wrong setting is the one of the file', async () => {
  const lines: string[] = []
  for (const text of bases) {
    expect(await issuesOf(text)).toEqual([])
    lines.push(...(await messagesOf(text)))
  }
  expectFile('messages.txt', `${lines.join('\n')}\n`, (text) =>
    blocksOf(text)
      .filter((block) => isLooked(block.slice(0, block.indexOf(': '))))
      .join(''),
  )
})

test('so is each message about settings that are wrong together', async () => {
  expectFile('combinations.txt', await messagesTogether())
})

test('every complaint that the checks have is in one of the files', () => {
  const found = read('messages.txt') + read('combinations.txt')
  const checks = ['checks.ts', 'checks-groups.ts', 'mapping-checks.ts']
    .map((name) => read(`../../../config/${name}`))
    .join('\n')
    .split('\n')
    .filter((line) => !/^\s*(\/\/|\*|\/\*\*|import )/.test(line))
    .join('\n')
  // What a literal says between the values that are filled in.
  const parts = [...checks.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)]
    .flatMap(([, plain, filled]) => (plain ?? filled!).split(/\$\{[^}]*\}/))
    .map((part) => part.replaceAll('\\`', '`').trim())
    .filter((part) => part.length >= 15 && part.includes(' '))
  expect(parts.length).toBeGreaterThan(20)
  // A group that is too large: unit/config/groups.test.ts has one.
  const large = ['syncs, and a group has at most', '; make several groups of them']
  const here = parts.filter((part) => !large.includes(part))
  expect(here.length).toBe(parts.length - large.length)
  expect(here.filter((part) => !found.includes(part))).toEqual([])
})
