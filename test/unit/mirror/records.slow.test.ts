// The mirror of one type, against a real service, ledger and warehouse: at rest the table equals the service, whatever
// happened on the way, and a run without changes costs next to nothing.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ServiceFailure } from '../../../src/core/errors.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import type { MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import { startPostgres, type Postgres } from '../../postgres.ts'
import { everyShape, samples, seed, TYPE } from '../sources/every-shape.ts'
import { CONTACT, mirrorScene, SCHEMA, shortSleep, type Scene } from './scene.ts'
import { sampled } from '../../runs.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const places = {
  duckdb: async () => ({}),
  postgres: async () => ({ place: { postgres: await postgres.newDatabase(), folder: '/' } }),
}

const idsOf = ({ service }: Scene) => service.records(CONTACT).map(({ id }) => id)

const removeAll = async ({ client }: Scene, ids: readonly string[]) => {
  for (let from = 0; from < ids.length; from += 50)
    await client.batchDelete(CONTACT, { items: ids.slice(from, from + 50).map((id) => ({ id })) })
}

/** A page of a query fails once, in the place of the `nth`. */
const failingPage =
  (nth: number, error: () => Error) =>
  (client: MirrorClient): MirrorClient => {
    let pages = 0
    return Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          if (++pages === nth) throw error()
          yield page
        }
      },
    })
  }

const cursorInvalid = () =>
  new ServiceFailure('refused', {
    kind: 'problem',
    disposition: 'halt',
    block: 'contract',
    outcomeUnknown: false,
    status: 400,
    reason: 'cursor_invalid',
  })

describe.each(sampled(['duckdb'], ['postgres']))('on %s', (kind) => {
  const scene = async (options: Parameters<typeof mirrorScene>[0] = {}) =>
    await mirrorScene({ ...(await places[kind]()), ...options })

  test('the first run reads everything, the second only looks', async () => {
    const s = await scene({ service: { seedRecords: 310 } })
    const first = await s.run()
    expect(first).toMatchObject({ state: 'complete', message: null })
    expect(first.streams[CONTACT]).toMatchObject({
      state: 'complete',
      mode: 'full',
      table: CONTACT,
      inserted: 310,
      deleted: 0,
      misfits: 0,
      serviceCount: 310,
      tableCount: 310,
    })
    expect(await s.difference()).toEqual([])

    const second = await s.run()
    expect(second.streams[CONTACT]).toMatchObject({ mode: 'incremental', inserted: 0, changed: 0 })
    expect(second.requests).toBeLessThanOrEqual(9)
    expect(await s.difference()).toEqual([])
  })

  test('changes and new records arrive, and nothing else is read', async () => {
    const s = await scene({ service: { seedRecords: 400 } })
    await s.run()
    const [one, two] = idsOf(s) as [string, string]
    await s.client.updateRecord(CONTACT, one, { svc_first_name: 'Changed' })
    await s.client.updateRecord(CONTACT, two, { svc_email: null })
    await s.client.createRecord(CONTACT, { svc_first_name: 'New' })
    const { streams, requests } = await s.run()
    expect(streams[CONTACT]).toMatchObject({
      mode: 'incremental',
      inserted: 1,
      changed: 2,
    })
    expect(streams[CONTACT]!.read).toBeLessThan(10)
    expect(requests).toBeLessThanOrEqual(9)
    expect(await s.difference()).toEqual([])
  })

  test('deleted records are found by counting, marked after a 404, and come back if they do', async () => {
    const s = await scene({ service: { seedRecords: 1_500 } })
    await s.run()
    const ids = idsOf(s)
    await removeAll(s, [ids[0]!, ids[700]!, ids[1_499]!])
    const { streams, requests } = await s.run()
    expect(streams[CONTACT]).toMatchObject({ deleted: 3, serviceCount: 1_497, tableCount: 1_497 })
    expect(requests).toBeLessThan(60)
    expect(await s.difference()).toEqual([])
    const marked = await s.sql(
      `SELECT _id FROM ${SCHEMA}.${CONTACT} WHERE _deleted_at IS NOT NULL ORDER BY _id`,
    )
    expect(marked.map(([id]) => id)).toEqual([ids[0]!, ids[700]!, ids[1_499]!].toSorted())
  })

  test('hard deletions leave no row', async () => {
    const s = await scene({ service: { seedRecords: 50 }, config: { deletions: 'hard' } })
    await s.run()
    await removeAll(s, idsOf(s).slice(0, 2))
    await s.run()
    expect(await s.sql(`SELECT count(*) FROM ${SCHEMA}.${CONTACT}`)).toEqual([['48']])
  })

  test('a type with every shape of value', async () => {
    const s = await scene({
      service: { schema: everyShape() },
      config: { object_types: [TYPE] },
    })
    await seed(s.client, samples(120))
    const { streams } = await s.run()
    expect(streams[TYPE]).toMatchObject({ state: 'complete', inserted: 120 })
    expect(await s.difference(TYPE)).toEqual([])
  })
})

