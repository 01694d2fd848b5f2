// The records of a service as a source, over HTTP: columns, rows, pages, and the ends of a reading that is not whole.

import { describe, expect, onTestFinished, test } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { ServiceFailure, SourceError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/json.ts'
import { systemClock, type Clock } from '../../../src/core/ports.ts'
import type { Window } from '../../../src/core/domain/watermark.ts'
import { startService, type RunningService } from '../../../src/service/index.ts'
import { openSource } from '../../../src/sources/index.ts'
import { openRecords, type RecordsOptions } from '../../../src/sources/records/index.ts'
import type { SourceRow } from '../../../src/sources/source.ts'
import { offsetPages } from './offset-pages.ts'
import { everyShape, NAMES, samples, seed, TYPE } from './every-shape.ts'

function clientOf(service: RunningService, key = service.key): RecordsClient {
  const client = new RecordsClient({ baseUrl: service.url, key })
  onTestFinished(() => client.close())
  return client
}

async function scene(records = 0) {
  const service = await startService({ schema: everyShape() })
  onTestFinished(() => service.close())
  const client = clientOf(service)
  await seed(client, samples(records))
  return { service, client }
}

const from = (more: object = {}) => ({ connection: 'a', object_type: TYPE, ...more })

async function read(client: RecordsClient, more: object = {}, options: RecordsOptions = {}) {
  const source = await openRecords(client, from(more), options)
  const rows: SourceRow[] = []
  const chunks: number[] = []
  for await (const chunk of source.chunks(1_000)) {
    chunks.push(chunk.length)
    rows.push(...chunk)
  }
  await source.close()
  return { columns: source.columns, rows, chunks, summary: source.summary() }
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error: unknown) =>
      error instanceof SourceError ? `${error.code}: ${error.message}` : String(error),
  )

/** A clock whose waits end at once; they are written down. */
function instantClock(onWait: () => void = () => {}): Clock & { waits: number[] } {
  const waits: number[] = []
  return {
    waits,
    now: systemClock.now,
    sleep: async (ms) => {
      waits.push(ms)
      onWait()
    },
  }
}

test('columns are the id and the properties of the type, cells the values as they are on the wire', async () => {
  const { service, client } = await scene(7)
  const { columns, rows, summary } = await read(client)
  const schema = await client.readObjectType(TYPE)
  expect(columns).toEqual(['id', ...schema.properties.map(({ name }) => name)])
  expect(columns).toEqual(expect.arrayContaining([...NAMES]))
  const held = service.records(TYPE)
  expect(rows).toEqual(
    held.map(({ id, properties }, index) => ({
      ordinal: index + 1,
      line: index + 1,
      cells: columns.map((name) => (name === 'id' ? id : (properties[name] as Json))),
    })),
  )
  expect(summary.rows).toBe(7)
})

test('the digest is that of the values: the same until one changes', async () => {
  const { service, client } = await scene(3)
  const properties = NAMES
  const first = (await read(client, { properties })).summary.digest
  expect(first).toMatch(/^[0-9a-f]{64}$/)
  expect((await read(client, { properties })).summary.digest).toBe(first)
  await client.updateRecord(TYPE, service.records(TYPE)[1]!.id, { one_text: 'other' })
  expect((await read(client, { properties })).summary.digest).not.toBe(first)
})

test('named properties are the columns, in the order in which they are named, each once', async () => {
  const { client } = await scene(2)
  const properties = ['one_number', 'code', 'id', 'one_number']
  const { columns, rows } = await read(client, { properties })
  expect(columns).toEqual(['id', 'one_number', 'code'])
  expect(rows.map(({ cells }) => cells.slice(1))).toEqual(
    samples(2).map(({ one_number, code }) => [one_number, code]),
  )
})

test('a type without records has columns and no rows', async () => {
  const { client } = await scene()
  const { columns, rows, summary } = await read(client)
  expect(columns).toEqual(expect.arrayContaining([...NAMES, 'svc_created_at']))
  expect([rows, summary.rows]).toEqual([[], 0])
})

