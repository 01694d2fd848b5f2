// Links of imports, with a real service and a real ledger: what is sent and what is not, what waits for its target, and what becomes of
// a link that the service does not take.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { nextStepOf } from '../../../src/cli/views/differences.ts'
import { countRunAccount } from '../../../src/report/account.ts'
import { comparisonOf } from '../../../src/report/comparison.ts'
import { reportVerdict } from '../../../src/report/verdict.ts'
import { expect, test } from 'vitest'
import type { ImportConfig, LinkMapping } from '../../../config/index.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import {
  systemClock,
  type AcquireOptions,
  type Permit,
  type Quota,
} from '../../../src/core/ports.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { SYSTEM_SCHEMA } from '../../../src/service/schema/schema-file.ts'
import { clientWith, importScene, CONTACT, type Scene } from './scene.ts'

const COMPANY = 'svc_company'
const ASSOCIATION = 'svc_contact_company'

const byDomain: LinkMapping = {
  association: ASSOCIATION,
  to: COMPANY,
  by: 'svc_domain',
  column: 'company',
  missing: 'park',
}

const linking = (link: Partial<LinkMapping> = {}, more: Partial<ImportConfig> = {}) =>
  importScene({ svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }, {
    links: [{ ...byDomain, ...link }],
    ...more,
  } as Partial<ImportConfig>)

const COLUMNS = ['id', 'name', 'company']

/** Deals may have several contacts. */
const dealScene = () =>
  importScene({ svc_external_id: { column: 'id' }, svc_name: { column: 'name' } }, {
    object_type: 'svc_deal',
    links: [
      {
        association: 'svc_deal_contact',
        to: CONTACT,
        by: 'svc_external_id',
        column: 'contacts',
        split: ';',
        missing: 'park',
      },
    ],
  } as Partial<ImportConfig>)

/** Makes records of a type with a value each; gives their ids. */
async function made(
  { client }: Scene,
  type: string,
  property: string,
  values: readonly string[],
): Promise<string[]> {
  const ids: string[] = []
  for (const value of values) ids.push((await client.createRecord(type, { [property]: value })).id)
  return ids
}

const companies = (scene: Scene, ...domains: string[]) =>
  made(scene, COMPANY, 'svc_domain', domains)

/** The targets of a record, by its external id. */
async function targetsOf(scene: Scene, externalId: string): Promise<string[]> {
  const record = (await scene.held(externalId))!
  const type = (record as unknown as { object_type: string }).object_type
  const ids: string[] = []
  for await (const { data } of scene.client.associationEdgePages(type, record.id))
    ids.push(...data.map((edge) => edge.target_id))
  return ids
}

/** The companies as a sync of their own, in the same ledger, over the same file. */
const asCompanies = {
  as: {
    name: 'companies',
    import: {
      object_type: COMPANY,
      matching_property: 'svc_domain',
      properties: { svc_domain: { column: 'domain' } },
      links: undefined,
    } as unknown as Partial<ImportConfig>,
  },
}

const asked = (scene: Scene) => {
  const { byOperation } = scene.service.stats()
  return {
    links: byOperation['associateRecords'] ?? 0,
    lookUps: byOperation['queryRecords'] ?? 0,
  }
}

const rejects = async ({ ledger }: Scene, run: number) => {
  const { links } = await ledger.reportLinks(run, {
    states: ['refused', 'outcome_unknown', 'not_sent', 'target_missing', 'not_wanted'],
    after: { ordinal: 0, number: 0 },
    limit: 100,
  })
  return links.map(({ ordinal, state, reason, column }) => [ordinal, state, reason, column])
}

test('one request for each link and one look-up for a hundred targets; the next run asks for none', async () => {
  const scene = await linking()
  const [acme, bolt] = await companies(scene, 'acme.example', 'bolt.example')
  scene.rows(COLUMNS, [
    ['C-1', 'Ada', 'acme.example'],
    ['C-2', 'Ben', 'bolt.example'],
    ['C-3', 'Cem', ' acme.example '],
    ['C-4', 'Dora', ''],
  ])
  const before = asked(scene)
  const first = await scene.run()
  expect(first).toMatchObject({
    state: 'complete',
    books: { read: 4, states: { created: 4 }, links: { read: 3, states: { linked: 3 } } },
  })
  expect(isBalanced(first.books)).toBe(true)
  expect(await targetsOf(scene, 'C-1')).toEqual([acme])
  expect(await targetsOf(scene, 'C-2')).toEqual([bolt])
  expect(await targetsOf(scene, 'C-3')).toEqual([acme])
  expect(await targetsOf(scene, 'C-4')).toEqual([])
  const then = asked(scene)
  expect(then.links - before.links).toBe(3)
  const second = await scene.run()
  expect(second.books).toMatchObject({
    states: { unchanged: 4 },
    links: { read: 3, states: { unchanged: 3, linked: 0 } },
  })
  expect(asked(scene).links).toBe(then.links)
})

