// Object types that come and go, and that have odd names: each is a stream that says how it stands, and none stops another.

import { describe, expect, test } from 'vitest'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import { CONTACT, mirrorScene, SCHEMA } from './scene.ts'

const COMPANY = 'svc_company'

const through =
  (changes: (client: MirrorClient) => Partial<MirrorClient>) =>
  (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, changes(client))

/** A key that lost a type. */
const without = (type: string) =>
  through((client) => ({
    listObjectTypes: async (...args) =>
      (await client.listObjectTypes(...args)).filter(({ name }) => name !== type),
    listAssociations: async (...args) =>
      (await client.listAssociations(...args)).filter(
        ({ source, target }) => source !== type && target !== type,
      ),
  }))

/** A type under another name. */
const called = (name: string, of: string) =>
  through((client) => ({
    listObjectTypes: async (...args) =>
      (await client.listObjectTypes(...args)).map((one) =>
        one.name === of ? { ...one, name } : one,
      ),
    readObjectType: async (type, ...args) => ({
      ...(await client.readObjectType(type === name ? of : type, ...args)),
      name: type,
    }),
    recordPages: (type, ...args) => client.recordPages(type === name ? of : type, ...args),
    queryRecords: (type, ...args) => client.queryRecords(type === name ? of : type, ...args),
    aggregateRecords: (type, ...args) =>
      client.aggregateRecords(type === name ? of : type, ...args),
  }))

describe('a type that the key lost', () => {
  test('of all types: a stream that says since when its table ages, and a run with differences', async () => {
    const s = await mirrorScene({ service: { seedRecords: 40 } })
    const types = (await s.client.listObjectTypes()).map(({ name }) => name)
    const except = types.filter((name) => name !== CONTACT && name !== COMPANY)
    const config = { object_types: 'all', except } as const
    await s.run({ config })
    const lost = await s.run({ config, through: without(CONTACT) })
    expect(lost).toMatchObject({
      state: 'complete_with_differences',
      message: expect.stringMatching(/svc_contact is not listed any more.*its table ages since 20/),
    })
    expect(lost.streams[CONTACT]).toMatchObject({ table: CONTACT, tableCount: 40, differs: true })
    expect(lost.streams[COMPANY]).toMatchObject({ state: 'complete', differs: false })
    const compared = await s.reconcile({ config, through: without(CONTACT) })
    expect(compared).toMatchObject({
      state: 'complete_with_differences',
      verifiedThrough: null,
      message: expect.stringContaining('svc_contact is not listed any more'),
    })
    expect(
      await s.run({
        config: { ...config, except: [...except, CONTACT] },
        through: without(CONTACT),
      }),
    ).toMatchObject({ state: 'complete', message: null })
    const back = await s.run({ config })
    expect(back).toMatchObject({ state: 'complete', message: null })
    expect(Object.keys(back.streams)).toContain('associations')
  })

  test('of a list: it fails alone, with the associations that begin at it', async () => {
    const s = await mirrorScene({ service: { seedRecords: 40 } })
    const association = (await s.client.listAssociations()).find(
      ({ source, target }) => source === CONTACT && target === COMPANY,
    )!.name
    const config = { object_types: [CONTACT, COMPANY], associations: [association] }
    expect((await s.run({ config })).state).toBe('complete')
    const company = await s.client.createRecord(COMPANY, { svc_name: 'Acme' })
    const lost = await s.run({ config, through: without(CONTACT) })
    expect(lost).toMatchObject({ state: 'failed' })
    expect(lost.message).toContain('object type svc_contact is not listed any more')
    expect(lost.streams[CONTACT]).toMatchObject({ state: 'failed', tableCount: 40 })
    expect(lost.streams[`association ${association}`]).toMatchObject({ state: 'failed' })
    expect(lost.streams[COMPANY]).toMatchObject({ state: 'complete', inserted: 1 })
    expect(await s.sql(`SELECT _id FROM ${SCHEMA}.${COMPANY} WHERE svc_name = 'Acme'`)).toEqual([
      [company.id],
    ])
    expect(await s.run({ config })).toMatchObject({ state: 'complete', message: null })
  })

  test('of a list, and never there: it says what there is', async () => {
    const s = await mirrorScene()
    const run = await s.run({ config: { object_types: [CONTACT, 'svc_contcat'] } })
    expect(run).toMatchObject({ state: 'failed' })
    expect(run.streams['svc_contcat']!.message).toMatch(
      /no object type svc_contcat.*it can read: .*svc_contact/,
    )
    expect(run.streams[CONTACT]!.state).toBe('complete')
  })
})

describe('a type that is called like one of our tables', () => {
  test.each(['associations', '_records_sync_streams', 'association definitions'])(
    '%s has a table of its own',
    async (name) => {
      const s = await mirrorScene({ service: { seedRecords: 30 } })
      const config = { object_types: [name] }
      for (let time = 0; time < 2; time++) {
        const run = await s.run({ config, through: called(name, CONTACT) })
        expect(run).toMatchObject({ state: 'complete', message: null })
        expect(run.streams[name]).toMatchObject({ tableCount: 30, serviceCount: 30 })
        const definitions = Object.values(run.streams).find(({ stream }) => stream !== name)!
        expect(definitions.tableCount).toBeGreaterThan(0)
        expect(definitions.table).not.toBe(run.streams[name]!.table)
      }
    },
  )

  test('associations, after the definitions: it fails alone and says why', async () => {
    const s = await mirrorScene({ service: { seedRecords: 30 } })
    await s.run()
    const through = called('associations', COMPANY)
    await expect(
      s.run({ config: { object_types: ['associations'] }, through }),
    ).rejects.toMatchObject({
      code: 'mirror_name',
      message: expect.stringContaining('leave the type out by except'),
    })
    expect(await s.run()).toMatchObject({ state: 'complete' })
  })
})

