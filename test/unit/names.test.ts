// One name, one meaning: an exported name has one home, and names are the field's terms (src/README.md, "Words").

import { readFileSync, readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const ROOMS = ['src', 'config', 'workflows', 'activities']

/** Two drivers of one interface have files of the same names, which export the same names with the same meaning. */
const DRIVERS = ['sqlite', 'postgres', 'duckdb']

/** Types of workflows: workflows/names.ts has the name that a client starts, the module of that name has the workflow. */
const WORKFLOW_NAMES = 'workflows/names.ts'

/** Words of a dialect, and what the field calls them. */
const BANNED: Readonly<Record<string, string>> = {
  anew: 'again, restart',
  beat: 'heartbeat',
  belongs: 'matches',
  beside: 'next to, concurrent',
  brake: 'throttle',
  desk: 'source, registry',
  distrust: 'invalid',
  epoch: 'window',
  excess: 'limit exceeded',
  flights: 'in flight',
  keeper: 'what it does',
  lanes: 'concurrency',
  looker: 'differ',
  nobody: 'none',
  somebody: 'owner, user, process',
  standing: 'status, health',
  steer: 'control',
  steered: 'controlled',
  steering: 'control',
  strangers: 'unknown',
  strays: 'orphans',
  surroundings: 'context, scope',
  tell: 'report, notify',
  teller: 'signal',
  tells: 'reports',
  told: 'reported, notified',
  twin: 'collision',
  twins: 'collisions',
  whoever: 'caller',
  whose: 'owner, changed by',
}

const filesOf = (room: string): string[] =>
  readdirSync(`${root}${room}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${room}/${file.replaceAll('\\', '/')}`)

/** Names that a module declares and exports; what it re-exports has its home elsewhere. */
const exportsOf = (text: string): string[] =>
  [
    ...text.matchAll(
      /^export (?:declare |abstract |async )*(?:function\*?|class|interface|type|const|let|enum) ([A-Za-z_$][\w$]*)/gm,
    ),
  ].map(([, name]) => name!)

/** `unreadTwinsOf` has the words unread, twins and of. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)

const bannedIn = (name: string): string[] =>
  wordsOf(name).flatMap((word) =>
    Object.hasOwn(BANNED, word) ? [`${name}: "${word}", say ${BANNED[word]}`] : [],
  )

const isDriverPair = (files: readonly string[]): boolean =>
  new Set(files.map((file) => basename(file))).size === 1 &&
  new Set(files.map((file) => dirname(dirname(file)))).size === 1 &&
  files.every((file) => DRIVERS.includes(basename(dirname(file))))

/** Each exported name with its homes, where it has more than one. */
function doubleNames(modules: ReadonlyMap<string, string>): string[] {
  const homes = new Map<string, string[]>()
  for (const [file, text] of modules)
    for (const name of new Set(exportsOf(text))) homes.set(name, [...(homes.get(name) ?? []), file])
  return [...homes]
    .filter(([, files]) => files.length > 1 && !isDriverPair(files))
    .filter(([, files]) => !(files.length === 2 && files.includes(WORKFLOW_NAMES)))
    .map(([name, files]) => `${name}: ${files.join(', ')}`)
}

const modules = new Map(
  ROOMS.flatMap(filesOf).map((file) => [file, readFileSync(`${root}${file}`, 'utf8')]),
)

describe('an exported name', () => {
  it('has one home', () => {
    expect(doubleNames(modules)).toEqual([])
  })

  it('is found twice where it has two, and not where it is re-exported or has a driver each', () => {
    const double = (files: Record<string, string>) => doubleNames(new Map(Object.entries(files)))
    const text = 'export interface Verdict {'
    expect(double({ 'src/a/b.ts': text, 'src/c/d.ts': text })).toEqual([
      'Verdict: src/a/b.ts, src/c/d.ts',
    ])
    expect(
      double({ 'src/a/b.ts': text, 'src/c/d.ts': "export type { Verdict } from './b.ts'" }),
    ).toEqual([])
    expect(double({ 'src/l/sqlite/b.ts': text, 'src/l/postgres/b.ts': text })).toEqual([])
    expect(double({ 'src/l/sqlite/b.ts': text, 'src/m/postgres/b.ts': text })).toEqual([
      'Verdict: src/l/sqlite/b.ts, src/m/postgres/b.ts',
    ])
    expect(
      exportsOf('export async function* go() {}\nexport const WORDS = 1\nconst own = 2'),
    ).toEqual(['go', 'WORDS'])
  })
})

describe('names', () => {
  it('of files and exports have no word of the list', () => {
    expect([...modules.keys()].flatMap(bannedIn)).toEqual([])
    expect([...modules.values()].flatMap(exportsOf).flatMap(bannedIn)).toEqual([])
  })

  it('are taken apart at capitals, digits and lines', () => {
    expect(wordsOf('readHTTPTwins2')).toEqual(['read', 'http', 'twins2'])
    expect(bannedIn('unsentTwinsOf')).toEqual(['unsentTwinsOf: "twins", say collisions'])
    expect(bannedIn('src/schedules/keeper.ts')).toEqual([
      'src/schedules/keeper.ts: "keeper", say what it does',
    ])
    expect(bannedIn('intelligent')).toEqual([])
  })
})