test('both ends of links are looked up, 100 a request, also where another sync has written them', async () => {
  const scene = await linking()
  scene.rows(['domain'], [['acme.example'], ['bolt.example']])
  await scene.run(asCompanies)
  scene.rows(COLUMNS, [
    ['C-1', 'Ada', 'acme.example'],
    ['C-2', 'Ben', 'bolt.example'],
  ])
  const before = asked(scene)
  expect(await scene.run()).toMatchObject({ books: { links: { states: { linked: 2 } } } })
  expect(asked(scene)).toEqual({ links: before.links + 2, lookUps: before.lookUps + 2 })
})

/** As a service answers that names no records. */
const bare = (client: ImportClient): ImportClient => {
  const without = (answer: Awaited<ReturnType<ImportClient['batchUpsert']>>) => ({
    ...answer,
    data: answer.data.map((result) => ({ ...result, record: undefined })),
  })
  return clientWith(client, {
    batchUpsert: async (...given) => without(await client.batchUpsert(...given)),
    batchCreate: async (...given) => without(await client.batchCreate(...given)),
  })
}

const ANSWERS = [
  ['with records', (client: ImportClient) => client],
  ['without records', bare],
] as const

test.each(ANSWERS)(
  'a link is waiting until its target comes, and is made then without the source: answers %s',
  async (_, through) => {
    const scene = await linking()
    scene.rows(COLUMNS, [
      ['C-1', 'Ada', 'acme.example'],
      ['C-2', 'Ben', 'bolt.example'],
    ])
    const first = await scene.run()
    expect(first).toMatchObject({
      state: 'complete_with_differences',
      message: '2 links are waiting: their targets do not exist yet',
      books: { links: { states: { target_missing: 2 } } },
    })
    expect(await rejects(scene, first.run)).toEqual([
      [1, 'target_missing', 'target_missing', 'company'],
      [2, 'target_missing', 'target_missing', 'company'],
    ])
    scene.rows(['domain'], [['acme.example']])
    const contacts = { name: 'contacts', kind: 'import', import: { links: [byDomain] } }
    const others = [contacts as never]
    expect(await scene.run({ ...asCompanies, others, through })).toMatchObject({
      resolves: ['contacts'],
    })
    rmSync(join(scene.folder, 'rows.csv'))
    const taken = await scene.links()
    expect(taken).toMatchObject({
      state: 'complete_with_differences',
      rows: 0,
      books: { read: 0, links: { read: 2, states: { linked: 1, target_missing: 1 } } },
    })
    expect(await targetsOf(scene, 'C-1')).toHaveLength(1)
    // What writes nothing wakes nobody.
    scene.rows(['domain'], [['acme.example']])
    expect((await scene.run({ ...asCompanies, others, through })).resolves).toBeUndefined()
  },
)

test.each(['upsert', 'create'] as const)(
  'a waiting link finds the record of its row where no answer has named it (%s)',
  async (mode) => {
    const scene = await linking({}, { mode, verify: 'none' })
    scene.rows(COLUMNS, [
      ['C-1', 'Ada', 'zebra.example'],
      ['C-2', 'Ben', 'acme.example'],
    ])
    const first = await scene.run({ through: bare })
    expect(first.books.links?.states).toMatchObject({ target_missing: 2 })
    const { id } = (await scene.held('C-2'))!
    await scene.client.deleteRecord(CONTACT, id)
    const [zebra] = await companies(scene, 'zebra.example', 'acme.example')
    const end = await scene.links({ through: bare })
    expect(end.books.links).toMatchObject({ read: 2, states: { linked: 1, refused: 1 } })
    expect(await targetsOf(scene, 'C-1')).toEqual([zebra])
    expect(await rejects(scene, end.run)).toEqual([[0, 'refused', 'source_missing', 'company']])
  },
)

test.each(ANSWERS)(
  'targets that come while the run is at work wake the sync itself, once: answers %s',
  async (_, through) => {
    const scene = await linking()
    const contacts = { name: 'contacts', kind: 'import', import: { links: [byDomain] } }
    const others = [contacts as never]
    scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
    const beforeClose = async () => {
      scene.rows(['domain'], [['acme.example']])
      expect((await scene.run({ ...asCompanies, others, through })).resolves).toBeUndefined()
    }
    expect(await scene.run({ others, beforeClose })).toMatchObject({
      books: { links: { states: { target_missing: 1 } } },
      resolves: ['contacts'],
    })
    // The record is gone although the ledger has it: the run that was started for it starts no other.
    const [company] = [...scene.service.records(COMPANY)]
    await scene.client.deleteRecord(COMPANY, company!.id)
    const taken = await scene.links({ others })
    expect(taken).toMatchObject({ books: { links: { states: { target_missing: 1 } } } })
    expect(taken.resolves).toBeUndefined()
  },
)