test('many deletions need a second listing, and a person where they are too many', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 640 } })
  await s.run()
  await removeAll(s, idsOf(s).slice(100, 310))
  const waiting = await s.run({ full: true })
  expect(waiting.results[`records ${CONTACT}`]).toEqual({ state: 'approval', rows: 210, of: 640 })
  expect(waiting.streams[CONTACT]).toMatchObject({ state: 'approval', deleted: 0 })

  const rejected = await s.run({ full: true, verdict: ({ rows }) => ({ approved: false, rows }) })
  expect(rejected.streams[CONTACT]).toMatchObject({
    state: 'complete',
    deleted: 0,
    serviceCount: 430,
    tableCount: 640,
    message: expect.stringContaining('rejected'),
  })
  // What was rejected is not asked again by every run.
  for (let time = 0; time < 2; time++) {
    const kept = await s.run({ verdict: () => null })
    expect(kept.results[`records ${CONTACT}`]).toEqual({ state: 'done' })
    expect(kept.streams[CONTACT]).toMatchObject({ mode: 'incremental', tableCount: 640 })
  }

  const approved = await s.run({ full: true, verdict: ({ rows }) => ({ approved: true, rows }) })
  expect(approved.streams[CONTACT]).toMatchObject({ deleted: 210, tableCount: 430 })
  expect(await s.difference()).toEqual([])
})

test('a listing that lacks what the service counts deletes nothing', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 300 } })
  await s.run()
  const lying = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          yield { data: page.data.slice(0, 10), pagination: { has_more: false } }
          return
        }
      },
    })
  const { streams } = await s.run({
    full: true,
    through: lying,
    config: { deletions_max_percent: 100 },
  })
  expect(streams[CONTACT]).toMatchObject({
    deleted: 0,
    message: expect.stringContaining('nothing was deleted'),
  })
  expect(await s.difference()).toEqual([])
})

test('a candidate that is there after all stays, with what it holds now', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 300 } })
  await s.run()
  const hidden = idsOf(s)[5]!
  const hiding = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args))
          yield { ...page, data: page.data.filter(({ id }) => id !== hidden) }
      },
    })
  const { streams } = await s.run({ full: true, through: hiding })
  expect(streams[CONTACT]).toMatchObject({ deleted: 0, tableCount: 300 })
})

test.each([1, 3, 6])(
  'a cursor that is refused on page %i is left for a filter: nothing is missed',
  async (nth) => {
    const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 640 } })
    const { streams } = await s.run({ through: failingPage(nth, cursorInvalid) })
    expect(streams[CONTACT]).toMatchObject({
      state: 'complete',
      serviceCount: 640,
      tableCount: 640,
    })
    expect(await s.difference()).toEqual([])
  },
)

test('a run that fails on the way goes on where it was, and reads little again', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 1_000 } })
  const tuning = { rows_per_range: 75, rows_per_merge: 150 }
  const broken = () =>
    new ServiceFailure('broken', {
      kind: 'no_answer',
      disposition: 'halt',
      block: 'service',
      outcomeUnknown: false,
    })
  await expect(s.run({ through: failingPage(12, broken), tuning })).rejects.toThrow('broken')
  const { streams } = await s.run({ tuning })
  expect(streams[CONTACT]).toMatchObject({ mode: 'full', tableCount: 1_000 })
  expect(streams[CONTACT]!.read).toBeLessThan(800)
  expect(await s.difference()).toEqual([])
})