test('a long listing is read page by page, each record once, in chunks', async () => {
  const { service, client } = await scene(1_234)
  const before = service.stats().byOperation['queryRecords'] ?? 0
  const { rows, chunks } = await read(client, { properties: ['code'] })
  // Fifty records of a batch have one time of creation: those at the end of a page are asked for again.
  expect(service.stats().byOperation['queryRecords']! - before).toBe(25)
  expect(chunks).toEqual([1_000, 234])
  expect(rows.map(({ ordinal }) => ordinal)).toEqual(rows.map((_, index) => index + 1))
  expect(rows.map(({ cells }) => cells[1])).toEqual(samples(1_234).map(({ code }) => code))
})

test('a chunk ends early where its values are long', async () => {
  const { client } = await scene()
  const text = 'x'.repeat(400_000)
  for (let index = 0; index < 12; index += 1)
    await client.createRecord(TYPE, { code: `l-${index}`, one_long_text: text })
  const { chunks } = await read(client, { properties: ['one_long_text'] })
  expect(chunks).toEqual([11, 1])
})

test('only has_more ends a listing: short pages lose nothing', async () => {
  const { service, client } = await scene(250)
  service.setFaults({ seed: 1, rate: 1, kinds: ['short_page'] })
  const { rows } = await read(client, { properties: ['code'] })
  expect(rows.map(({ cells }) => cells[1])).toEqual(samples(250).map(({ code }) => code))
})

test('a filter chooses the records', async () => {
  const { client } = await scene(30)
  const filter = {
    $or: [
      { property: 'code', op: 'in', value: ['s-3', 's-20'] },
      { $and: [{ property: 'code', op: 'eq', value: 's-7' }] },
    ],
  }
  const { rows } = await read(client, { filter, properties: ['code'] })
  expect(rows.map(({ ordinal, cells }) => [ordinal, cells[1]])).toEqual([
    [1, 's-3'],
    [2, 's-7'],
    [3, 's-20'],
  ])
})

test('what cannot be read is refused with what can', async () => {
  const { service, client } = await scene(1)
  const one = clientOf(
    service,
    service.mintKey({ grants: { [TYPE]: { read: true, write: false } } }),
  )
  expect(await codeOf(read(one, { object_type: 'svc_contact' }))).toBe(
    'records_type: Records of svc_contact (connection a): there is no such object type, or the key cannot read it; it can read: sample',
  )
  expect(await codeOf(read(client, { properties: ['code', 'kode'] }))).toContain(
    `records_property: Records of sample (connection a): the type has no property kode, or the key cannot read it; it has: ${NAMES[0]}, ${NAMES[1]}`,
  )
})

test.each([
  [{ property: 'kode', op: 'eq', value: 'x' }, 'unknown_property'],
  [{ property: 'one_boolean', op: 'gt', value: true }, 'operator_not_supported'],
  [{ property: 'one_number', op: 'gt', value: 'secret-value' }, 'invalid_filter'],
])(
  'a filter that the service refuses is refused when the source is opened: %j',
  async (filter, reason) => {
    const { client } = await scene()
    const message = await codeOf(openRecords(client, from({ filter })))
    expect(message).toContain(
      `records_query: Records of sample (connection a): the service refuses`,
    )
    expect(message).toContain(`(${reason} at /filter`)
    expect(message).not.toContain('secret-value')
  },
)

/** Of a service that sorts by no time. */
const unsorted = (client: RecordsClient): RecordsClient =>
  Object.assign(Object.create(client) as RecordsClient, { listFieldTypes: async () => [] })