test('a target that does not exist is an error, or is left out, where the sync says so', async () => {
  const scene = await linking({ missing: 'reject' })
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  const first = await scene.run()
  expect(first).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { created: 1 }, links: { states: { refused: 1 } } },
  })
  expect(await rejects(scene, first.run)).toEqual([[1, 'refused', 'target_missing', 'company']])
  const skipping = await linking({ missing: 'skip' })
  skipping.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  expect(await skipping.run()).toMatchObject({
    state: 'complete',
    books: { links: { read: 1, states: { not_wanted: 1 } } },
  })
})

test('several targets in a cell; one that is named twice counts once', async () => {
  const scene = await dealScene()
  const [ada, ben] = await made(scene, CONTACT, 'svc_external_id', ['C-1', 'C-2'])
  scene.rows(
    ['id', 'name', 'contacts'],
    [
      ['D-1', 'First', 'C-1; C-2 ;C-1;;'],
      ['D-2', 'Second', ' ; '],
    ],
  )
  const run = await scene.run()
  expect(run.books.links).toMatchObject({ read: 2, states: { linked: 2 } })
  expect((await targetsOf(scene, 'D-1')).toSorted()).toEqual([ada, ben].toSorted())
})

test('a new target takes the place of the old one where a record has one only', async () => {
  const scene = await linking()
  const [, bolt] = await companies(scene, 'acme.example', 'bolt.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  await scene.run()
  scene.rows(COLUMNS, [['C-1', 'Ada', 'bolt.example']])
  const second = await scene.run()
  expect(second).toMatchObject({
    state: 'complete',
    message: '1 link took the place of another one, because the association allows one only',
    books: { links: { read: 1, replaced: 1, states: { linked: 1 } } },
  })
  expect(await targetsOf(scene, 'C-1')).toEqual([bolt])
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1, unchanged: 0 } })
})

test('a target whose record was made anew is looked up once more', async () => {
  const scene = await linking()
  scene.rows(['domain'], [['acme.example']])
  await scene.run(asCompanies)
  const [old] = [...scene.service.records(COMPANY)]
  await scene.client.deleteRecord(COMPANY, old!.id)
  const [anew] = await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1 } })
  expect(await targetsOf(scene, 'C-1')).toEqual([anew])
})

test('record ids: one that does not exist is an outcome of its link alone', async () => {
  const { by: _by, ...byId } = byDomain
  const scene = await importScene({ svc_external_id: { column: 'id' } }, {
    links: [{ ...byId, missing: 'reject' }],
  } as Partial<ImportConfig>)
  const [acme] = await companies(scene, 'acme.example')
  scene.rows(
    ['id', 'company'],
    [
      ['C-1', 'no-such-record'],
      ['C-2', acme!],
    ],
  )
  const run = await scene.run()
  expect(run).toMatchObject({
    books: { states: { created: 2 }, links: { states: { linked: 1, refused: 1 } } },
  })
  expect(await rejects(scene, run.run)).toEqual([[1, 'refused', 'target_missing', 'company']])
})

test('a cell that cannot be a key rejects its link, and nothing else of the row', async () => {
  const { by: _by, ...byId } = byDomain
  const scene = await importScene({ svc_external_id: { column: 'id' } }, {
    links: [byId],
  } as Partial<ImportConfig>)
  scene.rows(['id', 'company'], [['C-1', 'two words']])
  const run = await scene.run()
  expect(run).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { created: 1 }, links: { read: 1, states: { refused: 1 } } },
  })
  expect(await rejects(scene, run.run)).toEqual([[1, 'refused', 'not_a_key', 'company']])
})

test('two records with the key of the target: the link is rejected', async () => {
  const scene = await linking({ by: 'svc_name' })
  await made(scene, COMPANY, 'svc_name', ['Acme', 'Acme'])
  scene.rows(COLUMNS, [['C-1', 'Ada', 'Acme']])
  const run = await scene.run()
  expect(await rejects(scene, run.run)).toEqual([[1, 'refused', 'ambiguous_target', 'company']])
})

test('a row that was not written has no links yet; one that maps is linked by a later run', async () => {
  const scene = await linking({}, { mode: 'update' })
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  const run = await scene.run()
  expect(run.books).toMatchObject({
    states: { not_found: 1 },
    links: { states: { not_wanted: 1 } },
  })
  expect(await rejects(scene, run.run)).toEqual([[1, 'not_wanted', 'row_spared', 'company']])
})

test('of several links that runs have left, where one is allowed, the one that was read last is taken up', async () => {
  const scene = await linking()
  scene.rows(COLUMNS, [['C-1', 'Ada', 'zebra.example']])
  expect((await scene.run()).books.links?.states).toMatchObject({ target_missing: 1 })
  scene.rows(COLUMNS, [['C-1', 'Ada B', 'acme.example']])
  const facts = {
    kind: 'problem',
    disposition: 'halt',
    block: 'auth',
    outcomeUnknown: false,
  } as const
  const cut = await scene.run({
    ending: 'cancelled',
    through: (client) =>
      clientWith(client, { batchUpsert: () => Promise.reject(new ServiceFailure('away', facts)) }),
  })
  expect(cut.books.links?.states).toMatchObject({ not_sent: 1 })
  const [acme] = await companies(scene, 'acme.example', 'zebra.example')
  const end = await scene.links()
  expect(end.books.links).toMatchObject({ read: 1, states: { linked: 1 } })
  expect(await targetsOf(scene, 'C-1')).toEqual([acme])
})

