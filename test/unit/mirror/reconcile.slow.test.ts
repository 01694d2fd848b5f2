// A mirror against its service: what was planted is found and named, and nothing else; a repair leaves both equal; whoever is
// killed goes on.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { everyShape, NAMES, samples, seed, TYPE } from '../sources/every-shape.ts'
import type { RecordRepresentation } from '../../../src/contract/index.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import type { MirrorConfig } from '../../../config/index.ts'
import type { MirrorClient } from '../../../src/mirror/index.ts'
import type { StoredRow, MirrorTables } from '../../../src/warehouses/mirror-tables.ts'
import { openMirrorTables } from '../../../src/warehouses/index.ts'
import { createSerialQueue } from '../../../src/mirror/reconcile/local-tables.ts'
import { CONTACT, mirrorScene, SCHEMA, type Scene } from './scene.ts'

const table = `${SCHEMA}.${TYPE}`
const OLD = "TIMESTAMPTZ '2020-01-01 00:00:00+00'"

/** Ids of the samples, by their code. */
const idsOf = ({ service }: Scene) =>
  new Map(service.records(TYPE).map(({ id, properties }) => [String(properties['code']), id]))

/** What no sample has in that column. */
function otherOf(name: string): [column: string, value: string][] {
  const [form, ...words] = name.split('_')
  const type = words.join('_')
  if (type === 'currency' && form === 'one')
    return [
      [name, '1.25'],
      [`${name}_unit`, "'CHF'"],
    ]
  if (type === 'currency') return [[name, `'[{"unit":"EUR","amount":"7"}]'`]]
  const values: Record<string, string> = {
    number: '77.5',
    boolean: `CASE WHEN ${name} THEN false ELSE true END`,
    date: "DATE '2001-02-03'",
    datetime: "TIMESTAMPTZ '2001-02-03 04:05:06+00'",
  }
  const value = values[type] ?? "'altered'"
  if (form === 'one') return [[name, value]]
  return [[name, type === 'boolean' ? '[true, true, true]' : `[${value}]`]]
}

const columnsAndValues = NAMES.slice(1).flatMap((name) =>
  otherOf(name).map(([column, value]) => ({ name, column, value })),
)

const planted = async () => {
  const s = await mirrorScene({
    service: { schema: everyShape() },
    config: { object_types: [TYPE] },
  })
  await seed(s.client, samples(60))
  await s.run()
  const ids = idsOf(s)
  return { s, id: (index: number) => ids.get(`s-${index}`)! }
}

/** The client, with other records on its pages. */
const pageByPage =
  (
    change: (
      records: RecordRepresentation[],
    ) => RecordRepresentation[] | Promise<RecordRepresentation[]>,
  ) =>
  (client: MirrorClient): MirrorClient =>
    Object.assign(Object.create(client) as MirrorClient, {
      recordPages: async function* (...args: Parameters<MirrorClient['recordPages']>) {
        for await (const page of client.recordPages(...args))
          yield { ...page, data: await change(page.data) }
      },
    })