test('an activity whose time is over hands over, and the next one goes on', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 330 } })
  const { streams } = await s.run({ tuning: { stream_ms: 0, readers: 1 } })
  expect(streams[CONTACT]).toMatchObject({ state: 'complete', inserted: 330, tableCount: 330 })
  expect(await s.difference()).toEqual([])
})

test('records that are created, changed and deleted while they are paged', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 1_000 } })
  const ids = idsOf(s)
  let pages = 0
  const restless = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          const n = ++pages
          if (n < 12) {
            await s.client.updateRecord(CONTACT, ids[n * 7]!, { svc_job_title: `p${n}` })
            await s.client.updateRecord(CONTACT, ids[999 - n * 7]!, { svc_score: n })
            await s.client.createRecord(CONTACT, { svc_first_name: `new ${n}` })
            await s.client.deleteRecord(CONTACT, ids[500 + n * 3]!)
          }
          yield page
        }
      },
    })
  await s.run({ through: restless })
  await s.run()
  expect(await s.difference()).toEqual([])
})

test('what changes while a listing goes on is in the table when its run ends', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 1_000 } })
  const ids = idsOf(s)
  let pages = 0
  const restless = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          const n = ++pages
          // Records of pages that were read already, most of them.
          if (n > 3 && n < 12)
            for (const at of [n, 330 + n, 660 + n])
              await s.client.updateRecord(CONTACT, ids[at]!, { svc_job_title: `p${n}` })
          yield page
        }
      },
    })
  const { streams } = await s.run({ through: restless })
  expect(streams[CONTACT]).toMatchObject({ mode: 'full', tableCount: 1_000 })
  expect(await s.difference()).toEqual([])
})

test('many records that share a modification time, without overlap', async () => {
  let now = Date.UTC(2026, 5, 1)
  const clock = { now: () => now, sleep: shortSleep }
  const s = await mirrorScene({
    ...(await places.postgres()),
    service: { clock },
    config: { overlap_seconds: 0 },
  })
  const create = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      properties: { svc_external_id: `t-${from + index}` },
    }))
  const add = async (from: number, count: number) => {
    for (let at = 0; at < count; at += 50)
      await s.client.batchCreate(CONTACT, { items: create(from + at, Math.min(50, count - at)) })
  }
  await add(0, 350)
  await s.run({ clock })
  await add(1_000, 330)
  await s.run({ clock })
  await add(2_000, 5)
  const { streams } = await s.run({ clock })
  expect(streams[CONTACT]).toMatchObject({ mode: 'incremental', tableCount: 685 })
  expect(await s.difference()).toEqual([])
  now += 1
})

test('a modification time in the future hides nothing that changes after it', async () => {
  let ahead = 0
  const clock = { now: () => Date.now() + ahead, sleep: shortSleep }
  const s = await mirrorScene({ ...(await places.postgres()), service: { clock } })
  await s.client.createRecord(CONTACT, { svc_first_name: 'now' })
  await s.run()
  ahead = 365 * 86_400_000
  await s.client.createRecord(CONTACT, { svc_first_name: 'next year' })
  await s.run()
  ahead = 0
  await s.client.createRecord(CONTACT, { svc_first_name: 'now again' })
  const { streams, requests } = await s.run()
  expect(streams[CONTACT]).toMatchObject({ mode: 'incremental', tableCount: 3, inserted: 1 })
  // By its time, and not by the counts that differ.
  expect(requests).toBeLessThanOrEqual(9)
  expect(await s.difference()).toEqual([])
})

test('short and empty pages end nothing', async () => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 450 } })
  s.service.setFaults({ seed: 7, rate: 0.5, kinds: ['short_page'] })
  const sparse = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args)) {
          yield {
            data: [],
            pagination: page.pagination.has_more
              ? page.pagination
              : { has_more: true, next_cursor: 'x' },
          }
          yield page
        }
      },
    })
  const { streams } = await s.run({ through: sparse })
  expect(streams[CONTACT]).toMatchObject({ state: 'complete', tableCount: 450 })
  expect(await s.difference()).toEqual([])
})