test('links of rows that the service refuses are not sent', async () => {
  const scene = await linking()
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [
    ['C-1', 'Ada', 'acme.example'],
    ['C-2', 'Ben', 'acme.example'],
  ])
  const through = (client: ImportClient) =>
    clientWith(client, {
      async batchUpsert(...given) {
        const answer = await client.batchUpsert(...given)
        const problem = {
          type: 'about:blank',
          title: 'x',
          status: 422,
          code: 'request_invalid',
          detail: 'x',
        } as const
        return {
          ...answer,
          data: answer.data.map((one) =>
            one.index === 1 ? { index: 1, status: 422 as const, problem } : one,
          ),
        }
      },
    })
  const run = await scene.run({ through })
  expect(run.books).toMatchObject({
    states: { created: 1, refused: 1 },
    links: { states: { linked: 1, not_sent: 1 } },
  })
  expect(await rejects(scene, run.run)).toEqual([[2, 'not_sent', 'row_not_written', 'company']])
  // The row is sent again by the next run, and its link with it.
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1, unchanged: 1 } })
})

/** A client whose links fail as long as `fails` says so. */
const failing = (fails: () => ServiceFailure | null) => (client: ImportClient) =>
  clientWith(client, {
    call: (async (...given: Parameters<ImportClient['call']>) => {
      const failure = given[0] === 'associateRecords' ? fails() : null
      if (failure === null) return await client.call(...given)
      const { permit } = given[2] ?? {}
      permit?.unused()
      throw failure
    }) as ImportClient['call'],
  })

const failure = (
  status: number,
  more: Partial<ConstructorParameters<typeof ServiceFailure>[1]> = {},
) =>
  new ServiceFailure(`associateRecords: ${status}`, {
    kind: 'problem',
    disposition: 'retry',
    block: 'service',
    outcomeUnknown: status === 500,
    status,
    ...more,
  })

test('a service that fails at first is asked again, and costs no link anything', async () => {
  const scene = await linking()
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  let times = 0
  const through = failing(() => (times++ < 3 ? failure(503) : null))
  const run = await scene.run({ through, tuning: { resend_backoff_ms: [1] } })
  expect(run.books.links).toMatchObject({ states: { linked: 1 } })
  expect(times).toBe(4)
})

test('a link at which the service fails is sent five times; then it failed, and the others are made', async () => {
  const scene = await linking()
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [
    ['C-1', 'Ada', 'acme.example'],
    ['C-2', 'Ben', 'acme.example'],
  ])
  let times = 0
  const through = failing(() => (times++ === 0 || times > 2 ? failure(500) : null))
  const tuning = { item_backoff_ms: [1], in_flight: 1 }
  const run = await scene.run({ through, tuning })
  expect(run.books.links).toMatchObject({ states: { linked: 1, outcome_unknown: 1 } })
  expect(times).toBe(6)
  expect(run.state).toBe('complete_with_rejects')
  expect((await scene.links()).books.links).toMatchObject({ states: { linked: 1 } })
})

test('a service that stays away blocks the run, and the links are planned still', async () => {
  const scene = await linking()
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  let times = 0
  const through = failing(() => (times++ < 7 ? failure(503) : null))
  const run = await scene.run({ through, tries: 3, tuning: { resend_backoff_ms: [1] } })
  expect(run.books.links).toMatchObject({ states: { linked: 1 } })
})

test('a permission that is lacking blocks the run', async () => {
  const scene = await linking()
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  const forbidden = () =>
    failure(403, { disposition: 'halt', block: 'permission', reason: 'write_forbidden' })
  await expect(scene.run({ through: failing(forbidden) })).rejects.toMatchObject({
    type: 'Blocked',
  })
})

test('links that are refused one after the other block the run, and not the others before them', async () => {
  const scene = await linking()
  await companies(scene, 'acme.example')
  scene.rows(
    COLUMNS,
    Array.from({ length: 60 }, (_, index) => [`C-${index}`, 'x', 'acme.example']),
  )
  const refused = () =>
    failure(400, { disposition: 'reject', block: 'contract', problemCode: 'request_invalid' })
  await expect(scene.run({ through: failing(refused) })).rejects.toMatchObject({
    type: 'Blocked',
    message: expect.stringContaining('51 links in a row'),
  })
})