describe('every kind of difference', () => {
  test('counting finds what is missing, extra, stale or too new, and nothing else', async () => {
    const { s, id } = await planted()
    const count = columnsAndValues.length
    const tuning = { rows_per_range: 150 }
    await s.client.deleteRecord(TYPE, id(50))
    await s.alter(
      ...columnsAndValues.map(
        ({ column, value }, index) =>
          `UPDATE ${table} SET _version = ${OLD}, "${column}" = ${value} WHERE _id = '${id(index)}'`,
      ),
      `DELETE FROM ${table} WHERE _id = '${id(51)}'`,
      `UPDATE ${table} SET _deleted_at = now() WHERE _id = '${id(52)}'`,
      `INSERT INTO ${table} (_id, _version, _first_seen_at, _last_seen_at) VALUES ('forged', ${OLD}, now(), now())`,
      `UPDATE ${table} SET _version = TIMESTAMPTZ '2100-01-01 00:00:00+00', one_text = 'later' WHERE _id = '${id(53)}'`,
      `UPDATE ${table} SET _version = ${OLD}, code = NULL WHERE _id = '${id(54)}'`,
      `UPDATE ${table} SET _version = ${OLD}, code = NULL, _misfits = '{"code": {"odd": 1}}' WHERE _id = '${id(55)}'`,
      `UPDATE ${table} SET _version = ${OLD}, code = 'both', one_url = 'x' WHERE _id = '${id(56)}'`,
      `UPDATE ${table} SET _version = ${OLD}, svc_updated_at = ${OLD} WHERE _id = '${id(57)}'`,
      `UPDATE ${table} SET _version = ${OLD} WHERE _id = '${id(58)}'`,
      `UPDATE ${table} SET _version = NULL WHERE _id = '${id(59)}'`,
    )
    expect(count).toBeGreaterThan(20)
    const expected = [
      ...columnsAndValues.map(({ name }, index) => `stale ${id(index)} ${name} service`),
      `extra ${id(50)} * unknown`,
      `missing ${id(51)} * unknown`,
      `missing ${id(52)} * unknown`,
      'extra forged * unknown',
      `different ${id(53)} one_text warehouse`,
      `stale ${id(54)} code service`,
      `stale ${id(55)} code service`,
      `stale ${id(56)} code service`,
      `stale ${id(56)} one_url service`,
      `stale ${id(57)} svc_updated_at service`,
      `stale ${id(58)} * service`,
      `different ${id(59)} * warehouse`,
    ].toSorted()
    const found = await s.reconcile({ tuning })
    expect(found.told).toEqual(expected)
    expect(found.streams[TYPE]!.mode).toBe('incremental')
    expect(found).toMatchObject({
      state: 'complete_with_differences',
      message: `${count + 11} of 59 records differ: 2 missing, 2 extra, ${count + 5} stale, 2 different`,
      verifiedThrough: null,
    })
    const repaired = await s.reconcile({ scope: { repair: true }, tuning })
    expect(repaired.told).toEqual(expected.map((one) => `+${one}`).toSorted())
    expect(repaired.state).toBe('complete')
    expect(repaired.verifiedThrough).toBe(repaired.openedAt)
    expect(await s.difference(TYPE)).toEqual([])
    expect((await s.reconcile({ scope: { full: true } })).told).toEqual([])
  })

  test('reading everything finds what was altered in the warehouse, of every type, with both values', async () => {
    const { s, id } = await planted()
    await s.alter(
      ...columnsAndValues.map(
        ({ column, value }, index) =>
          `UPDATE ${table} SET "${column}" = ${value} WHERE _id = '${id(index)}'`,
      ),
      `UPDATE ${table} SET one_text = NULL, one_long_text = 'x' WHERE _id = '${id(50)}'`,
      `UPDATE ${table} SET _misfits = '{"one_date": "soon"}', one_date = NULL WHERE _id = '${id(51)}'`,
      // The same in Unicode's other form: another text.
      `UPDATE ${table} SET one_text = 'é' WHERE _id = '${id(11)}'`,
      `DELETE FROM ${table} WHERE _id = '${id(52)}'`,
    )
    const expected = [
      ...columnsAndValues.map(({ name }, index) => `different ${id(index)} ${name} warehouse`),
      `different ${id(11)} one_text warehouse`,
      `different ${id(50)} one_text warehouse`,
      `different ${id(50)} one_long_text warehouse`,
      `different ${id(51)} one_date warehouse`,
      `missing ${id(52)} * unknown`,
    ].toSorted()
    const found = await s.reconcile({ scope: { full: true } })
    expect(found.told).toEqual(expected)
    const of = (index: number, name: string) =>
      found.differences.find((one) => one.recordId === id(index) && one.field === name)
    const place = (column: string) => columnsAndValues.findIndex((one) => one.column === column)
    const value = (index: number, name: string) => samples(60)[index]![name]
    for (const [column, ours] of [
      ['many_text', '["altered"]'],
      ['one_date', '"2001-02-03"'],
      ['one_datetime', '"2001-02-03T04:05:06Z"'],
      ['many_currency', '[{"amount":"7","unit":"EUR"}]'],
    ] as const) {
      const index = place(column)
      const theirs = value(index, column)
      expect(of(index, column)).toMatchObject({
        ours,
        theirs: theirs === null ? null : JSON.stringify(theirs).replaceAll('.000Z', 'Z'),
      })
    }
    const unit = of(place('one_currency_unit'), 'one_currency')!
    expect(unit.ours).toMatch(/^\{"amount":("[-0-9.]+"|null),"unit":"CHF"\}$/)
    const number = place('one_number')
    expect(of(number, 'one_number')).toMatchObject({ ours: '77.5' })
    expect(Number(of(number, 'one_number')!.theirs)).toBe(value(number, 'one_number'))
    expect(of(11, 'one_text')).toMatchObject({ ours: '"\u00e9"', theirs: '"e\u0301"' })
    expect(of(50, 'one_long_text')!.theirs!.length).toBeLessThanOrEqual(200)
    expect(of(51, 'one_date')).toMatchObject({ ours: '"soon"' })

    const repaired = await s.reconcile({ scope: { full: true, repair: true } })
    expect(repaired.told).toEqual(expected.map((one) => `+${one}`))
    expect(await s.difference(TYPE)).toEqual([])

    // What is only written otherwise is no difference.
    const many = s.service
      .records(TYPE)
      .find(({ properties }) => Array.isArray(properties['many_currency']))!
    const [first] = many.properties['many_currency'] as { amount: string; unit: string }[]
    await s.alter(
      `UPDATE ${table} SET one_number = 10.50, one_datetime = TIMESTAMPTZ '2026-01-31 10:15:00+02' WHERE _id = '${id(0)}'`,
      `UPDATE ${table} SET many_currency = '[ {"unit": "${first!.unit}",  "amount": "${first!.amount}"} ]' WHERE _id = '${many.id}'`,
    )
    const through = pageByPage((records) =>
      records.map((record) =>
        record.id === id(0)
          ? {
              ...record,
              properties: {
                ...record.properties,
                one_number: 10.5,
                one_datetime: '2026-01-31T09:15:00.000+01:00',
              },
            }
          : record.id === many.id
            ? { ...record, properties: { ...record.properties, many_currency: [first!] } }
            : record,
      ),
    )
    expect((await s.reconcile({ scope: { full: true }, through })).told).toEqual([])
  })
})