test.each([1])('a bad day (%i): at rest the table equals the service', async (seedOfFaults) => {
  const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 600 } })
  const kinds = [
    'reset_before',
    'reset_after',
    'torn_body',
    'html_502',
    'internal_500_before',
    'expired_cursor',
    'short_page',
  ] as const
  const tuning = { rows_per_range: 75, rows_per_merge: 150 }
  for (let round = 0; round < 4; round++) {
    s.service.setFaults({ seed: seedOfFaults * 10 + round, rate: 0.25, kinds })
    await s.run({ tuning }).catch(() => {})
    s.service.setFaults(null)
    const ids = idsOf(s)
    await removeAll(s, [ids[round]!, ids[150 + round]!])
    await s.client.updateRecord(CONTACT, ids[300 + round]!, { svc_job_title: `round ${round}` })
  }
  await s.run({ tuning })
  await s.run({ tuning })
  expect(await s.difference()).toEqual([])
})

describe('the schema changes', () => {
  /** What the ledger has of them, the newest first. */
  const noted = async ({ ledger }: Pick<Scene, 'ledger'>) =>
    (await ledger.schemaChanges({ sync: 'copy', limit: 10 })).map(
      ({ run, kind, property, before, now, handling, columns, doneAt }) =>
        `${run} ${kind} ${property} ${before}>${now} ${handling} ${columns.join()}${doneAt === null ? ' ?' : ''}`,
    )

  const prepared = async () => {
    const s = await mirrorScene({ ...(await places.postgres()), service: { seedRecords: 120 } })
    await s.run()
    s.service.changeType(CONTACT, { add: [{ name: 'shoe_size', field_type: 'number' }] })
    await s.client.updateRecord(CONTACT, idsOf(s)[3]!, { shoe_size: 42 })
    return s
  }

  test('evolve: a new column, filled by one read of everything', async () => {
    const s = await prepared()
    const { streams } = await s.run()
    expect(streams[CONTACT]).toMatchObject({ mode: 'full', tableCount: 120 })
    expect(await s.difference()).toEqual([])
    const third = await s.run()
    expect(third.streams[CONTACT]).toMatchObject({ mode: 'incremental' })
    expect(await noted(s)).toEqual(['2 added shoe_size null>number column_added shoe_size'])
  })

  test('a field type that changed gets a column beside the old one; a property that goes keeps its own', async () => {
    const s = await prepared()
    await s.run()
    s.service.changeType(CONTACT, { remove: ['shoe_size'] })
    await s.run()
    expect(
      await s.sql(`SELECT shoe_size FROM ${SCHEMA}.${CONTACT} WHERE shoe_size IS NOT NULL`),
    ).toHaveLength(1)
    s.service.changeType(CONTACT, { add: [{ name: 'shoe_size', field_type: 'text' }] })
    await s.client.updateRecord(CONTACT, idsOf(s)[4]!, { shoe_size: 'XL' })
    await s.run()
    expect(
      await s.sql(
        `SELECT shoe_size__text FROM ${SCHEMA}.${CONTACT} WHERE shoe_size__text IS NOT NULL`,
      ),
    ).toEqual([['XL']])
    s.service.changeType(CONTACT, { remove: ['shoe_size'] })
    s.service.changeType(CONTACT, { add: [{ name: 'shoe_size', field_type: 'number' }] })
    await s.run()
    expect(await noted(s)).toEqual([
      '5 retyped shoe_size text>number column_revived shoe_size',
      '4 added shoe_size null>text column_added shoe_size__text',
      '3 removed shoe_size number>null column_kept shoe_size',
      '2 added shoe_size null>number column_added shoe_size',
    ])
  })

  /** The worker ends at the change of the table, before or after it: the first time, or each time. */
  const ending =
    (when: 'before' | 'after', times: number) =>
    (tables: MirrorTables): MirrorTables => {
      let left = times
      return Object.assign(Object.create(tables) as MirrorTables, {
        async change(...args: Parameters<MirrorTables['change']>) {
          if (left === 0 || when === 'after') await tables.change(...args)
          if (left-- > 0) throw new Error('the worker ends')
          left = 0
        },
      })
    }

  test.each(['before', 'after'] as const)(
    'a worker that ends %s the change of the table leaves the account whole',
    async (when) => {
      const s = await prepared()
      const { state } = await s.run({ retry: true, tables: ending(when, 1) })
      expect(state).toBe('complete')
      expect(await noted(s)).toEqual(['2 added shoe_size null>number column_added shoe_size'])
      expect(await s.difference()).toEqual([])
    },
  )

  test('a change that a run does not come to is open, and that of the run that does it', async () => {
    const s = await prepared()
    const never = s.run({ tables: ending('before', Number.POSITIVE_INFINITY) })
    await expect(never).rejects.toThrow('the worker ends')
    expect(await noted(s)).toEqual(['2 added shoe_size null>number column_added shoe_size ?'])
    await s.run()
    expect(await noted(s)).toEqual([
      '3 added shoe_size null>number column_added shoe_size',
      '2 added shoe_size null>number column_added shoe_size ?',
    ])
  })

  test('freeze: blocked, with what to do', async () => {
    const s = await prepared()
    await expect(s.run({ config: { schema_changes: 'freeze' } })).rejects.toThrow(
      /blocked: contract: svc_contact: new property shoe_size.*evolve/,
    )
    expect(await s.sql(`SELECT count(*) FROM ${SCHEMA}.${CONTACT}`)).toEqual([['120']])
    await s.run({ config: { schema_changes: 'freeze' } }).catch(() => {})
    expect(await noted(s)).toEqual(['2 added shoe_size null>number frozen '])
  })

  test('ignore: the table stays as it is', async () => {
    const s = await prepared()
    const { streams } = await s.run({ config: { schema_changes: 'ignore' } })
    expect(streams[CONTACT]).toMatchObject({ mode: 'incremental', state: 'complete' })
    await expect(s.sql(`SELECT shoe_size FROM ${SCHEMA}.${CONTACT}`)).rejects.toThrow()
    await s.run({ config: { schema_changes: 'ignore' } })
    expect(await noted(s)).toEqual(['2 added shoe_size null>number left_out '])
  })
})