test('a service without the operations that link is refused before anything is staged', async () => {
  const scene = await linking()
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  const through = (client: ImportClient) =>
    clientWith(client, { lackingOperations: async () => ['associateRecords'] })
  await expect(scene.run({ through })).rejects.toMatchObject({
    type: 'MappingInvalid',
    message: expect.stringContaining('the document of the service does not have associateRecords'),
  })
  expect((await scene.ledger.progress(1)).read).toBe(0)
})

test('what is wrong with links is said at once', async () => {
  const scene = await importScene({ svc_external_id: { column: 'id' } }, {
    links: [
      { ...byDomain, association: 'svc_contact_compny' },
      { ...byDomain, association: 'svc_deal_company', column: 'compny' },
      { ...byDomain, to: 'svc_deal', by: undefined },
      { ...byDomain, by: 'svc_domian' },
    ],
  } as unknown as Partial<ImportConfig>)
  scene.rows(['id', 'company'], [['C-1', 'x']])
  const failed = await scene.run().then(
    () => [],
    (error: { details: [string[]] }) => error.details[0],
  )
  expect(failed).toEqual([
    'association svc_contact_compny does not exist, or the key cannot read it; did you mean `svc_contact_company`?',
    'column "compny" (for svc_deal_company) is not in the source; did you mean `company`?; it has: id, company',
    'association svc_deal_company begins at svc_deal, not at svc_contact; associations of svc_contact: `svc_contact_company`',
    'association svc_contact_company leads to svc_company, not to svc_deal',
    'property svc_domian does not exist on svc_company, or the key cannot read it; did you mean `svc_domain`?',
  ])
})

const linkSync = (more: Partial<ImportConfig> = {}) =>
  importScene({ svc_external_id: { column: 'contact' } }, {
    mode: 'link',
    empty: 'reject',
    links: [{ ...byDomain, column: 'domain' }],
    ...more,
  } as Partial<ImportConfig>)

test('a sync that only links: rows are found, nothing of them is written, and known ones are not looked up', async () => {
  const scene = await linkSync()
  const [acme] = await companies(scene, 'acme.example')
  const [ada] = await made(scene, CONTACT, 'svc_external_id', ['C-1'])
  scene.rows(
    ['contact', 'domain'],
    [
      ['C-1', 'acme.example'],
      ['C-2', 'acme.example'],
    ],
  )
  const first = await scene.run()
  expect(first).toMatchObject({
    state: 'complete_with_differences',
    books: {
      states: { exists: 1, not_found: 1 },
      links: { states: { linked: 1, target_missing: 1 } },
    },
  })
  expect(first.message).toBe('1 link is waiting: its target does not exist yet')
  expect(await targetsOf(scene, 'C-1')).toEqual([acme])
  expect(scene.service.stats().byOperation['batchUpsert'] ?? 0).toBe(0)
  expect(ada).toBeDefined()
  scene.rows(['contact', 'domain'], [['C-1', 'acme.example']])
  const before = asked(scene)
  expect((await scene.run()).books).toMatchObject({
    states: { exists: 1 },
    links: { states: { unchanged: 1 } },
  })
  expect(asked(scene)).toEqual(before)
})

test('a sync that only links: several rows of one record, each with its own target', async () => {
  const scene = await importScene({ svc_external_id: { column: 'deal' } }, {
    object_type: 'svc_deal',
    mode: 'link',
    empty: 'reject',
    links: [
      {
        association: 'svc_deal_contact',
        to: CONTACT,
        by: 'svc_external_id',
        column: 'contact',
        missing: 'park',
      },
    ],
  } as Partial<ImportConfig>)
  const contacts = await made(scene, CONTACT, 'svc_external_id', ['C-1', 'C-2'])
  await made(scene, 'svc_deal', 'svc_external_id', ['D-1'])
  scene.rows(
    ['deal', 'contact'],
    [
      ['D-1', 'C-1'],
      ['D-1', 'C-2'],
    ],
  )
  expect((await scene.run()).books).toMatchObject({
    states: { exists: 2, superseded: 0 },
    links: { states: { linked: 2 } },
  })
  expect((await targetsOf(scene, 'D-1')).toSorted()).toEqual(contacts.toSorted())
})

test('a waiting link whose record comes later is made by the task', async () => {
  const scene = await linkSync()
  await companies(scene, 'acme.example')
  scene.rows(['contact', 'domain'], [['C-1', 'acme.example']])
  expect((await scene.run()).books.links).toMatchObject({ states: { target_missing: 1 } })
  await made(scene, CONTACT, 'svc_external_id', ['C-1'])
  expect(await scene.links()).toMatchObject({
    state: 'complete',
    books: { links: { read: 1, states: { linked: 1 } } },
  })
})