const contacts = async (seedRecords: number, config: Partial<MirrorConfig> = {}) => {
  const s = await mirrorScene({ service: { seedRecords }, config })
  await s.run()
  return { s, ids: s.service.records(CONTACT).map(({ id }) => id) }
}
const contactTable = `${SCHEMA}.${CONTACT}`

/** Everything that the schema holds. */
const everything = async ({ sql }: Scene) => ({
  rows: await sql(`SELECT * FROM ${contactTable} ORDER BY _id`),
  books: await sql(`SELECT name, position FROM ${SCHEMA}._records_sync_streams ORDER BY name`),
})

test('counting takes values apart to the character, and counts no row that is known to differ', async () => {
  const { s, ids } = await contacts(1_500)
  const names = (index: number) => {
    const { svc_first_name: first, svc_last_name: last } =
      s.service.records(CONTACT)[index]!.properties
    return `${String(first)} ${String(last)}`
  }
  // No two of these are in a share, and in none of them so much differs that it is read whole.
  const [upper, space, nul, forged, changed] = [40, 330, 620, 910, 1_200].map((at) => ids[at]!)
  const lost = ids[ids.findIndex((_, index) => index > 1_200 && names(index) === names(1_200))]!
  const set = (id: string, value: string) =>
    `UPDATE ${contactTable} SET svc_first_name = ${value} WHERE _id = '${id}'`
  await s.client.updateRecord(CONTACT, changed!, { svc_job_title: 'Later' })
  await s.alter(
    set(upper!, 'upper(svc_first_name)'),
    set(space!, "svc_first_name || ' '"),
    set(nul!, 'chr(0)'),
    `INSERT INTO ${contactTable} (_id, _version, _first_seen_at, _last_seen_at)
     SELECT 'forged', _version, now(), now() FROM ${contactTable} WHERE _id = '${forged}'`,
    // The old row of the one that changed would stand for it.
    `DELETE FROM ${contactTable} WHERE _id = '${lost}'`,
  )
  const found = await s.reconcile({ tuning: { rows_per_range: 2_000, readers: 1 } })
  expect(found.told).toEqual(
    [
      ...[upper, space, nul].map((id) => `different ${id} svc_first_name warehouse`),
      'extra forged * unknown',
      `missing ${lost} * unknown`,
    ].toSorted(),
  )
  expect(found.streams[CONTACT]!.read).toBeLessThan(400)
  expect(found.streams[CONTACT]!.message).toMatch(/^1 record changed since/)
})

