// What is known of links, with a real service: records that go, syncs that take each other's place, links that leave the source and
// come back.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ImportConfig, LinkMapping } from '../../../config/index.ts'
import { backupFile } from '../../../src/sqlite/backup.ts'
import { importScene, CONTACT, type Scene } from './scene.ts'

const COMPANY = 'svc_company'
const link: LinkMapping = {
  association: 'svc_contact_company',
  to: COMPANY,
  by: 'svc_domain',
  column: 'company',
  missing: 'park',
}
const PROPERTIES = { svc_external_id: { column: 'id' }, svc_first_name: { column: 'name' } }
const COLUMNS = ['id', 'name', 'company']
const PEOPLE = [
  ['C-1', 'Ada', 'acme.example'],
  ['C-2', 'Ben', 'bolt.example'],
]

const contacts = (more: Partial<ImportConfig> = {}) =>
  importScene(PROPERTIES, { links: [link], ...more } as Partial<ImportConfig>)

/** A sync of companies, in the same ledger and over the same file. */
const companies = (more: Partial<ImportConfig> = {}) => ({
  as: {
    name: 'companies',
    import: {
      object_type: COMPANY,
      matching_property: 'svc_domain',
      properties: { svc_domain: { column: 'domain' } },
      links: undefined,
      delete_when: undefined,
      missing_rows: 'delete',
      missing_rows_max_percent: 100,
      ...more,
    } as unknown as Partial<ImportConfig>,
  },
})
const domains = (scene: Scene, ...names: string[]) =>
  scene.rows(
    ['domain'],
    names.map((name) => [name]),
  )

async function targetsOf(scene: Scene, externalId: string): Promise<string[]> {
  const record = (await scene.held(externalId))!
  const ids: string[] = []
  for await (const { data } of scene.client.associationEdgePages(CONTACT, record.id))
    ids.push(...data.map((edge) => edge.target_id))
  return ids
}
const companyOf = async ({ client }: Scene, domain: string) =>
  (
    await client.queryRecords(COMPANY, {
      filter: { property: 'svc_domain', op: 'eq', value: domain },
    })
  ).data[0]!.id
const made = async ({ client }: Scene, domain: string) =>
  (await client.createRecord(COMPANY, { svc_domain: domain })).id

/** Two companies and two contacts, linked. */
async function linked(scene: Scene): Promise<void> {
  domains(scene, 'acme.example', 'bolt.example')
  await scene.run(companies())
  scene.rows(COLUMNS, PEOPLE)
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 2 } })
}

describe('a record at the end of known links', () => {
  test('that a sync removes parks them; they are made when a person makes it anew', async () => {
    const scene = await contacts()
    await linked(scene)
    domains(scene, 'bolt.example')
    expect((await scene.run(companies())).books.removals).toEqual({ deleted: 1 })
    scene.rows(COLUMNS, PEOPLE)
    expect((await scene.run()).books.links).toMatchObject({
      states: { target_missing: 1, unchanged: 1 },
    })
    const anew = await made(scene, 'acme.example')
    expect((await scene.links()).books.links).toMatchObject({ read: 1, states: { linked: 1 } })
    expect(await targetsOf(scene, 'C-1')).toEqual([anew])
    expect((await scene.run()).books.links).toMatchObject({ states: { unchanged: 2 } })
  })

  test('is noted before its removal is settled, so that a run that breaks off between notes it again', async () => {
    const scene = await contacts()
    await linked(scene)
    const { ledger } = scene
    const settle = ledger.settleRemovals.bind(ledger)
    let breaks = 1
    ledger.settleRemovals = async (...given) => {
      if (given[2].some(({ state }) => state === 'deleted') && breaks-- > 0)
        throw new Error('broken off')
      await settle(...given)
    }
    domains(scene, 'bolt.example')
    expect((await scene.run({ ...companies(), tries: 2 })).books.removals).toEqual({ deleted: 1 })
    ledger.settleRemovals = settle
    const anew = await made(scene, 'acme.example')
    expect((await scene.links()).books.links).toMatchObject({ read: 1, states: { linked: 1 } })
    expect(await targetsOf(scene, 'C-1')).toEqual([anew])
  })

  test('that a reconciliation deletes, or finds to be gone, parks them', async () => {
    const scene = await contacts()
    await linked(scene)
    await scene.client.deleteRecord(COMPANY, await companyOf(scene, 'bolt.example'))
    domains(scene, 'other.example')
    const options = { ...companies({ missing_rows: 'ignore' }), approves: true }
    await scene.reconcile({ repair: true, deleteExtra: true }, options)
    const ids = [await made(scene, 'acme.example'), await made(scene, 'bolt.example')]
    scene.rows(COLUMNS, PEOPLE)
    expect((await scene.run()).books.links).toMatchObject({ states: { linked: 2 } })
    expect(await targetsOf(scene, 'C-1')).toEqual([ids[0]])
    expect(await targetsOf(scene, 'C-2')).toEqual([ids[1]])
  })

  test('that the service does not find parks those of all syncs', async () => {
    const scene = await contacts()
    await linked(scene)
    await scene.client.deleteRecord(COMPANY, await companyOf(scene, 'acme.example'))
    const anew = await made(scene, 'acme.example')
    const later = { as: { name: 'later' } }
    scene.rows(COLUMNS, [['C-3', 'Cem', 'acme.example']])
    expect((await scene.run(later)).books.links).toMatchObject({ states: { linked: 1 } })
    scene.rows(COLUMNS, PEOPLE)
    expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1, unchanged: 1 } })
    expect(await targetsOf(scene, 'C-1')).toEqual([anew])
  })
})