test('a sync that only links is woken by the one that brings its records', async () => {
  const scene = await linkSync()
  await companies(scene, 'acme.example')
  scene.rows(['contact', 'domain'], [['C-1', 'acme.example']])
  await scene.run()
  const contacts = { name: 'contacts', kind: 'import', import: { mode: 'link', links: [byDomain] } }
  const options = {
    as: { name: 'people', import: { mode: 'upsert', links: undefined } },
    others: [contacts],
  } as never
  scene.rows(['contact', 'domain'], [['C-7', 'acme.example']])
  expect((await scene.run(options)).resolves).toBeUndefined()
  scene.rows(['contact', 'domain'], [['C-1', 'acme.example']])
  expect((await scene.run(options)).resolves).toEqual(['contacts'])
})

test('a reconciliation says which links are missing and which no row names; a repair makes the missing ones', async () => {
  const scene = await dealScene()
  const [ada, ben] = await made(scene, CONTACT, 'svc_external_id', ['C-1', 'C-2'])
  scene.rows(['id', 'name', 'contacts'], [['D-1', 'First', 'C-1']])
  await scene.run()
  const deal = (await scene.held('D-1'))!
  expect(await scene.reconcile()).toMatchObject({
    state: 'complete',
    books: { links: { states: { unchanged: 1 } } },
    differences: [],
  })
  // One link goes with its record and comes back without it; another one is made by hand.
  await scene.client.deleteRecord(CONTACT, ada!)
  await made(scene, CONTACT, 'svc_external_id', ['C-1'])
  await scene.client.associateRecords('svc_deal', deal.id, 'svc_deal_contact', ben!)
  const looked = await scene.reconcile()
  expect(looked.state).toBe('complete_with_differences')
  expect(
    looked.differences.map(({ stream, kind, ours, theirs }) => ({ stream, kind, ours, theirs })),
  ).toEqual([
    { stream: 'links: svc_deal_contact', kind: 'missing', ours: '"C-1"', theirs: null },
    { stream: 'links: svc_deal_contact', kind: 'extra', ours: null, theirs: JSON.stringify(ben) },
  ])
  const repaired = await scene.reconcile({ repair: true, deleteExtra: true }, { approves: true })
  expect(repaired.books.links).toMatchObject({ states: { linked: 1 } })
  expect(repaired.differences.map(({ kind, repaired: is }) => [kind, is])).toEqual(
    expect.arrayContaining([
      ['missing', true],
      ['extra', false],
    ]),
  )
  const found = (await scene.ledger.run(repaired.run))!
  const account = await countRunAccount(scene.ledger, found)
  expect(nextStepOf({ hint: (command) => command }, found, account.differences!)).toBe(
    '1 link that no row names is left; a wrong one is removed in the CRM',
  )
  const verdict = reportVerdict(
    found,
    { ...account, comparison: comparisonOf(found, account) },
    (command) => command,
  )
  expect(verdict.meaning).toContain('Links that no row names (1) stay')
  expect(verdict.next.map(({ command }) => command)).toEqual([`reconcile ${found.sync}`])
  // The link that no row names stays, and so does its record.
  expect(await targetsOf(scene, 'D-1')).toHaveLength(2)
})

test('links that a correction of a row has brought in are no extra ones', async () => {
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_email: { column: 'email' } },
    { links: [byDomain] } as Partial<ImportConfig>,
  )
  await companies(scene, 'acme.example', 'orbit.example')
  scene.rows(['id', 'email', 'company'], [['k1', 'no e-mail', 'acme.example']])
  const first = await scene.run()
  expect(first.books.states).toMatchObject({ invalid: 1 })
  const correction = await scene.ledger.addCorrections(first.run, null, [
    { ordinal: 1, raw: ['k1', 'a@x.example', 'orbit.example'] },
  ])
  const mended = await scene.retry(first.run, { correction })
  expect(mended.books.links).toMatchObject({ states: { linked: 1 } })
  const looked = await scene.reconcile()
  expect(looked.books.states).toMatchObject({ corrected: 1 })
  expect([looked.state, looked.differences]).toEqual(['complete', []])
})

test('a row that asks for the deletion of its record asks for no links', async () => {
  const scene = await linking({}, { delete_when: { column: 'name', equals: ['gone'] } })
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [
    ['C-1', 'gone', 'acme.example'],
    ['C-2', 'Ben', 'acme.example'],
  ])
  expect(await scene.run()).toMatchObject({
    state: 'complete',
    books: {
      states: { deletion_requested: 1, created: 1 },
      links: { read: 1, states: { linked: 1 } },
    },
  })
})

test('links that were left are taken up by a sync with delete_when too', async () => {
  const scene = await linking({}, { delete_when: { column: 'state', equals: ['gone'] } })
  scene.rows([...COLUMNS, 'state'], [['C-1', 'Ada', 'acme.example', '']])
  expect((await scene.run()).books.links).toMatchObject({ states: { target_missing: 1 } })
  await companies(scene, 'acme.example')
  expect(await scene.links()).toMatchObject({
    state: 'complete',
    books: { links: { read: 1, states: { linked: 1 } } },
  })
})