describe('what is no difference', () => {
  test('what changed since the mirror ran is told as such; a repair takes it along', async () => {
    const { s, ids } = await contacts(120)
    const before = await everything(s)
    const fences = () => s.sql(`SELECT fence FROM ${SCHEMA}._records_sync_streams ORDER BY name`)
    const fencesBefore = await fences()
    const { watermark } = JSON.parse(
      String(before.books.find(([name]) => name === CONTACT)![1]),
    ) as { watermark: string }
    await s.client.updateRecord(CONTACT, ids[3]!, { svc_first_name: 'Later' })
    await s.client.createRecord(CONTACT, { svc_first_name: 'New' })
    const found = await s.reconcile()
    expect(found).toMatchObject({ state: 'complete', message: null, told: [] })
    expect(found.streams[CONTACT]!.message).toBe(
      '2 records changed since the mirror ran last; they come with its next run',
    )
    // What changed since is not in the warehouse.
    expect(Date.parse(found.verifiedThrough!)).toBe(Date.parse(watermark))
    expect(await everything(s)).toEqual(before)
    // Whoever mirrors meanwhile is not overtaken.
    expect(await fences()).toEqual(fencesBefore)
    const repaired = await s.reconcile({ scope: { repair: true } })
    expect(repaired).toMatchObject({ told: [], verifiedThrough: repaired.openedAt })
    expect(repaired.streams[CONTACT]).toMatchObject({ inserted: 1, changed: 1 })
    expect(await s.difference()).toEqual([])
    // The next run goes on from where it was; what it asks for counts as later than what was repaired.
    const places = ({ books }: typeof before) =>
      books.map(([name, text]) => {
        const { askedAt: _, ...place } = JSON.parse(String(text)) as Record<string, unknown>
        return [name, place]
      })
    expect(places(await everything(s))).toEqual(places(before))
    expect((await s.run()).streams[CONTACT]).toMatchObject({ mode: 'incremental', inserted: 0 })
  })

  test('what moves between two reads is not told', async () => {
    const { s, ids } = await contacts(120)
    const [gone, changed, row, stays] = ids.slice(20, 24) as [string, string, string, string]
    await s.alter(
      `DELETE FROM ${contactTable} WHERE _id IN ('${gone}', '${stays}')`,
      `UPDATE ${contactTable} SET _version = ${OLD}, svc_job_title = 'x' WHERE _id = '${changed}'`,
    )
    const moves = new Map<string, () => Promise<unknown>>([
      [gone, () => s.client.deleteRecord(CONTACT, gone)],
      [changed, () => s.client.updateRecord(CONTACT, changed, { svc_first_name: 'Moved' })],
      [row, () => s.client.updateRecord(CONTACT, row, { svc_first_name: 'Moved' })],
      // A record that leaves its share before that is read, and is not gone for that.
      [ids[100]!, () => s.client.updateRecord(CONTACT, ids[5]!, { svc_first_name: 'Moved' })],
    ])
    const through = pageByPage(async (records) => {
      for (const { id } of records) {
        const move = moves.get(id)
        moves.delete(id)
        await move?.()
      }
      return records
    })
    const tuning = { readers: 1 }
    const found = await s.reconcile({ scope: { full: true }, through, tuning })
    expect(moves.size).toBe(0)
    expect(found.told).toEqual([`missing ${stays} * unknown`])
    expect(found.streams[CONTACT]!.message).toMatch(/^2 records changed since/)
  })
})

describe('a reconciliation that is killed', () => {
  const plant = async () => {
    const { s, ids } = await contacts(200)
    const some = (from: number, count: number) => ids.slice(from, from + count)
    const listed = (list: readonly string[]) => list.map((id) => `'${id}'`).join()
    await s.alter(
      `DELETE FROM ${contactTable} WHERE _id IN (${listed(some(40, 3))})`,
      `UPDATE ${contactTable} SET _version = ${OLD}, svc_job_title = 'x' WHERE _id IN (${listed(some(120, 3))})`,
      `UPDATE ${contactTable} SET svc_job_title = 'y' WHERE _id = '${ids[150]}'`,
    )
    for (const id of some(80, 3)) await s.client.deleteRecord(CONTACT, id)
    const expected = [
      ...some(40, 3).map((id) => `missing ${id} * unknown`),
      ...some(120, 3).map((id) => `stale ${id} svc_job_title service`),
      ...some(80, 3).map((id) => `extra ${id} * unknown`),
      // Counting by its values finds it by chance.
      `different ${ids[150]} svc_job_title warehouse`,
    ].toSorted()
    return { s, expected }
  }
  /** Ends an activity at its nth call of the service, or of the tables; the next one at its own. */
  const killing = (points: readonly number[]) => {
    let calls = 0
    let left = Infinity
    let kills = 0
    let current = new AbortController()
    const watch = <Watched extends object>(watched: Watched): Watched =>
      new Proxy(watched, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) => {
            if (++calls === left) {
              kills++
              current.abort(new Error('killed'))
            }
            return Reflect.apply(value, target, args) as unknown
          }
        },
      })
    const signals = function* () {
      for (const point of points) {
        calls = 0
        left = point
        current = new AbortController()
        yield current.signal
      }
      left = Infinity
    }
    return {
      kills: () => kills,
      options: { signals: signals(), through: watch<MirrorClient>, tables: watch<MirrorTables> },
    }
  }
  const points = [4, 12, 18, 21, 24, 27, 30]

  test.each(process.env['RECONCILE_WORLDS'] ? [false, true] : [true])(
    'anywhere, repair %s, goes on',
    async (repair) => {
      const { s, expected } = await plant()
      const { kills, options } = killing(points)
      const tuning = { readers: 1, rows_per_range: 150 }
      const found = await s.reconcile({ scope: { full: true, repair }, ...options, tuning })
      expect(found.told).toEqual(expected.map((one) => (repair ? `+${one}` : one)).toSorted())
      expect(found.streams[CONTACT]).toMatchObject({ state: 'complete', serviceCount: 197 })
      expect(kills()).toBeGreaterThan(4)
      if (repair) expect(await s.difference()).toEqual([])
    },
  )

  test('does not read again what was read, and its time may be short', async () => {
    const { s, expected } = await plant()
    const slices = await s.reconcile({
      scope: { full: true },
      tuning: { stream_ms: 0, readers: 1, rows_per_range: 150 },
    })
    expect(slices.told).toEqual(expected)
    expect(slices.streams[CONTACT]!.read).toBeLessThan(250)
  })
})