test('links of a record that is removed and made anew by another sync are asked for again, and take the place of none', async () => {
  const scene = await contacts({ missing_rows: 'delete', missing_rows_max_percent: 100 })
  await linked(scene)
  scene.rows(COLUMNS, PEOPLE.slice(1))
  expect((await scene.run()).books.removals).toEqual({ deleted: 1 })
  await scene.client.createRecord(CONTACT, { svc_external_id: 'C-1' })
  scene.rows(COLUMNS, PEOPLE)
  const back = await scene.run()
  expect(back.books.links).toEqual(
    expect.objectContaining({
      states: expect.objectContaining({ linked: 1, unchanged: 1 }) as unknown,
    }),
  )
  expect(back.books.links?.replaced).toBeUndefined()
  expect(await targetsOf(scene, 'C-1')).toHaveLength(1)
})

test('of a row that asks for the deletion of its record no link is read, and none is known after', async () => {
  const scene = await contacts({
    delete_when: { column: 'name', equals: ['gone'] },
    missing_rows_max_percent: 100,
  } as Partial<ImportConfig>)
  await linked(scene)
  scene.rows(COLUMNS, [
    ['C-1', 'gone', 'acme.example'],
    ['C-2', 'Ben', 'bolt.example'],
    ['C-3', 'gone', 'acme.example'],
  ])
  const run = await scene.run()
  expect(run).toMatchObject({
    state: 'complete',
    books: {
      states: { deletion_requested: 2 },
      links: { read: 1, states: { unchanged: 1, not_sent: 0 } },
    },
  })
  const known = await scene.ledger.knownLinks(run.run, { after: null, limit: 10 })
  expect(known.links.map(({ key }) => key)).toEqual(['C-2'])
  scene.rows(COLUMNS, PEOPLE)
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1, unchanged: 1 } })
})

test('two syncs that link one association, of which a record has one, each know what the other replaced', async () => {
  const scene = await contacts()
  await linked(scene)
  const linking = {
    as: {
      name: 'linking',
      import: {
        mode: 'link',
        properties: { svc_external_id: { column: 'id' } },
      } as Partial<ImportConfig>,
    },
  }
  scene.rows(COLUMNS, [['C-1', '', 'bolt.example']])
  for (const target of ['bolt.example', 'acme.example', 'bolt.example', 'acme.example']) {
    const isOther = target === 'bolt.example'
    scene.rows(COLUMNS, isOther ? [['C-1', '', target]] : PEOPLE)
    const run = await scene.run(isOther ? linking : {})
    expect(run.books.links).toMatchObject({ replaced: 1, states: { linked: 1 } })
    expect(run.message).toContain('1 link took the place of another one')
    expect(await targetsOf(scene, 'C-1')).toEqual([await companyOf(scene, target)])
  }
})

test('a link that has left the source and comes back is made again; a reconciliation shows it as extra meanwhile', async () => {
  const scene = await contacts()
  await linked(scene)
  scene.rows(COLUMNS, [['C-1', 'Ada', ''], PEOPLE[1]!])
  await scene.run()
  const compared = await scene.reconcile()
  expect(compared.differences.map(({ stream, kind }) => `${stream} ${kind}`)).toEqual([
    'links: svc_contact_company extra',
  ])
  const bolt = await companyOf(scene, 'bolt.example')
  const ada = (await scene.held('C-1'))!
  await scene.client.associateRecords(CONTACT, ada.id, 'svc_contact_company', bolt)
  scene.rows(COLUMNS, PEOPLE)
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1, unchanged: 1 } })
  expect(await targetsOf(scene, 'C-1')).toEqual([await companyOf(scene, 'acme.example')])
  expect((await scene.run()).books.links).toMatchObject({ states: { unchanged: 2 } })
})

test('a link that a repair has made is known with the records of today', async () => {
  const scene = await contacts()
  await linked(scene)
  await scene.client.deleteRecord(COMPANY, await companyOf(scene, 'acme.example'))
  const anew = await made(scene, 'acme.example')
  const repaired = await scene.reconcile({ repair: true })
  expect(repaired.books.links).toMatchObject({ states: { linked: 1 } })
  const known = await scene.ledger.knownLinksOf(repaired.run, ['C-1'])
  expect(known.get('C-1')).toMatchObject([{ state: 'linked', targetId: anew }])
  expect((await scene.run()).books.links).toMatchObject({ states: { unchanged: 2 } })
})

test('a ledger that was put back: waiting links of the backup wait for their rows, and take the place of none', async () => {
  const scene = await contacts()
  domains(scene, 'acme.example')
  await scene.run(companies())
  scene.rows(COLUMNS, [['C-1', 'Ada', 'bolt.example']])
  expect((await scene.run()).books.links).toMatchObject({ states: { target_missing: 1 } })
  const backup = join(scene.folder, 'backup.db')
  backupFile(scene.ledger.place, backup)
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  await scene.run()
  await scene.replaceLedger(backup)
  domains(scene, 'acme.example', 'bolt.example')
  const others = [{ name: 'contacts', kind: 'import', import: { links: [link] } } as never]
  expect((await scene.run({ ...companies(), others })).resolves).toBeUndefined()
  expect((await scene.links()).books).toMatchObject({ read: 0 })
  expect(await targetsOf(scene, 'C-1')).toEqual([await companyOf(scene, 'acme.example')])
  scene.rows(COLUMNS, [['C-1', 'Ada', 'acme.example']])
  expect((await scene.run()).books.links).toMatchObject({ states: { linked: 1 } })
})