test('a link to a record that a run removed waits for it, and is made again when it comes back', async () => {
  const scene = await linking({ by: 'svc_name' })
  const properties = { svc_domain: { column: 'domain' }, svc_name: { column: 'name' } }
  const { as } = asCompanies
  const companySync = {
    as: { ...as, import: { ...as.import, properties, missing_rows: 'delete' } },
    approves: true,
  } as const
  const runCompanies = (...rows: string[][]) => {
    scene.rows(['domain', 'name'], rows)
    return scene.run({ ...companySync, others: [contactSync] })
  }
  const contactSync = {
    name: 'contacts',
    kind: 'import',
    import: { mode: 'upsert', links: [{ ...byDomain, by: 'svc_name' }] },
  } as never
  const runContacts = () => {
    scene.rows(COLUMNS, [['C-1', 'Ada', 'Acme']])
    return scene.run()
  }
  const [acme, bolt] = [
    ['acme.example', 'Acme'],
    ['bolt.example', 'Bolt'],
  ]
  await runCompanies(acme!, bolt!)
  expect((await runContacts()).books.links).toMatchObject({ states: { linked: 1 } })
  expect((await runCompanies(bolt!)).books.removals).toEqual({ deleted: 1 })
  expect(await runContacts()).toMatchObject({
    state: 'complete_with_differences',
    books: { links: { states: { target_missing: 1 } } },
  })
  expect((await runCompanies(acme!, bolt!)).resolves).toEqual(['contacts'])
  expect((await runContacts()).books.links).toMatchObject({ states: { linked: 1 } })
  // The same without a run in between: nobody has looked for the record while it was gone.
  await runCompanies(bolt!)
  expect((await runCompanies(acme!, bolt!)).resolves).toEqual(['contacts'])
  expect((await scene.links()).books.links).toMatchObject({ states: { linked: 1 } })
  expect(await targetsOf(scene, 'C-1')).toHaveLength(1)
})

test('a link that the service answers and does not keep is not known as linked; the next run makes it', async () => {
  const scene = await linking({}, { verify: 'sample' })
  await companies(scene, 'acme.example', 'bolt.example')
  scene.rows(COLUMNS, [
    ['C-1', 'Ada', 'acme.example'],
    ['C-2', 'Ben', 'bolt.example'],
    ['C-3', 'Cem', 'acme.example'],
  ])
  let times = 0
  // The right answer to two of three, and nothing behind it.
  const through = (client: ImportClient) =>
    clientWith(client, {
      call: async (...given: Parameters<ImportClient['call']>) => {
        if (given[0] !== 'associateRecords' || ++times > 2) return await client.call(...given)
        given[2]?.permit?.unused()
        return { status: 201, requestId: 'r', body: {} } as never
      },
    })
  const run = await scene.run({ through })
  expect(run.books.links).toMatchObject({ read: 3, states: { linked: 1, vanished: 2 } })
  expect(isBalanced(run.books)).toBe(true)
  expect(run.state).toBe('complete_with_differences')
  expect(run.message).toContain('2 links were answered as made and are not there')
  const again = await scene.run()
  expect(again.books.links).toMatchObject({ states: { linked: 2, unchanged: 1 } })
  expect(again.state).toBe('complete')
  expect(await targetsOf(scene, 'C-1')).toHaveLength(1)
})

test('of what is read back: nothing with verify: none; every record with all; a hundred or more of a sample', async () => {
  const listings = (scene: Scene) => scene.service.stats().byOperation['listAssociationEdges'] ?? 0
  const rows = Array.from({ length: 250 }, (_, index) => [`C-${index}`, 'x', 'acme.example'])
  for (const [verify, read] of [
    ['none', 0],
    ['sample', 125],
    ['all', 250],
  ] as const) {
    const scene = await linking({}, { verify })
    await companies(scene, 'acme.example')
    scene.rows(COLUMNS, rows)
    expect((await scene.run()).state).toBe('complete')
    expect(listings(scene)).toBe(read)
    // What is known is not read again.
    await scene.run()
    expect(listings(scene)).toBe(read)
  }
})

test('links that cannot be listed are not read back, and a warning says so', async () => {
  const scene = await linking({}, { verify: 'sample' })
  await companies(scene, 'acme.example')
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  const through = (client: ImportClient) =>
    clientWith(client, {
      associationEdgePages: () => {
        throw failure(403, { disposition: 'halt', block: 'permission' })
      },
    })
  const run = await scene.run({ through })
  expect(run.state).toBe('complete')
  expect((await scene.ledger.run(run.run))!.warnings).toContainEqual(
    expect.stringContaining('links were not read back'),
  )
})