test('many deletions wait for a person, who may reject or approve them', async () => {
  const { s, ids } = await contacts(100)
  const lost = ids.slice(10, 30)
  await s.client.batchDelete(CONTACT, { items: lost.map((id) => ({ id })) })
  const scope = { repair: true }
  const left = async () =>
    Number((await s.sql(`SELECT count(*) FROM ${contactTable} WHERE _deleted_at IS NULL`))[0]![0])
  const waiting = await s.reconcile({ scope })
  expect(waiting.state).toBe('failed')
  expect(waiting.message).toBe(
    `${CONTACT}: 20 of 100 rows would be deleted, more than 10 %; approve or reject it`,
  )
  expect(await left()).toBe(100)
  const rejected = await s.reconcile({
    scope,
    verdict: ({ rows }) => ({ approved: false, rows }),
  })
  expect(rejected.told).toEqual(lost.map((id) => `extra ${id} * unknown`).toSorted())
  expect(rejected).toMatchObject({
    state: 'complete_with_differences',
    message: '20 of 80 records differ: 20 extra',
  })
  expect(rejected.streams[CONTACT]!.message).toBe('the deletion of 20 of 100 rows was rejected')
  expect(await left()).toBe(100)
  const approved = await s.reconcile({
    scope,
    verdict: ({ rows }) => ({ approved: true, rows }),
  })
  expect(approved.told).toEqual(lost.map((id) => `+extra ${id} * unknown`).toSorted())
  expect(approved.streams[CONTACT]).toMatchObject({ deleted: 20, tableCount: 80 })
  expect(await s.difference()).toEqual([])
})

