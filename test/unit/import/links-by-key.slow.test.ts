// Links are made at the records that have the keys when they are made, whatever the ledger remembers: people move keys between runs, and
// in the middle of one. What has to be linked is asked of the service alone.

import { describe, expect, test } from 'vitest'
import type { ImportConfig, LinkMapping } from '../../../config/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { startService } from '../../../src/service/index.ts'
import { startOtherService } from '../../other-service/index.ts'
import { onSampledLedgers } from './each-ledger.ts'
import {
  clientWith,
  importSceneOn,
  CONTACT,
  type RunEnd,
  type Scene,
  type SceneService,
} from './scene.ts'
import { part } from '../../runs.ts'

const COMPANY = 'svc_company'
const ASSOCIATION = 'svc_contact_company'
const LINK: LinkMapping = {
  association: ASSOCIATION,
  to: COMPANY,
  by: 'svc_domain',
  column: 'company',
  missing: 'park',
}
const COLUMNS = ['id', 'name', 'company']
const PROPERTIES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const DOMAINS = ['x.example', 'y.example', 'z.example']

type Made = Scene<SceneService>
type Rows = readonly (readonly string[])[]

const OLD: Rows = [
  ['1', 'Ada', 'x.example'],
  ['2', 'Ben', 'y.example'],
]
const NEW: Rows = [
  ['3', 'Cem', 'x.example'],
  ['4', 'Dora', 'y.example'],
  ['5', 'Eda', 'z.example'],
]

/** Records by the value of a property. */
async function byValue({ client }: Made, type: string, property: string) {
  const { data } = await client.queryRecords(type, {})
  const found = new Map<string, string[]>()
  for (const { id, properties } of data) {
    const value = properties[property]
    if (typeof value !== 'string') continue
    found.set(value, [...(found.get(value) ?? []), id])
  }
  return found
}
const companies = (scene: Made) => byValue(scene, COMPANY, 'svc_domain')
const contacts = (scene: Made) => byValue(scene, CONTACT, 'svc_external_id')

/** The keys of records go round: each gets that of the next one. */
async function rotate(scene: Made, type: string, property: string, keys: readonly string[]) {
  const found = await byValue(scene, type, property)
  const ids = keys.map((key) => found.get(key)![0]!)
  for (const [at, id] of ids.entries())
    await scene.client.updateRecord(type, id, { [property]: `between-${at}.example` })
  for (const [at, id] of ids.entries())
    await scene.client.updateRecord(type, id, { [property]: keys[(at + 1) % keys.length]! })
}

const domain = async (scene: Made, from: string, to: string) =>
  void (await scene.client.updateRecord(COMPANY, (await companies(scene)).get(from)![0]!, {
    svc_domain: to,
  }))
const number = async (scene: Made, from: string, to: string) =>
  void (await scene.client.updateRecord(CONTACT, (await contacts(scene)).get(from)![0]!, {
    svc_external_id: to,
  }))
const company = (scene: Made, key: string) =>
  scene.client.createRecord(COMPANY, { svc_domain: key })
const person = (scene: Made, key: string) =>
  scene.client.createRecord(CONTACT, { svc_external_id: key })
const without = async (
  scene: Made,
  type: string,
  of: Promise<Map<string, string[]>>,
  key: string,
) => await scene.client.deleteRecord(type, (await of).get(key)![0]!)

