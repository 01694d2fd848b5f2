// A record that a source of records does not list is gone only where the source has no record of its key: one that left the filter stays
// in the copy. What the source has is asked of the source itself.

import { describe, expect, onTestFinished, test } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import { startService } from '../../../src/service/index.ts'
import { startOtherService } from '../../other-service/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { CONTACT, importScene, type RunEnd } from './scene.ts'
import { part } from '../../runs.ts'

const [ID, EMAIL, NAME, STATE] = ['svc_external_id', 'svc_email', 'svc_last_name', 'svc_first_name']
const IN = 'in'

type People = Record<string, string>

/** Six records of the source, of which `P1` to `P4` are in the filter. */
const PEOPLE: People = { P1: IN, P2: IN, P3: IN, P4: IN, P5: 'out', P6: 'out' }
const mail = (id: string) => [`${id}@Example.org`]

interface Key {
  /** What the key of the copy is made of. */
  readonly properties: ImportConfig['properties']
  readonly matching: string
  keyOf(properties: Record<string, unknown>, id: string): string
}
const text = (value: unknown) =>
  String([value].flat()[0] ?? '')
    .normalize('NFC')
    .trim()
const small = (value: unknown) => text(value).toLowerCase()

const KEYS: Readonly<Record<string, Key>> = {
  'a property as it is': {
    properties: { [ID]: { column: ID } },
    matching: ID,
    keyOf: (of) => text(of[ID]),
  },
  'a property in capitals': {
    properties: { [ID]: { column: ID, case: 'lower' } },
    matching: ID,
    keyOf: (of) => small(of[ID]),
  },
  'two properties': {
    properties: { [ID]: { columns: [ID, NAME], join: '/' } },
    matching: ID,
    keyOf: (of) => `${text(of[ID])}/${text(of[NAME])}`,
  },
  'the id of the record': {
    properties: { [ID]: { column: 'id' } },
    matching: ID,
    keyOf: (_, id) => id,
  },
  'an e-mail address': {
    properties: { [EMAIL]: { column: EMAIL } },
    matching: EMAIL,
    keyOf: (of) => small(of[EMAIL]),
  },
}

interface World {
  readonly source: RecordsClient
  idOf(person: string): Promise<string>
  set(person: string, values: Record<string, unknown>): Promise<void>
}

type Move = (world: World) => Promise<unknown>
const leave = (person: string) => (world: World) => world.set(person, { [STATE]: 'out' })
const remove =
  (person: string) =>
  async ({ source, idOf }: World) =>
    await source.deleteRecord(CONTACT, await idOf(person))
const all =
  (...moves: readonly Move[]): Move =>
  async (world) => {
    for (const move of moves) await move(world)
  }

const MOVES: readonly (readonly [string, Move])[] = [
  ['nothing happens', async () => {}],
  ['one leaves the filter', leave('P1')],
  ['three leave the filter', all(leave('P1'), leave('P2'), leave('P3'))],
  ['one is deleted', remove('P2')],
  ['one is deleted, one leaves the filter', all(remove('P1'), leave('P4'))],
  [
    'one comes into the filter, one leaves it',
    all(leave('P3'), (world) => world.set('P5', { [STATE]: IN })),
  ],
  [
    'one is deleted, and made anew outside the filter',
    async (world) => {
      await remove('P1')(world)
      await world.source.createRecord(CONTACT, {
        [ID]: 'P1',
        [EMAIL]: mail('P1'),
        [NAME]: 'n',
        [STATE]: 'out',
      })
    },
  ],
  [
    'one outside the filter takes over the keys of one that is deleted',
    async (world) => {
      const id = await world.idOf('P6')
      await remove('P2')(world)
      await world.source.updateRecord(CONTACT, id, { [ID]: 'P2', [EMAIL]: mail('P2') })
    },
  ],
  ['one gets other keys', (world) => world.set('P3', { [ID]: 'P9', [EMAIL]: mail('P9') })],
  [
    'one gets other keys and leaves the filter',
    (world) => world.set('P3', { [ID]: 'P9', [EMAIL]: mail('P9'), [STATE]: 'out' }),
  ],
  ['one is emptied of what the filter asks for', (world) => world.set('P1', { [STATE]: null })],
  [
    'one leaves the filter, with space around its key',
    (world) => world.set('P4', { [STATE]: 'out', [ID]: ' P4\u00a0' }),
  ],
  [
    'one leaves the filter, its address in other capitals',
    (world) => world.set('P4', { [STATE]: 'out', [EMAIL]: ['p4@EXAMPLE.ORG'] }),
  ],
]

const SOURCES = {
  'the own service': () => startService(),
  'another service': () => startOtherService({ prefix: 'svc_', retryAfter: '0', pages: 'short' }),
} as const