describe('by what it goes', () => {
  /** The service, as if the type had no such properties. */
  const without =
    (...names: readonly string[]) =>
    (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        readObjectType: async (...args: Parameters<MirrorClient['readObjectType']>) => {
          const type = await client.readObjectType(...args)
          const properties = type.properties.filter(({ name }) => !names.includes(name))
          return { ...type, properties }
        },
      })
  const timeless = async (...names: readonly string[]) => {
    const s = await mirrorScene({ service: { seedRecords: 120 } })
    const through = without(...names)
    await s.run({ through })
    const ids = s.service.records(CONTACT).map(({ id }) => id)
    await s.client.deleteRecord(CONTACT, ids[7]!)
    await s.alter(
      `DELETE FROM ${contactTable} WHERE _id = '${ids[60]}'`,
      `UPDATE ${contactTable} SET svc_job_title = 'x' WHERE _id = '${ids[80]}'`,
    )
    return { s, ids, through }
  }

  test('by the time of creation: what is missing and extra, and it says what it cannot see', async () => {
    const { s, ids, through } = await timeless('svc_updated_at')
    await s.client.createRecord(CONTACT, { svc_first_name: 'New' })
    const tuning = { rows_per_range: 150 }
    const found = await s.reconcile({ through, tuning })
    expect(found.told.filter((one) => !one.startsWith('different'))).toEqual([
      `extra ${ids[7]} * unknown`,
      `missing ${ids[60]} * unknown`,
    ])
    expect(found.streams[CONTACT]!.message).toBe(
      '1 record changed since the mirror ran last; it comes with its next run; counted by time of creation, which does not show changed values; full does',
    )
    const repaired = await s.reconcile({ through, scope: { repair: true, full: true } })
    expect(repaired.told).toContain(`+different ${ids[80]} svc_job_title unknown`)
    expect(repaired).toMatchObject({ state: 'complete', verifiedThrough: repaired.openedAt })
    const counted = await s.reconcile({ through, tuning })
    expect(counted).toMatchObject({ state: 'complete', told: [], verifiedThrough: null })
  })

  test('by nothing at all: everything is read', async () => {
    const { s, ids, through } = await timeless('svc_updated_at', 'svc_created_at')
    const found = await s.reconcile({ through })
    expect(found.told).toEqual(
      [
        `extra ${ids[7]} * unknown`,
        `missing ${ids[60]} * unknown`,
        `different ${ids[80]} svc_job_title unknown`,
      ].toSorted(),
    )
    expect(found.streams[CONTACT]).toMatchObject({ mode: 'full', read: 119 })
  })

  test('records and rows without a value of it', async () => {
    const s = await mirrorScene({
      service: { schema: everyShape() },
      config: { object_types: [TYPE], modification_property: { [TYPE]: 'one_datetime' } },
    })
    await seed(s.client, samples(60))
    await s.run()
    const bare = s.service.records(TYPE).filter(({ properties }) => !properties['one_datetime'])
    const [one, two, three] = bare.map(({ id }) => id) as [string, string, string]
    await s.client.deleteRecord(TYPE, two)
    await s.alter(
      `UPDATE ${table} SET one_text = 'x' WHERE _id = '${three}'`,
      `INSERT INTO ${table} (_id, _first_seen_at, _last_seen_at) VALUES ('forged', now(), now())`,
    )
    const told = [`extra ${two} * unknown`, 'extra forged * unknown']
    expect((await s.reconcile()).told).toEqual(
      [...told, `different ${three} one_text warehouse`].toSorted(),
    )
    const scope = { full: true, repair: true }
    await s.alter(`DELETE FROM ${table} WHERE _id = '${one}'`)
    expect((await s.reconcile({ scope })).told).toEqual(
      [...told, `missing ${one} * unknown`, `different ${three} one_text warehouse`]
        .map((line) => `+${line}`)
        .toSorted(),
    )
    expect(await s.difference(TYPE)).toEqual([])
  })

  test('a sample reads some of it, and says no more than that', async () => {
    const { s, ids } = await contacts(400)
    await s.alter(`UPDATE ${contactTable} SET svc_job_title = 'x'`)
    await s.client.deleteRecord(CONTACT, ids[1]!)
    const found = await s.reconcile({ scope: { sample: 200 } })
    expect(found.streams[CONTACT]!.read).toBeGreaterThanOrEqual(100)
    expect(found.streams[CONTACT]!.read).toBeLessThanOrEqual(300)
    const different = found.told.filter((one) => one.startsWith('different'))
    expect(different).toHaveLength(found.streams[CONTACT]!.read)
    expect(found.told).toContain(`extra ${ids[1]} * unknown`)
    expect(found.verifiedThrough).toBeNull()
    const places = different.map((one) => ids.indexOf(one.split(' ')[1]!))
    expect(Math.max(...places) - Math.min(...places)).toBeGreaterThan(150)
  })
})

describe('what is refused', () => {
  test('a mirror that never ran, that mirrors another org, or whose types changed', async () => {
    const s = await mirrorScene({ service: { seedRecords: 5 } })
    await expect(s.reconcile()).rejects.toMatchObject({
      code: 'reconcile_unread',
      message: expect.stringMatching(/has no tables of sync "copy" to compare; run it first$/),
    })
    await s.run()
    await s.alter(`UPDATE ${SCHEMA}._records_sync_mirror SET owner = 'http://other org 1'`)
    await expect(s.reconcile()).rejects.toMatchObject({ code: 'warehouse_other_mirror' })
    await s.alter(
      `UPDATE ${SCHEMA}._records_sync_mirror SET owner = '${s.client.origin} org ${(await s.client.readSelf()).org_id}'`,
    )
    s.service.changeType(CONTACT, { add: [{ name: 'shoe_size', field_type: 'number' }] })
    await expect(s.reconcile()).rejects.toMatchObject({
      code: 'reconcile_unread',
      message: `${CONTACT}: the properties changed since the mirror ran last (shoe_size); run it first`,
    })
    const both = { object_types: [CONTACT, 'svc_company'] }
    await expect(
      s.reconcile({ config: both, scope: { only: ['svc_company'] } }),
    ).rejects.toMatchObject({
      code: 'reconcile_unread',
      message: expect.stringMatching(/^svc_company was not read to its end yet/),
    })
    await expect(s.reconcile({ scope: { only: ['svc_deal'] } })).rejects.toMatchObject({
      code: 'mirror_types',
    })
  })
})