type Move = (scene: Made) => Promise<unknown>
const MOVES: readonly (readonly [string, Move])[] = [
  ['nobody moves anything', async () => {}],
  [
    'two targets swap their keys',
    (scene) => rotate(scene, COMPANY, 'svc_domain', DOMAINS.slice(0, 2)),
  ],
  ['the keys of three targets go round', (scene) => rotate(scene, COMPANY, 'svc_domain', DOMAINS)],
  ['a target gets a key of its own', (scene) => domain(scene, 'x.example', 'other.example')],
  [
    'a target gets another key, and a new record has the old one',
    async (scene) => {
      await domain(scene, 'x.example', 'other.example')
      await company(scene, 'x.example')
    },
  ],
  [
    'a target takes the key of one that is deleted',
    async (scene) => {
      await without(scene, COMPANY, companies(scene), 'x.example')
      await domain(scene, 'y.example', 'x.example')
    },
  ],
  ['a target is deleted', (scene) => without(scene, COMPANY, companies(scene), 'x.example')],
  [
    'a target is deleted, and made anew',
    async (scene) => {
      await without(scene, COMPANY, companies(scene), 'y.example')
      await company(scene, 'y.example')
    },
  ],
  ['two sources swap their keys', (scene) => rotate(scene, CONTACT, 'svc_external_id', ['1', '2'])],
  [
    'the keys of four sources go round',
    (scene) => rotate(scene, CONTACT, 'svc_external_id', ['1', '2', '3', '4']),
  ],
  ['a source gets a key of its own', (scene) => number(scene, '3', '33')],
  [
    'a source gets another key, and a new record has the old one',
    async (scene) => {
      await number(scene, '4', '44')
      await person(scene, '4')
    },
  ],
  ['a source is deleted', (scene) => without(scene, CONTACT, contacts(scene), '3')],
  [
    'a source is deleted, and made anew',
    async (scene) => {
      await without(scene, CONTACT, contacts(scene), '3')
      await person(scene, '3')
    },
  ],
  [
    'sources and targets swap their keys',
    async (scene) => {
      await rotate(scene, CONTACT, 'svc_external_id', ['3', '4'])
      await rotate(scene, COMPANY, 'svc_domain', DOMAINS)
    },
  ],
]

/** The companies, as a sync of its own that the ledger knows them from. */
const ofCompanies = {
  as: {
    name: 'companies',
    import: {
      mode: 'upsert',
      object_type: COMPANY,
      matching_property: 'svc_domain',
      properties: { svc_domain: { column: 'domain' } },
      links: undefined,
    } as unknown as Partial<ImportConfig>,
  },
}
/** The same contacts without links, so that a sync that only links knows them from another one. */
const ofContacts = {
  as: { name: 'people', import: { links: undefined } as unknown as Partial<ImportConfig> },
}

const edges = async (scene: Made, id: string): Promise<string[]> => {
  const ids: string[] = []
  for await (const { data } of scene.client.associationEdgePages(CONTACT, id))
    ids.push(...data.map((edge) => edge.target_id))
  return ids
}

/** How the rows are linked: `right`, `open` where a key has no record, or `wrong`. */
async function judged(
  scene: Made,
  rows: Rows,
): Promise<Record<string, 'right' | 'open' | 'wrong'>> {
  const [sources, targets] = [await contacts(scene), await companies(scene)]
  const found: Record<string, 'right' | 'open' | 'wrong'> = {}
  for (const [id, , target] of rows) {
    const [source, ends] = [sources.get(id!) ?? [], targets.get(target!) ?? []]
    const linked = source.length === 1 ? await edges(scene, source[0]!) : []
    found[id!] =
      source.length === 1 && ends.length === 1
        ? linked.includes(ends[0]!)
          ? 'right'
          : 'wrong'
        : 'open'
  }
  return found
}
const worst = (verdicts: Record<string, string>, rows: Rows) =>
  rows.map(([id]) => verdicts[id!]).filter((verdict) => verdict !== 'right')

const missing = ({ differences }: RunEnd) =>
  differences
    .filter(
      ({ stream, kind, repaired }) =>
        stream.startsWith('links: ') && kind === 'missing' && !repaired,
    )
    .map(({ key }) => key!.split(' ')[0]!)
    .toSorted()

