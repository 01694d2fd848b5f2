// What changed at the object types of mirrors.

import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SchemaChange } from '../../../src/core/domain/schema-changes.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { LEDGER_ROWS_MAX } from '../../../src/core/limits.ts'
import { close, openRun, type Open, type Opened } from './scene.ts'

const CONTACT = 'svc_contact'
const added = (property: string, more: Partial<SchemaChange> = {}): SchemaChange => ({
  property,
  kind: 'added',
  before: null,
  now: 'number',
  handling: 'column_added',
  columns: [property],
  ...more,
})
const removed = (property: string): SchemaChange => ({
  property,
  kind: 'removed',
  before: 'number',
  now: null,
  handling: 'column_kept',
  columns: [property],
})

export function schemaHistoryTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const openMirror = async (sync = 'crm') => (await openRun(ledger, 'run', sync, 'mirror')).id
  const nextMirror = async (before: number) => {
    await close(ledger, before)
    return await openMirror()
  }
  const propertiesOf = async (of: { sync: string } | { run: number; stream?: string }) =>
    (await ledger.schemaChanges({ ...of, limit: 100 })).map(({ property }) => property)

  it('is noted before the table is changed, and has an end after', async () => {
    const run = await openMirror()
    await ledger.noteSchemaChanges(run, CONTACT, [added('b"ü'), removed('a')])
    const begun = await ledger.schemaChanges({ run, limit: 10 })
    const of = { run, stream: CONTACT, doneAt: null, foundAt: expect.any(String) }
    expect(begun).toEqual([
      { ...removed('a'), ...of, number: 2 },
      { ...added('b"ü'), ...of, number: 1 },
    ])
    await ledger.endSchemaChanges(run, CONTACT, [2])
    const reader = await opened.reopen()
    const [second, first] = await reader.schemaChanges({ sync: 'crm', limit: 10 })
    expect(first).toEqual(begun[1])
    expect(Date.parse(second!.doneAt!)).toBeGreaterThanOrEqual(Date.parse(second!.foundAt))
    await ledger.endSchemaChanges(run, CONTACT, [2])
    expect(await reader.schemaChanges({ sync: 'crm', limit: 1 })).toEqual([second])
    expect((await reader.schemaChanges({ run, limit: 10 }))[1]).toEqual(first)
  })

  it('that changes no table is at its end at once', async () => {
    const run = await openMirror()
    for (const handling of ['left_out', 'misfits', 'frozen'] as const)
      await ledger.noteSchemaChanges(run, CONTACT, [added(handling, { handling })])
    const noted = await ledger.schemaChanges({ run, limit: 10 })
    expect(noted.map(({ foundAt, doneAt }) => doneAt === foundAt)).toEqual([true, true, true])
  })

  it('is not noted again by the next attempt, nor by the next run that finds the same', async () => {
    const run = await openMirror()
    const left = added('a', { handling: 'left_out', columns: [] })
    for (let attempt = 0; attempt < 3; attempt++)
      await ledger.noteSchemaChanges(run, CONTACT, [left, added('b')])
    expect(await propertiesOf({ run })).toEqual(['b', 'a'])
    await ledger.endSchemaChanges(run, CONTACT, [2])
    const next = await nextMirror(run)
    await ledger.noteSchemaChanges(next, CONTACT, [left])
    expect(await propertiesOf({ run: next })).toEqual([])
    await ledger.noteSchemaChanges(next, CONTACT, [added('a'), removed('b')])
    expect(await propertiesOf({ run: next })).toEqual(['b', 'a'])
    const last = await nextMirror(next)
    await ledger.noteSchemaChanges(last, CONTACT, [left])
    expect(await propertiesOf({ run: last })).toEqual(['a'])
  })

  it('is noted each time that a property comes and goes, in one run too', async () => {
    const run = await openMirror()
    const turns = [added('a'), removed('a'), added('a', { kind: 'back' }), removed('a')]
    for (const turn of turns) await ledger.noteSchemaChanges(run, CONTACT, [turn])
    const noted = await ledger.schemaChanges({ run, limit: 10 })
    expect(noted.map(({ number }) => number).toSorted()).toEqual([1, 2, 3, 4])
  })

  it('that an earlier run began and did not end is noted again: this run does it', async () => {
    const run = await openMirror()
    await ledger.noteSchemaChanges(run, CONTACT, [added('a')])
    const next = await nextMirror(run)
    await ledger.noteSchemaChanges(next, CONTACT, [added('a')])
    await ledger.endSchemaChanges(next, CONTACT, [1])
    const noted = await ledger.schemaChanges({ sync: 'crm', limit: 10 })
    expect(noted.map((each) => [each.run, each.doneAt === null])).toEqual([
      [next, false],
      [run, true],
    ])
  })

  it('is of one sync and one stream, the newest run first', async () => {
    const other = await openMirror('other')
    await ledger.noteSchemaChanges(other, CONTACT, [added('a')])
    const run = await openMirror()
    await ledger.noteSchemaChanges(run, CONTACT, [added('a')])
    await ledger.noteSchemaChanges(run, 'svc_deal', [added('a'), added('d')])
    await ledger.endSchemaChanges(run, 'svc_deal', [1])
    expect(await propertiesOf({ run, stream: 'svc_deal' })).toEqual(['d', 'a'])
    const next = await nextMirror(run)
    await ledger.noteSchemaChanges(next, CONTACT, [removed('c')])
    expect(await propertiesOf({ sync: 'crm' })).toEqual(['c', 'a', 'd', 'a'])
    expect(await propertiesOf({ sync: 'other' })).toEqual(['a'])
    const ends = await ledger.schemaChanges({ run, limit: 10 })
    expect(ends.filter(({ doneAt }) => doneAt !== null)).toMatchObject([{ stream: 'svc_deal' }])
  })

  it('may be of more properties than one transaction takes', async () => {
    const run = await openMirror()
    const names = Array.from({ length: LEDGER_ROWS_MAX + 2 }, (_, at) => `p${at}`)
    await ledger.noteSchemaChanges(
      run,
      CONTACT,
      names.map((name) => added(name)),
    )
    await ledger.endSchemaChanges(
      run,
      CONTACT,
      names.map((_, at) => at + 1),
    )
    const noted = await ledger.schemaChanges({ run, limit: 10_000 })
    expect(noted.map(({ property }) => property).toSorted()).toEqual(names.toSorted())
    expect(noted.filter(({ doneAt }) => doneAt === null)).toEqual([])
  })
}