test('a cursor that is refused in the middle ends the reading', async () => {
  const { service, client } = await scene(150)
  const source = await openRecords(unsorted(client), from())
  service.setFaults({ seed: 1, rate: 1, kinds: ['expired_cursor'] })
  const rows: SourceRow[] = []
  const reading = async () => {
    for await (const chunk of source.chunks(10)) rows.push(...chunk)
  }
  expect(await codeOf(reading())).toContain(
    'records_cursor: Records of sample (connection a): the service refuses the cursor of page 2 (cursors live 24 hours)',
  )
  expect(rows).toHaveLength(100)
  expect(() => source.summary()).toThrow(/after the last row/)
})

/** Of a service where these records have no time of creation. @param isFirst whether they are sorted before the others */
const withoutTimes = (client: RecordsClient, none: ReadonlySet<string>, isFirst: boolean) =>
  Object.assign(Object.create(client) as RecordsClient, {
    recordPages: async function* (...args: Parameters<RecordsClient['recordPages']>) {
      const [type, { filter, cursor, ...body } = {}, options] = args
      const all = []
      for await (const page of client.recordPages(type, body, options)) all.push(...page.data)
      const without = all
        .filter(({ id }) => none.has(id))
        .map((record) => ({ ...record, properties: { svc_created_at: null } }))
      const others = all.filter(({ id }) => !none.has(id))
      const asked = filter as { readonly op: string; readonly value: string } | undefined
      const found =
        asked === undefined
          ? [...(isFirst ? without : []), ...others, ...(isFirst ? [] : without)]
          : asked.op === 'is_null'
            ? without
            : others.filter(({ properties }) => properties['svc_created_at']! >= asked.value)
      // A first page may be empty.
      if (asked === undefined && cursor == null)
        yield { data: [], pagination: { has_more: true, next_cursor: '0' } }
      for (let from = Number(cursor ?? 0); ; from += 100) {
        const isMore = found.length > from + 100
        const next = isMore ? String(from + 100) : null
        yield {
          data: found.slice(from, from + 100),
          pagination: { has_more: isMore, next_cursor: next },
        }
        if (!isMore) return
      }
    },
  })

test('a record that is deleted behind the reader leaves no other one out, where cursors are numbers of records', async () => {
  const { service, client } = await scene(350)
  const codes: Json[] = []
  const held = service.records(TYPE)
  const between = () => client.batchDelete(TYPE, { items: [{ id: held[3]!.id }] })
  const source = await openRecords(offsetPages(between)(client), from({ properties: ['code'] }))
  for await (const chunk of source.chunks(50)) codes.push(...chunk.map(({ cells }) => cells[1]!))
  expect(codes).toEqual(samples(350).map(({ code }) => code))
})

test('records without a time of creation are read too, whichever end they are sorted to', async () => {
  const { service, client } = await scene(250)
  const held = service.records(TYPE)
  for (const isFirst of [true, false]) {
    const none = new Set([held[7]!.id, held[8]!.id])
    const source = await openRecords(withoutTimes(client, none, isFirst), from({ properties: [] }))
    const ids: Json[] = []
    for await (const chunk of source.chunks(50)) ids.push(...chunk.map(({ cells }) => cells[0]!))
    expect(ids.toSorted()).toEqual(held.map(({ id }) => id).toSorted())
  }
})

test('a page that fails for the moment is asked for again: no row is missing, and none comes twice', async () => {
  const { service, client } = await scene(150)
  const clock = instantClock(() => service.setFaults(null))
  const source = await openRecords(client, from({ properties: ['code'] }), { clock })
  const codes: Json[] = []
  for await (const chunk of source.chunks(50)) {
    codes.push(...chunk.map(({ cells }) => cells[1]!))
    service.setFaults({ seed: 1, rate: 1, kinds: ['internal_500_before'] })
  }
  expect(codes).toEqual(samples(150).map(({ code }) => code))
  // Pages after the first, and what the key saw: each first wait is enough.
  expect(new Set(clock.waits)).toEqual(new Set([1_000]))
})