async function world(key: Key, where: keyof typeof SOURCES, config: Partial<ImportConfig>) {
  const service = await SOURCES[where]()
  const source = new RecordsClient({ baseUrl: service.url, key: service.key })
  onTestFinished(async () => {
    await source.close()
    await service.close()
  })
  for (const [id, state] of Object.entries(PEOPLE))
    await source.createRecord(CONTACT, { [ID]: id, [EMAIL]: mail(id), [NAME]: 'n', [STATE]: state })
  const scene = await importScene({ ...key.properties, [NAME]: { column: STATE } }, {
    from: {
      records: {
        connection: 'source',
        object_type: CONTACT,
        filter: { property: STATE, op: 'eq', value: IN },
      },
    },
    matching_property: key.matching,
    ...config,
  } as Partial<ImportConfig>)
  // A record that shows whether capitals are another address.
  await scene.client.createRecord(CONTACT, { [EMAIL]: ['known@example.org'], [NAME]: 'known' })
  const idOf = async (person: string) => {
    const filter = { property: ID, op: 'eq', value: person } as const
    return (await source.queryRecords(CONTACT, { filter })).data[0]!.id
  }
  const keys = async (client: RecordsClient, keyOf: Key['keyOf']) => {
    const found = new Set<string>()
    for await (const { data } of client.recordPages(CONTACT, {}))
      for (const { id, properties } of data)
        if (properties[NAME] !== 'known') found.add(keyOf(properties, id))
    return found
  }
  const how = { readsWith: source, tries: 3, tuning: { item_backoff_ms: [1] } }
  return {
    source,
    idOf,
    set: async (person: string, values: Record<string, unknown>) =>
      void (await source.updateRecord(CONTACT, await idOf(person), values as never)),
    scene,
    how,
    ofSource: () => keys(source, key.keyOf),
    ofCopy: () =>
      keys(scene.client, (of) => (key.matching === EMAIL ? small(of[EMAIL]) : text(of[ID]))),
    warnings: async ({ run }: RunEnd) => (await scene.ledger.run(run))!.warnings.join('\n'),
  }
}

const cases = (names: readonly string[]) =>
  names.flatMap((name) => MOVES.map(([what, move]) => [name, what, move] as const))

/** What has left the copy is gone at the source, and the other way round. */
async function judge(made: Awaited<ReturnType<typeof world>>, before: ReadonlySet<string>) {
  const [source, copy] = [await made.ofSource(), await made.ofCopy()]
  const removed = [...before].filter((key) => !copy.has(key))
  const gone = [...before].filter((key) => !source.has(key))
  expect(removed.toSorted()).toEqual(gone.toSorted())
}

const removing = async (key: Key, where: keyof typeof SOURCES, move: Move): Promise<void> => {
  const made = await world(key, where, { missing_rows: 'delete', missing_rows_max_percent: 100 })
  const { scene, how } = made
  await scene.run(how)
  const before = await made.ofCopy()
  expect(before.size).toBe(4)
  await move(made)
  const run = await scene.run(how)
  await judge(made, before)
  const { still_wanted: kept = 0, deleted: removed = 0 } = run.books.removals ?? {}
  expect(run.state).toBe('complete')
  expect(kept + removed).toBeLessThanOrEqual(before.size)
  const said = await made.warnings(run)
  if (kept > 0) expect(said).toMatch(/still has .* outside its filter/)
  else expect(said).not.toContain('outside its filter')
  const again = await scene.run(how)
  expect(again.books.removals ?? {}).toEqual({})
  const compared = await scene.reconcile(
    { repair: true, deleteExtra: true },
    { ...how, approves: true },
  )
  expect(compared.state).toBe('complete')
  await judge(made, before)
}

onSampledLedgers('records without a row', () => {
  test.each(part(cases(['a property as it is']), 3))('key: %s; %s', (name, _, move) =>
    removing(KEYS[name]!, 'the own service', move),
  )
})

describe('records without a row, other keys and services', () => {
  test.each(part(cases(['two properties', 'an e-mail address']), 3))(
    'key: %s; %s',
    (name, _, move) => removing(KEYS[name]!, 'the own service', move),
  )
  test.each(part(cases(['an e-mail address', 'the id of the record']), 3))(
    'another service, key: %s; %s',
    (name, _, move) => removing(KEYS[name]!, 'another service', move),
  )
})

describe('reconcile --repair --delete-extra without missing_rows', () => {
  test.each(part(cases(['a property as it is', 'a property in capitals', 'an e-mail address']), 3))(
    'key: %s; %s',
    async (name, _, move) => {
      const made = await world(KEYS[name]!, 'the own service', {})
      const { scene, how } = made
      await scene.run(how)
      const before = await made.ofCopy()
      await move(made)
      await scene.reconcile({ repair: true, deleteExtra: true }, { ...how, approves: true })
      await judge(made, before)
    },
  )
})

describe('missing_rows: clear', () => {
  test.each(part(cases(['a property as it is', 'two properties']), 3))(
    'key: %s; %s',
    async (name, _, move) => {
      const made = await world(KEYS[name]!, 'the own service', {
        missing_rows: { clear: { [NAME]: 'gone' } },
        missing_rows_max_percent: 100,
      })
      const { scene, how } = made
      await scene.run(how)
      const before = await made.ofCopy()
      await move(made)
      await scene.run(how)
      const source = await made.ofSource()
      for await (const { data } of scene.client.recordPages(CONTACT, {}))
        for (const { properties } of data)
          if (before.has(text(properties[ID])))
            expect([text(properties[ID]), properties[NAME] === 'gone']).toEqual([
              text(properties[ID]),
              !source.has(text(properties[ID])),
            ])
    },
  )
})

test('a missing key costs one look-up for a hundred, and no second reading', async () => {
  const made = await world(KEYS['a property as it is']!, 'the own service', {
    missing_rows: 'delete',
    missing_rows_max_percent: 100,
  })
  const { scene, how, source } = made
  for (let n = 0; n < 150; n++) await source.createRecord(CONTACT, { [ID]: `Q${n}`, [STATE]: IN })
  await scene.run(how)
  for (let n = 0; n < 150; n++) await made.set(`Q${n}`, { [STATE]: 'out' })
  let pages = 0
  const read = source.recordPages.bind(source)
  source.recordPages = (...given) => {
    pages++
    return read(...given)
  }
  const run = await scene.run(how)
  expect(run.books.removals).toEqual({ still_wanted: 150 })
  expect(await made.warnings(run)).toMatch(/150 records without a row are left as they are/)
  expect(pages).toBe(3)
})