describe('what tells of changes', () => {
  /** A service with another prefix, or without any time of change. */
  const renamed = (rename: (name: string) => string | null) =>
    through((client) => {
      const back = (name: string): string =>
        ['svc_updated_at', 'svc_created_at'].find((one) => rename(one) === name) ?? name
      const properties = (values: Readonly<Record<string, unknown>>) =>
        Object.fromEntries(
          Object.entries(values).flatMap(([name, value]) => {
            const now = rename(name)
            return now === null ? [] : [[now, value]]
          }),
        )
      const asked = (body: object): object =>
        JSON.parse(JSON.stringify(body), (key, value: unknown) =>
          key === 'property' ? back(value as string) : value,
        ) as object
      const record = <R extends { readonly properties: object }>(one: R): R => ({
        ...one,
        properties: properties(one.properties as Record<string, unknown>),
      })
      return {
        readObjectType: async (...args) => {
          const schema = await client.readObjectType(...args)
          return {
            ...schema,
            properties: schema.properties.flatMap((one) => {
              const name = rename(one.name)
              return name === null ? [] : [{ ...one, name }]
            }),
          }
        },
        recordPages: async function* (type, body, options) {
          const { properties: _, ...rest } = asked(body ?? {}) as { properties?: unknown }
          for await (const page of client.recordPages(type, rest, options))
            yield { ...page, data: page.data.map(record) }
        },
        queryRecords: async (type, body, options) => {
          const { properties: _, ...rest } = asked(body ?? {}) as { properties?: unknown }
          const page = await client.queryRecords(type, rest, options)
          return { ...page, data: page.data.map(record) }
        },
        aggregateRecords: (type, body, options) =>
          client.aggregateRecords(type, asked(body) as typeof body, options),
      }
    })

  test('a change is seen by any prefix, and with few requests', async () => {
    const s = await mirrorScene({ service: { seedRecords: 1_200 } })
    const acme = renamed((name) => name.replace(/^svc_/, 'acme_'))
    await s.run({ through: acme })
    const [one] = s.service.records(CONTACT)
    await s.client.updateRecord(CONTACT, one!.id, { svc_job_title: 'changed' })
    const { streams, requests } = await s.run({ through: acme })
    expect(streams[CONTACT]).toMatchObject({ mode: 'incremental', changed: 1, message: null })
    expect(requests).toBeLessThanOrEqual(9)
  })

  test('a large type without such a property says that it is read every 24 h only', async () => {
    const s = await mirrorScene({ service: { seedRecords: 1_100 } })
    const timeless = renamed((name) => (name.endsWith('_at') ? null : name))
    await s.run({ through: timeless })
    const { streams, state } = await s.run({ through: timeless })
    expect(state).toBe('complete')
    expect(streams[CONTACT]).toMatchObject({
      mode: 'incremental',
      read: 0,
      message: expect.stringContaining('found only by the full listing every 24 h'),
    })
  })
})

describe('odd names', () => {
  /** A type with more properties, and records with other values and ids. */
  const odd = (names: readonly string[], idOf: (id: string) => string) =>
    through((client) => {
      const properties = (index: number) =>
        Object.fromEntries(names.map((name) => [name, `${index} of it`]))
      return {
        readObjectType: async (...args) => {
          const schema = await client.readObjectType(...args)
          const [one] = schema.properties.filter(({ name }) => name === 'svc_job_title')
          return {
            ...schema,
            properties: [...schema.properties, ...names.map((name) => ({ ...one!, name }))],
          }
        },
        recordPages: async function* (...args) {
          for await (const page of client.recordPages(...args))
            yield {
              ...page,
              data: page.data.map((record, index) => ({
                ...record,
                id: idOf(record.id),
                properties: { ...record.properties, ...properties(index) },
              })),
            }
        },
      }
    })

  test('a property that no database can name is left out alone, and told', async () => {
    const s = await mirrorScene({ service: { seedRecords: 20 } })
    const names = ['a\0b', '\ud800', '__proto__', 'fine']
    const run = await s.run({ through: odd(names, (id) => id) })
    expect(run).toMatchObject({ state: 'complete' })
    expect(run.streams[CONTACT]).toMatchObject({
      tableCount: 20,
      message: 'left out, because no database can write the name: "a\\u0000b", "\\ud800"',
    })
    const [row] = await s.sql(
      `SELECT count("__proto__"), count(fine) FROM ${SCHEMA}.${CONTACT} WHERE "__proto__" = fine`,
    )
    expect(row).toEqual(['20', '20'])
  })

  test('a record whose id the warehouse cannot hold is left out alone, and told by every run', async () => {
    const s = await mirrorScene({ service: { seedRecords: 300 } })
    const bad = s.service.records(CONTACT)[7]!.id
    const through = odd([], (id) => (id === bad ? `${id}\udfff` : id))
    const first = await s.run({ through })
    expect(first).toMatchObject({
      state: 'complete_with_differences',
      message: expect.stringContaining('cannot hold such ids'),
    })
    expect(first.streams[CONTACT]).toMatchObject({ serviceCount: 300, tableCount: 299 })
    const second = await s.run({ through })
    expect(second).toMatchObject({ state: 'complete_with_differences' })
    expect(second.streams[CONTACT]!.mode).toBe('incremental')
    expect(second.requests).toBeLessThanOrEqual(10)
  })
})