test('a service that stays away ends the reading after growing waits, as its own failure', async () => {
  const { service, client } = await scene(150)
  const clock = instantClock()
  const source = await openRecords(client, from(), { clock })
  service.setFaults({ seed: 1, rate: 1, kinds: ['reset_before'] })
  const reading = async () => {
    for await (const chunk of source.chunks(1_000)) expect(chunk).toHaveLength(0)
  }
  await expect(reading()).rejects.toBeInstanceOf(ServiceFailure)
  expect(clock.waits).toEqual([1_000, 4_000, 15_000, 45_000])
})

test('what does not pass by waiting ends the reading at once', async () => {
  const { service } = await scene(150)
  const key = service.mintKey({ reach: 'org' })
  const clock = instantClock()
  const source = await openRecords(clientOf(service, key), from(), { clock })
  service.revokeKey(key)
  const reading = source.chunks(1_000)[Symbol.asyncIterator]().next()
  await expect(reading).rejects.toMatchObject({ status: 401, block: 'auth' })
  expect(clock.waits).toEqual([])
})

test('a record that is changed while it is paged comes once', async () => {
  const { service, client } = await scene(250)
  const source = await openRecords(client, from({ properties: ['code', 'one_text'] }))
  const held = service.records(TYPE)
  for (const index of [0, 99, 100, 249])
    await client.updateRecord(TYPE, held[index]!.id, { one_text: 'changed' })
  const seen: Json[] = []
  const texts: Json[] = []
  for await (const chunk of source.chunks(1_000))
    for (const { cells } of chunk) {
      seen.push(cells[0]!)
      texts.push(cells[2]!)
    }
  expect(seen).toEqual(held.map(({ id }) => id))
  // The first page was read before the changes, the others after them.
  expect([0, 99, 100, 249].map((index) => texts[index] === 'changed')).toEqual([
    false,
    false,
    true,
    true,
  ])
})

test('a reading ends with its signal, whether it was given at the opening or for the rows', async () => {
  const { service, client } = await scene(150)
  for (const place of ['opening', 'rows']) {
    const stop = new AbortController()
    // The second page waits for ever, unless the signal ends it.
    const clock: Clock = {
      now: systemClock.now,
      sleep: (ms, signal) => {
        stop.abort(new Error('stopped'))
        return systemClock.sleep(ms, signal)
      },
    }
    const options = { clock, retryWaitsMs: [200_000] }
    service.setFaults(null)
    const source = await openRecords(
      client,
      from(),
      place === 'opening' ? { ...options, signal: stop.signal } : options,
    )
    service.setFaults({ seed: 1, rate: 1, kinds: ['internal_500_before'] })
    const reading = async () => {
      for await (const _ of source.chunks(10, place === 'rows' ? stop.signal : undefined));
    }
    await expect(reading()).rejects.toThrow('stopped')
    await source.close()
    await source.close()
  }
})

test('it is read once', async () => {
  const { client } = await scene(1)
  const source = await openRecords(client, from())
  for await (const chunk of source.chunks(10)) expect(chunk).toHaveLength(1)
  await expect(source.chunks(10)[Symbol.asyncIterator]().next()).rejects.toThrow(/one reading/)
})