/** A company has one contact, and several e-mails that name it. */
async function oneSourceScene() {
  const name = 'only_contact'
  const only = { name, label: 'Only', source: CONTACT, target: COMPANY, description: '' }
  const associations = new Map([
    ...SYSTEM_SCHEMA.associations,
    [name, { ...only, cardinality: 'one_to_many' as const }],
  ])
  const link = { ...byDomain, association: name, by: 'svc_email' }
  const scene = await importScene(
    { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } },
    { links: [link] } as Partial<ImportConfig>,
    { schema: { ...SYSTEM_SCHEMA, associations } },
  )
  const emails = ['a@x.example', 'b@x.example']
  await scene.client.createRecord(COMPANY, { svc_name: 'X', svc_email: emails })
  await scene.client.createRecord(COMPANY, { svc_name: 'Y', svc_email: ['c@x.example'] })
  return scene
}

test('two rows that name the only place of a record by two values: the last one has it, in every run', async () => {
  const scene = await oneSourceScene()
  scene.rows(COLUMNS, [
    ['C-1', 'Ada', 'a@x.example'],
    ['C-2', 'Ben', 'c@x.example'],
    ['C-3', 'Cem', 'b@x.example'],
  ])
  const run = await scene.run()
  expect(run.books.links).toMatchObject({ states: { linked: 2, not_wanted: 1 } })
  expect(await rejects(scene, run.run)).toEqual([[1, 'not_wanted', 'one_source', 'company']])
  expect(await targetsOf(scene, 'C-1')).toEqual([])
  expect(await targetsOf(scene, 'C-3')).toHaveLength(1)
  expect(run.state).toBe('complete')
  const before = asked(scene).links
  const again = await scene.run()
  expect(again.books.links).toMatchObject({ states: { unchanged: 2, not_wanted: 1 } })
  expect(asked(scene).links).toBe(before)
  expect((await scene.reconcile()).state).toBe('complete')
})

test('the place that one slice has given is taken by a later link: no link of the run says that it is there', async () => {
  const scene = await oneSourceScene()
  // The first row and the last are in pages of their own.
  const between = Array.from({ length: 1_000 }, (_, index) => [
    `N-${index}`,
    'x',
    `n${index}@x.example`,
  ])
  scene.rows(COLUMNS, [['C-1', 'Ada', 'a@x.example'], ...between, ['C-2', 'Ben', 'b@x.example']])
  const run = await scene.run()
  expect(run.books.links).toMatchObject({ read: 1_002, states: { linked: 1 }, replaced: 1 })
  expect(isBalanced(run.books)).toBe(true)
  expect((await rejects(scene, run.run))[0]).toEqual([1, 'not_wanted', 'one_source', 'company'])
  expect(await targetsOf(scene, 'C-1')).toEqual([])
  expect(await targetsOf(scene, 'C-2')).toHaveLength(1)
  const before = asked(scene).links
  expect((await scene.run()).books.links).toMatchObject({ states: { unchanged: 1 } })
  expect(asked(scene).links).toBe(before)
})

test('links at which the service fails end as failed in a bounded time, and the others go on', async () => {
  const scene = await linking({}, { verify: 'none' })
  const [bad] = await companies(scene, 'bad.example', 'acme.example')
  const rows = Array.from({ length: 60 }, (_, index) => [
    `C-${index}`,
    'x',
    index % 5 === 0 ? 'bad.example' : 'acme.example',
  ])
  scene.rows(COLUMNS, rows)
  let times = 0
  const through = (client: ImportClient) =>
    clientWith(client, {
      call: async (...given: Parameters<ImportClient['call']>) => {
        const isBad = JSON.stringify(given[1]).includes(bad!)
        if (given[0] !== 'associateRecords' || !isBad) return await client.call(...given)
        times++
        given[2]?.permit?.unused()
        throw failure(500)
      },
    })
  const run = await scene.run({ through, tuning: { item_backoff_ms: [1] } })
  expect(run.books.links).toMatchObject({ states: { linked: 48, outcome_unknown: 12 } })
  expect(times).toBe(60)
})

test('a slice that has looked targets up goes on until a link is sent, however long its permit takes', async () => {
  const scene = await linking({}, { keep_before: true })
  const [company] = await companies(scene, 'a.example')
  scene.rows(COLUMNS, [
    ['c-1', 'Ada', 'a.example'],
    ['c-2', 'Bob', 'a.example'],
  ])
  let gaveUp = 0
  const through = (client: ImportClient): ImportClient => {
    const { quota: real } = client
    const acquire = async (options: AcquireOptions = {}): Promise<Permit> => {
      if (gaveUp === 5) throw new Error('five slices have sent nothing')
      await systemClock.sleep(1_500, options.signal).catch((error: unknown) => {
        gaveUp++
        throw error
      })
      return await real.acquire(options)
    }
    const quota: Quota = { limitPerMinute: () => real.limitPerMinute(), acquire }
    return clientWith(client, { quota })
  }
  const ended = await scene.run({ through, tuning: { segment_ms: 1_000, in_flight: 1 } })
  expect(ended.state).toBe('complete')
  expect(await targetsOf(scene, 'c-1')).toEqual([company])
  expect(await targetsOf(scene, 'c-2')).toEqual([company])
}, 600_000)