test('the key of another org is refused before anything is written', async () => {
  const s = await mirrorScene({
    ...(await places.postgres()),
    service: { seedRecords: 20, orgId: 100_001 },
  })
  await s.run()
  const other = await mirrorScene({ service: { orgId: 100_002 } })
  const elsewhere = (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      readSelf: () => other.client.readSelf(),
    })
  await expect(s.run({ through: elsewhere })).rejects.toMatchObject({
    code: 'warehouse_other_mirror',
  })
  expect(await s.difference()).toEqual([])
})

test('association definitions and the edges of records, as they are and as they go', async () => {
  const s = await mirrorScene({
    ...(await places.postgres()),
    service: { seedRecords: 30 },
    config: { object_types: [CONTACT, 'svc_company'], associations: ['svc_contact_company'] },
  })
  const company = await s.client.createRecord('svc_company', { svc_name: 'Acme' })
  const [one, two] = idsOf(s) as [string, string]
  const definitions = await s.client.listAssociations()
  const association = definitions.find(
    ({ source, target }) => source === CONTACT && target === 'svc_company',
  )!.name
  await s.client.associateRecords(CONTACT, one, association, company.id)
  await s.client.associateRecords(CONTACT, two, association, company.id)
  const config = { associations: [association] }
  await s.run({ config })
  const edges = () =>
    s.sql(
      `SELECT association, source_id, target_id FROM ${SCHEMA}.svc_contact_edges WHERE _deleted_at IS NULL ORDER BY source_id`,
    )
  expect(await edges()).toEqual([one, two].toSorted().map((id) => [association, id, company.id]))
  expect(
    await s.sql(`SELECT count(*) FROM ${SCHEMA}.associations WHERE _deleted_at IS NULL`),
  ).toEqual([[String(definitions.length)]])
  await s.client.deleteRecord(CONTACT, one)
  await s.run({ config, full: true })
  expect(await edges()).toEqual([[association, two, company.id]])
})