describe('in a window', () => {
  const DAY = 86_400_000
  const day = (n: number) => new Date(Date.UTC(2026, 0, n)).toISOString()

  /** Ten records, `s-0` to `s-9`: one made and changed last at the very beginning of each day from the first of January on. */
  async function daily() {
    let now = Date.UTC(2026, 0, 1)
    const clock = { now: () => now, sleep: async () => {} }
    const service = await startService({ schema: everyShape(), clock })
    onTestFinished(() => service.close())
    const client = clientOf(service)
    for (const sample of samples(10)) {
      await client.createRecord(TYPE, { code: sample['code']! as string })
      now += DAY
    }
    const codes = async (window: Window, more: object = {}) =>
      (await read(client, { properties: ['code'], ...more }, { window })).rows.map(
        ({ cells }) => cells[1],
      )
    return { service, client, codes }
  }

  test('those are read that were changed last in it: its beginning included, its end not', async () => {
    const { service, client, codes } = await daily()
    expect(await codes({ from: day(3), to: day(6) })).toEqual(['s-2', 's-3', 's-4'])
    expect(await codes({ from: day(9), to: null })).toEqual(['s-8', 's-9'])
    expect(await codes({ from: null, to: day(2) })).toEqual(['s-0'])
    expect(await codes({ from: day(20), to: null })).toEqual([])
    expect(await codes({ from: null, to: null })).toHaveLength(10)
    // Changed on the eleventh, it is in no window before.
    await client.updateRecord(TYPE, service.records(TYPE)[3]!.id, { one_text: 'later' })
    expect(await codes({ from: day(3), to: day(6) })).toEqual(['s-2', 's-4'])
    expect(await codes({ from: day(11), to: null })).toEqual(['s-3'])
  })

  test('its filter holds as well, though it is as deep as filters may be', async () => {
    const { codes } = await daily()
    const among = (...value: string[]) => ({ property: 'code', op: 'in', value })
    const window = { from: day(3), to: day(6) }
    expect(await codes(window, { filter: among('s-1', 's-2') })).toEqual(['s-2'])
    expect(await codes(window, { filter: { $or: [among('s-4'), among('s-9')] } })).toEqual(['s-4'])
    let deepest: object = among('s-1', 's-2', 's-3', 's-8')
    for (let level = 1; level < 8; level++) deepest = { $and: [deepest] }
    expect(await codes(window, { filter: deepest })).toEqual(['s-2', 's-3'])
  })

  test('a type that does not say when its records were changed has none', async () => {
    const { client } = await scene(1)
    const timeless = Object.assign(Object.create(client) as RecordsClient, {
      readObjectType: async (name: string) => {
        const type = await client.readObjectType(name)
        const properties = type.properties.filter((one) => one.name !== 'svc_updated_at')
        return { ...type, properties }
      },
    })
    const window = { from: day(1), to: null }
    expect(await codeOf(read(timeless, {}, { window }))).toMatch(
      /^records_window: Records of \S+ \(connection a\): the type has no property that tells when a record was changed last .* leave out from and to$/,
    )
    expect((await read(timeless)).rows).toHaveLength(1)
  })

  test('is what a sync of records is opened with', async () => {
    const { client } = await daily()
    const sync = { name: 'copy', kind: 'import', import: { from: { records: from() } } }
    const openers = { connect: async () => ({ client }) }
    const extent = { watermark: null, window: { from: day(10), to: null } }
    const source = await openSource(sync as never, openers as never, undefined, extent)
    const rows: SourceRow[] = []
    for await (const chunk of source.chunks(10)) rows.push(...chunk)
    await source.close()
    expect(rows).toHaveLength(1)
    expect(source.summary().watermark).toBeUndefined()
  })
})

test('what was set aside is a row that is unread, and none is missing', async () => {
  const { client } = await scene(150)
  const aside = [
    { what: 'rec_a', id: 'rec_a', records: 1, within: null, why: 'the answer is too long' },
    { what: 'what has t from A to before B', id: null, records: 3, within: null, why: 'it failed' },
  ]
  let isFirst = true
  const through = Object.assign(Object.create(client) as typeof client, {
    recordPages: async function* (...asked: Parameters<typeof client.recordPages>) {
      for await (const page of client.recordPages(...asked)) {
        const own = isFirst ? { ...page, aside } : page
        isFirst = false
        yield own
      }
    },
  })
  const source = await openRecords(through, from({ properties: ['code'] }))
  const rows: { cells: readonly Json[]; unread?: string }[] = []
  for await (const chunk of source.chunks(1_000)) rows.push(...chunk)
  expect(rows.filter(({ unread }) => unread !== undefined)).toMatchObject([
    {
      cells: ['rec_a', null],
      unread: 'the record could not be read: rec_a (the answer is too long)',
    },
    {
      cells: [null, null],
      unread: '3 records could not be read: what has t from A to before B (it failed)',
    },
  ])
  expect(rows).toHaveLength(152)
})