const how = { tries: 3, tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

interface Way {
  readonly mode: 'import' | 'link'
  readonly service: () => Promise<SceneService>
}

async function sceneOf({ mode, service }: Way): Promise<Made> {
  const config =
    mode === 'link' ? { mode: 'link', properties: { svc_external_id: { column: 'id' } } } : {}
  const made = await importSceneOn(service, PROPERTIES, {
    links: [LINK],
    ...config,
  } as Partial<ImportConfig>)
  made.rows(
    ['domain'],
    DOMAINS.map((name) => [name]),
  )
  await made.run(ofCompanies)
  made.rows(COLUMNS, [...OLD, ...NEW])
  if (mode === 'link')
    await made.run({
      as: {
        name: 'people',
        import: {
          mode: 'upsert',
          properties: PROPERTIES,
          links: undefined,
        } as unknown as Partial<ImportConfig>,
      },
    })
  // Rows that are known and not sent again, whose cell names a company by now.
  else await made.run(ofContacts)
  return made
}

const own: Way['service'] = () => startService()
const other: Way['service'] = () =>
  startOtherService({ prefix: 'svc_', pages: 'short', paths: 'other', retryAfter: '0' })

const afterwards = (mode: Way['mode'], service: Way['service']) => async (move: Move) => {
  const scene = await sceneOf({ mode, service })
  scene.rows(COLUMNS, OLD)
  expect((await scene.run(how)).books.links).toMatchObject({ states: { linked: 2 } })
  if (mode === 'import') {
    // Their rows are unchanged in the next run: the ledger remembers their records.
    scene.rows(COLUMNS, [...OLD, ...NEW.map(([id, name]) => [id!, name!, ''])])
    await scene.run(how)
  }
  await move(scene)
  scene.rows(COLUMNS, [...OLD, ...NEW])
  const run = await scene.run(how)
  const verdicts = await judged(scene, [...OLD, ...NEW])
  expect(worst(verdicts, NEW)).not.toContain('wrong')
  if (worst(verdicts, NEW).length > 0) expect(run.state).not.toBe('complete')
  const compared = await scene.reconcile({}, how)
  const wrong = Object.keys(verdicts).filter((id) => verdicts[id] === 'wrong')
  expect(missing(compared)).toEqual(expect.arrayContaining(wrong))
  if (worst(verdicts, [...OLD, ...NEW]).length > 0) expect(compared.state).not.toBe('complete')
  const repaired = await scene.reconcile({ repair: true }, how)
  const after = await judged(scene, [...OLD, ...NEW])
  expect(worst(after, [...OLD, ...NEW])).not.toContain('wrong')
  if (worst(after, [...OLD, ...NEW]).length > 0) expect(repaired.state).not.toBe('complete')
  expect((await scene.run(how)).books.links).toMatchObject({ states: { linked: 0 } })
}

describe.each(['import', 'link'] as const)('people have moved keys before a run of %s', (mode) => {
  onSampledLedgers('the own service', () => {
    test.each(part(MOVES, 3))('%s', (_, move) => afterwards(mode, own)(move))
  })
  describe('another service', () => {
    test.each(part(MOVES, 3))('%s', (_, move) => afterwards(mode, other)(move))
  })
})

/** People move keys once, right before the first link is sent. */
const before = (scene: Made, move: Move) => {
  let isMoved = false
  return (client: ImportClient): ImportClient =>
    clientWith(client, {
      async listAssociations(...given) {
        const found = await client.listAssociations(...given)
        // Staging asks as well, before there are rows.
        const [run] = await scene.ledger.runs({ sync: 'contacts', limit: 1 })
        if (!isMoved && run && (await scene.ledger.progress(run.id)).read > 0) {
          isMoved = true
          await move(scene)
        }
        return found
      },
    })
}

describe('people who move keys between the rows and the links of one run', () => {
  test.each(part(MOVES, 3))('%s', async (_, move) => {
    const scene = await sceneOf({ mode: 'import', service: () => startService() })
    scene.rows(
      COLUMNS,
      [...OLD, ...NEW].map(([id, , target]) => [id!, 'other', target!]),
    )
    const run = await scene.run({ ...how, through: before(scene, move) })
    const verdicts = await judged(scene, [...OLD, ...NEW])
    expect(worst(verdicts, [...OLD, ...NEW])).not.toContain('wrong')
    if (worst(verdicts, [...OLD, ...NEW]).length > 0) expect(run.state).not.toBe('complete')
  })
})

describe('waiting links', () => {
  test.each(part(MOVES, 3))('%s', async (_, move) => {
    const scene = await sceneOf({ mode: 'import', service: () => startService() })
    scene.rows(
      COLUMNS,
      [...OLD, ...NEW].map(([id, name]) => [id!, name!, 'late.example']),
    )
    expect((await scene.run(how)).books.links).toMatchObject({ states: { target_missing: 5 } })
    await move(scene)
    await company(scene, 'late.example')
    const run = await scene.links(how)
    const rows = [...OLD, ...NEW].map(([id, name]) => [id!, name!, 'late.example'])
    const verdicts = await judged(scene, rows)
    expect(worst(verdicts, rows)).not.toContain('wrong')
    if (worst(verdicts, rows).length > 0) expect(run.state).not.toBe('complete')
  })
})
