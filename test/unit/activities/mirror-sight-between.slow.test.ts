// A mirror whose key sees less than that of the run before: what it does not see is not deleted before a person says so. The
// service, the ledger and the tables are real.

import { describe, expect, test } from 'vitest'
import { COMPANY, CONTACT, create, LINK, sightScene } from './sight-scene.ts'

const CONTACTS = `records ${CONTACT}`

const removeOne = async ({ ada }: Awaited<ReturnType<typeof sightScene>>) => {
  const filter = { property: 'svc_private', op: 'eq' as const, value: false }
  const { data } = await ada.queryRecords(CONTACT, { limit: 1, filter })
  await ada.deleteRecord(CONTACT, data[0]!.id)
}

/** Five records of 35 are private. */
async function mirrored() {
  const s = await sightScene({ object_types: [CONTACT] })
  await create(s.ada, 5, true)
  await create(s.ada, 30, false)
  expect(await s.run()).toMatchObject({ state: 'complete', asked: [] })
  return s
}

describe.each([
  ['a listing', true],
  ['changes', false],
])('a key of less reach, by %s', (_, full) => {
  test('few rows wait for a person too, and stay where nobody answers', async () => {
    const s = await mirrored()
    s.replace({ userId: 'ben' })
    const less = await s.run(undefined, { full })
    expect(less.asked).toMatchObject([{ stream: CONTACTS, rows: 5, of: 35 }])
    expect(less.asked[0]!.message).toMatch(
      /^svc_contact: 5 of 35 rows would be deleted, and the key may only not see them any more; approve or reject it; the key \(key#[0-9a-f]{12}\) sees less than that of the run before \(key#[0-9a-f]{12}\): its reach is user and was org/,
    )
    expect(less.state).toBe('complete_with_differences')
    expect(less.message).toMatch(/the deletion of 5 of 35 rows was rejected/)
    expect(less.streams[CONTACT]).toMatchObject({ differs: true, tableCount: 35, serviceCount: 30 })
    expect(await s.rows(CONTACT)).toBe(35)

    // Until then they are told, and a row more is asked about.
    const again = await s.run(undefined, { full: false })
    expect(again).toMatchObject({ state: 'complete_with_differences', asked: [] })
    expect(again.message).toMatch(/sees less than that of the run before/)
    await removeOne(s)
    const more = await s.run(undefined, { full: false })
    expect(more.asked).toMatchObject([{ stream: CONTACTS, rows: 6 }])
    expect(await s.rows(CONTACT)).toBe(35)

    s.put()
    expect(await s.run()).toMatchObject({ state: 'complete', asked: [] })
    expect(await s.rows(CONTACT)).toBe(34)
  })

  test('a person may let them go, and is not asked again', async () => {
    const s = await mirrored()
    s.replace({ userId: 'ben' })
    const less = await s.run(undefined, { full, approved: true })
    expect(less).toMatchObject({ state: 'complete', asked: [{ rows: 5, of: 35 }] })
    expect(less.streams[CONTACT]!.message).toMatch(/sees less than that of the run before/)
    expect(await s.rows(CONTACT)).toBe(30)
    await removeOne(s)
    expect(await s.run(undefined, { full })).toMatchObject({ state: 'complete', asked: [] })
    expect(await s.rows(CONTACT)).toBe(29)
  })
})

test('a key of less reach that lacks nothing: it is told once', async () => {
  const s = await sightScene({ object_types: [CONTACT] })
  await create(s.ada, 30, false)
  await s.run()
  s.replace({ userId: 'ben' })
  const less = await s.run(undefined, { full: false })
  expect(less).toMatchObject({ state: 'complete', asked: [] })
  expect(less.streams[CONTACT]!.message).toMatch(/sees less than that of the run before/)
  await removeOne(s)
  const next = await s.run(undefined, { full: false })
  expect(next).toMatchObject({ state: 'complete', asked: [] })
  expect(next.streams[CONTACT]!.message).toBeNull()
  expect(await s.rows(CONTACT)).toBe(29)
})

test("another user's key", async () => {
  const s = await sightScene({ object_types: [CONTACT] })
  s.replace({ userId: 'ada' })
  await create(s.ada, 5, true)
  expect(await s.run()).toMatchObject({ state: 'complete' })
  s.replace({ userId: 'ben' })
  const less = await s.run()
  expect(less.asked).toMatchObject([
    { rows: 5, message: expect.stringContaining("another user's") },
  ])
  expect(await s.rows(CONTACT)).toBe(5)
})

test('another key that sees as much deletes, and is told', async () => {
  const s = await mirrored()
  await removeOne(s)
  s.replace({ reach: 'org' })
  const { asked, state, streams } = await s.run(undefined, { full: false })
  expect({ asked, state }).toEqual({ asked: [], state: 'complete' })
  expect(streams[CONTACT]!.message).toMatch(
    /^1 row was deleted, with another key \(key#[0-9a-f]{12}\) than that of the run before \(key#/,
  )
  expect(await s.rows(CONTACT)).toBe(34)
})

describe('a property that is gone', () => {
  const title = 'svc_job_title'
  const gone = new RegExp(`it cannot read the property ${title}, or that is gone`)

  test('is told once, and rows that go with it are asked about', async () => {
    const s = await mirrored()
    s.service.changeType(CONTACT, { remove: [title] })
    await removeOne(s)
    const less = await s.run(undefined, { full: false })
    expect(less.asked).toMatchObject([{ rows: 1, message: expect.stringMatching(gone) }])
    expect(less).toMatchObject({ state: 'complete_with_differences' })
    expect(await s.rows(CONTACT)).toBe(35)
    const next = await s.run(undefined, { approved: true })
    expect(next).toMatchObject({ state: 'complete', asked: [{ rows: 1 }] })
    expect(await s.rows(CONTACT)).toBe(34)
    const last = await s.run(undefined, { full: false })
    expect(last.streams[CONTACT]!.message).toBeNull()
  })

  test('whose rows are all there changes nothing else', async () => {
    const s = await mirrored()
    s.service.changeType(CONTACT, { remove: [title] })
    const less = await s.run(undefined, { full: false })
    expect(less).toMatchObject({ state: 'complete', asked: [] })
    expect(less.streams[CONTACT]!.message).toMatch(gone)
    await removeOne(s)
    const next = await s.run(undefined, { full: false })
    expect(next).toMatchObject({ state: 'complete', asked: [] })
    expect(next.streams[CONTACT]).toMatchObject({ mode: 'incremental', message: null })
  })

  test('is read anew once it is back', async () => {
    const s = await mirrored()
    const { data } = await s.ada.queryRecords(CONTACT, { limit: 1 })
    s.service.changeType(CONTACT, { remove: [title] })
    await s.run(undefined, { full: false })
    // Only a read of everything finds what it was given meanwhile.
    s.service.changeType(CONTACT, { add: [{ name: title, field_type: 'text' }] })
    await s.ada.updateRecord(CONTACT, data[0]!.id, { [title]: 'chief' })
    const back = await s.run(undefined, { full: false })
    expect(back.streams[CONTACT]).toMatchObject({ mode: 'full', state: 'complete' })
  })
})

test('a run that was ended before it had looked leaves the question to the next one', async () => {
  const s = await mirrored()
  s.replace({ userId: 'ben' })
  s.hooks.before = (operation) => {
    if (operation === 'readRecord') throw new Error('ended')
  }
  expect(await s.run()).toMatchObject({ state: 'failed', asked: [] })
  s.hooks.before = () => {}
  expect(await s.run()).toMatchObject({ asked: [{ stream: CONTACTS, rows: 5 }] })
  expect(await s.rows(CONTACT)).toBe(35)
})

test('edges to records that the key does not see any more', async () => {
  const s = await sightScene({ associations: [LINK] })
  await create(s.ada, 2, false)
  const { data } = await s.ada.queryRecords(CONTACT, {})
  const company = await s.ada.createRecord(COMPANY, { svc_name: 'A', svc_private: true })
  await s.ada.associateRecords(CONTACT, data[0]!.id, LINK, company.id)
  const edges = `edges of ${CONTACT}`
  await s.run()
  expect(await s.rows(edges)).toBe(1)
  s.replace({ userId: 'ben' })
  const less = await s.run()
  expect(less.asked.map(({ stream, rows }) => [stream, rows])).toEqual([
    [`records ${COMPANY}`, 1],
    [`edges ${CONTACT}`, 1],
  ])
  expect(less.asked[1]!.message).toMatch(
    /^edges of svc_contact: 1 of 1 rows would be deleted, and the key may only not see them/,
  )
  expect(less.state).toBe('complete_with_differences')
  expect(await s.rows(edges)).toBe(1)
  await s.run(undefined, { approved: true })
  expect(await s.rows(edges)).toBe(0)
})

describe('definitions of associations', () => {
  const READ = { read: true, write: false }
  const withoutCompany = { reach: 'org', grants: { [CONTACT]: READ } } as const
  const LINKS = 'associations'

  test('of a type that is mirrored and not listed any more stay, and are told', async () => {
    const s = await sightScene({ object_types: 'all' })
    const types = (await s.client.listObjectTypes()).map(({ name }) => name)
    const except = types.filter((name) => name !== CONTACT && name !== COMPANY)
    await s.run(undefined, { config: { except } })
    const definitions = await s.client.listAssociations()
    const ofCompany = definitions.filter(
      ({ source, target }) => source === COMPANY || target === COMPANY,
    ).length
    expect(await s.rows(LINKS)).toBe(definitions.length)
    s.replace(withoutCompany)
    const less = await s.run(undefined, { config: { except } })
    expect(less.state).toBe('complete_with_differences')
    expect(less.streams[LINKS]).toMatchObject({ differs: true, serviceCount: 0 })
    const { message } = less.streams[LINKS]!
    expect(message).toContain(`${ofCompany} association definitions are not listed any more`)
    expect(message).toMatch(/and neither is svc_call, svc_company.*: they stay; /)
    expect(await s.rows(LINKS)).toBe(ofCompany)
    // Left on purpose.
    const more = await s.run(undefined, { config: { except: [...except, COMPANY] } })
    expect(more).toMatchObject({ state: 'complete', streams: { [LINKS]: { differs: false } } })
    expect(await s.rows(LINKS)).toBe(0)
  })

  test('of types that nobody mirrors go, and are told', async () => {
    const s = await sightScene({ object_types: [CONTACT] })
    await s.run()
    s.replace(withoutCompany)
    const less = await s.run()
    expect(await s.rows(LINKS)).toBe(0)
    expect(less).toMatchObject({ state: 'complete', streams: { [LINKS]: { differs: false } } })
    expect(less.streams[LINKS]!.message).toMatch(
      /not listed any more, and neither is svc_call, svc_company.*: they were deleted$/,
    )
  })
})