describe('how few requests it takes', () => {
  test('grouped counts: a request for each share, and a page for each difference', async () => {
    const { s, ids } = await contacts(1_500)
    const some = [100, 450, 750, 1_200, 1_485].map((place) => ids[place]!)
    await s.alter(
      `DELETE FROM ${contactTable} WHERE _id IN ('${some[0]}', '${some[1]}')`,
      `UPDATE ${contactTable} SET _version = _version - INTERVAL 1 DAY WHERE _id = '${some[2]}'`,
      // Among the newest, where a version may be missed shortly after another.
      `UPDATE ${contactTable} SET _version = _version - INTERVAL 1 MINUTE WHERE _id = '${some[4]}'`,
    )
    await s.client.deleteRecord(CONTACT, some[3]!)
    const expected = [
      `missing ${some[0]} * unknown`,
      `missing ${some[1]} * unknown`,
      `stale ${some[2]} * service`,
      `stale ${some[4]} * service`,
      `extra ${some[3]} * unknown`,
    ].toSorted()
    const found = await s.reconcile({ tuning: { rows_per_range: 2_000, readers: 8 } })
    expect(found.told).toEqual(expected)
    expect(found.requests).toBeLessThan(75)
    expect(found.streams[CONTACT]!.read).toBeLessThan(500)
    // A service that groups by nothing: shares are halved.
    let refused = 0
    const through = (client: MirrorClient): MirrorClient =>
      Object.assign(Object.create(client) as MirrorClient, {
        aggregateRecords: async (...args: Parameters<MirrorClient['aggregateRecords']>) => {
          if (!args[1].group_by) return await client.aggregateRecords(...args)
          refused++
          throw new ServiceFailure('refused', {
            kind: 'problem',
            disposition: 'reject',
            block: 'contract',
            outcomeUnknown: false,
            status: 422,
          })
        },
      })
    const tuning = { rows_per_range: 2_000, readers: 1 }
    const halved = await s.reconcile({ through, tuning })
    expect(halved.told).toEqual(expected)
    expect(refused).toBeGreaterThan(0)
    expect(halved.requests).toBeLessThan(75)
    expect(halved.streams[CONTACT]!.read).toBeLessThan(1_200)
  })
})

test('rows that wait are read together, a thousand at most, and those of other columns apart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-reads-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const place = { duckdb: join(folder, 'w.duckdb'), folder }
  const s = await mirrorScene({ service: { seedRecords: 1_200 }, place })
  await s.run()
  const ids = s.service.records(CONTACT).map(({ id }) => id)
  const tables = await openMirrorTables('dwh', place, SCHEMA)
  onTestFinished(() => tables.close())
  const [whole] = await tables.streams([CONTACT])
  const few = { ...whole!, columns: whole!.columns.slice(0, 2) }
  const reads: [columns: number, ids: number][] = []
  const local = createSerialQueue(
    Object.assign(Object.create(tables) as MirrorTables, {
      count: () => tables.count(whole!),
      rows: (...[stream, some]: Parameters<MirrorTables['rows']>) => {
        reads.push([stream.columns.length, some.length])
        return tables.rows(stream, some)
      },
    }),
  )
  const parts = [ids.slice(0, 3), ids.slice(3, 600), ids.slice(600), ids.slice(2, 5)]
  const [, ...found] = await Promise.all([
    local.count(whole!),
    ...parts.map((part) => local.rows(whole!, part)),
    local.rows(few, ids.slice(0, 2)),
  ])
  const rows = found as (readonly StoredRow[])[]
  expect(rows.map((some) => some.map(({ id }) => id).toSorted())).toEqual(
    [...parts, ids.slice(0, 2)].map((part) => part.toSorted()),
  )
  expect(rows.at(-1)![0]!.cells).toHaveLength(2)
  const all = whole!.columns.length
  expect(reads).toEqual([
    [all, 600],
    [all, 603],
    [2, 2],
  ])
})

/** What happens to a record of a small world. */
const EVENTS = ['row lost', 'row marked', 'stale', 'gone', 'forged', 'newer', 'changed'] as const

test('a repair with a key that sees less than that of the last run asks before it deletes a row', async () => {
  const s = await mirrorScene({ service: { seedRecords: 40 } })
  const org = { key: 'a', reach: 'org', user: 'ada', types: null } as const
  const user = { ...org, key: 'b', reach: 'user' } as const
  await s.run({ sight: org })
  await s.client.deleteRecord(CONTACT, [...s.service.records(CONTACT)][0]!.id)
  const asked: number[] = []
  const reject = ({ rows }: { rows: number }) => {
    asked.push(rows)
    return { approved: false, rows }
  }
  const scope = { repair: true }
  const left = await s.reconcile({ scope, sight: user, verdict: reject })
  expect({ asked, state: left.state }).toEqual({ asked: [1], state: 'complete_with_differences' })
  expect(left.streams[CONTACT]!.message).toMatch(
    /the key \(key#b\) sees less than that of the run before \(key#a\).*rejected/,
  )
  const again = await s.reconcile({ scope, sight: org, verdict: reject })
  expect({ asked, state: again.state }).toEqual({ asked: [1], state: 'complete' })
  expect(again.streams[CONTACT]).toMatchObject({ deleted: 1 })
})

test('a key that may see other records than were listed: everything is compared, and the next run reads everything', async () => {
  const s = await mirrorScene({ service: { seedRecords: 160 } })
  const ada = { key: 'a', reach: 'user', user: 'ada', types: null } as const
  const ben = { ...ada, key: 'b', user: 'ben' }
  const tuning = { rows_per_range: 20, readers: 1 }
  await s.run({ sight: ada })
  const same = await s.reconcile({ sight: ada, tuning })
  expect(same.streams[CONTACT]).toMatchObject({ mode: 'incremental', message: null })
  const other = await s.reconcile({ sight: ben, tuning, scope: { repair: true } })
  expect(other.streams[CONTACT]).toMatchObject({ mode: 'full', read: 160 })
  expect(other.streams[CONTACT]!.message).toMatch(/may see other records than that of the last/)
  // It changed nothing, so nothing was stored; a row that it mends is.
  expect((await s.run({ sight: ada })).streams[CONTACT]!.mode).toBe('incremental')
  await s.alter(
    `DELETE FROM ${contactTable} WHERE _id = '${[...s.service.records(CONTACT)][9]!.id}'`,
  )
  await s.reconcile({ sight: ben, tuning, scope: { repair: true } })
  expect((await s.run({ sight: ada })).streams[CONTACT]!.mode).toBe('full')
})

test('counting finds in any world what reading everything finds, and a repair makes it whole', async () => {
  const { s } = await contacts(160)
  const tuning = { rows_per_range: 20, readers: 1 }
  let worlds = 0
  const world = fc.array(fc.tuple(fc.nat(8), fc.constantFrom(...EVENTS)), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(world, async (happening) => {
      worlds++
      const ids = s.service.records(CONTACT).map(({ id }) => id)
      const sql = ['SELECT 1']
      // Places are so far from each other that no two are in one share, where a row too many would hide another's lack.
      const places = new Map(
        happening
          .map(([place, event]) => [20 + place * 15, event] as const)
          .filter(([place]) => place < ids.length),
      )
      for (const [place, event] of places) {
        const id = ids[place]!
        const where = `WHERE _id = '${id}'`
        if (event === 'row lost') sql.push(`DELETE FROM ${contactTable} ${where}`)
        if (event === 'row marked')
          sql.push(`UPDATE ${contactTable} SET _deleted_at = now() ${where}`)
        if (event === 'stale')
          sql.push(
            `UPDATE ${contactTable} SET _version = _version - INTERVAL ${place} DAY, svc_source = 'x' ${where}`,
          )
        if (event === 'newer')
          sql.push(
            `UPDATE ${contactTable} SET _version = _version + INTERVAL 100 YEAR, svc_source = 'x' ${where}`,
          )
        if (event === 'forged')
          sql.push(
            `INSERT INTO ${contactTable} (_id, _version, _first_seen_at, _last_seen_at) SELECT 'forged-${worlds}-${place}', _version, now(), now() FROM ${contactTable} ${where}`,
          )
        if (event === 'gone') await s.client.deleteRecord(CONTACT, id)
        if (event === 'changed')
          await s.client.updateRecord(CONTACT, id, { svc_first_name: `${worlds}` })
      }
      await s.alter(...sql)
      const full = await s.reconcile({ tuning, scope: { full: true } })
      const count = [...places.values()].filter((event) => event !== 'changed').length
      expect(full.told).toHaveLength(count)
      const counted = await s.reconcile({ tuning, scope: { repair: true } })
      expect(counted.told).toEqual(full.told.map((one) => `+${one}`))
      expect(counted.state).toBe('complete')
      expect(await s.difference()).toEqual([])
    }),
    // What failed has left its traces: a smaller world would not begin as it did.
    { numRuns: Number(process.env['RECONCILE_WORLDS'] ?? 1), seed: 8, endOnFailure: true },
  )
})

test('a row that is there twice is no equal table', async () => {
  const { s, id } = await planted()
  await s.alter(`INSERT INTO ${table} SELECT * FROM ${table} WHERE _id = '${id(7)}'`)
  await expect(s.reconcile({ scope: { full: true } })).rejects.toThrow(
    '61 rows of 60 records; expected each _id once',
  )
})
