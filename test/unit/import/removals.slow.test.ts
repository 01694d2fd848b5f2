// Records whose rows are gone from the source, or ask for it: which of them are removed, and which are left.

import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { QueryBody } from '../../../src/contract/index.ts'
import type { ImportClient } from '../../../src/import/index.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { DeletionCounts } from '../../../src/core/domain/deletions.ts'
import { backupFile } from '../../../src/sqlite/backup.ts'
import { clientWith, importScene, CONTACT, type RunEnd, type Scene } from './scene.ts'

const COLUMNS = ['id', 'name', 'state']
const PROPERTIES: ImportConfig['properties'] = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
}
const people = (...ids: string[]) => ids.map((id) => [id, `N ${id}`, ''])

const sceneOf = (config: Partial<ImportConfig> = { missing_rows: 'delete' }) =>
  importScene(PROPERTIES, config)

async function removalsOf({ ledger }: Scene, { run }: RunEnd) {
  const states = await ledger.removals(run, {
    states: [
      'deleted',
      'cleared',
      'already_gone',
      'not_owned',
      'still_wanted',
      'changed_since',
      'unproven',
      'refused',
      'outcome_unknown',
      'not_sent',
      'pending',
      'in_flight',
    ],
    after: 0,
    limit: 1_000,
  })
  return Object.fromEntries(
    states.rows.map(({ key, state, reason }) => [
      key,
      reason === null ? state : `${state} ${reason}`,
    ]),
  )
}
const countsOf = ({ books }: RunEnd): DeletionCounts => books.removals ?? {}

describe('rows that are gone', () => {
  it('are left as they are by default', async () => {
    const scene = await sceneOf({})
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(countsOf(end)).toEqual({})
    expect(await scene.held('b')).not.toBeNull()
  })

  it('take their records with them, and come back as new ones', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    const first = await scene.run()
    expect(countsOf(first)).toEqual({})
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(end.state).toBe('complete')
    expect(end.message).toBe('2 deletions due = 2 deleted')
    expect(await removalsOf(scene, end)).toEqual({ b: 'deleted', c: 'deleted' })
    expect(await scene.held('b')).toBeNull()
    // The next run has nothing to do.
    const quiet = await scene.run()
    expect([quiet.state, countsOf(quiet)]).toEqual(['complete', {}])
    scene.rows(COLUMNS, people('a', 'b'))
    const back = await scene.run()
    expect(back.books.states).toMatchObject({ created: 1, unchanged: 1 })
    expect(await scene.held('b')).not.toBeNull()
  })

  it('are found by their keys, whatever else of the rows is wrong', async () => {
    const scene = await importScene(
      { ...PROPERTIES, svc_birthday: { column: 'state' } },
      { missing_rows: 'delete' },
    )
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, [['a', 'A', 'no date'], ...people('x')])
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({ b: 'deleted' })
    expect(await scene.held('a')).not.toBeNull()
  })

  it('of a ledger that was put back are unclear while their records are there, and gone once they are not', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    const backup = join(scene.folder, 'backup.db')
    backupFile(scene.ledger.place, backup)
    await scene.replaceLedger(backup)
    await scene.client.deleteRecord(CONTACT, (await scene.held('b'))!.id)
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({
      b: 'already_gone',
      c: 'unproven restored_ledger',
    })
  })

  it('get other values instead, and those of the row when it comes back', async () => {
    const properties = { ...PROPERTIES, svc_job_title: { value: 'here' } }
    const scene = await importScene(properties, {
      missing_rows: { clear: { svc_job_title: 'gone' } },
    })
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    const before = (await scene.held('b'))!.id
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(end.state).toBe('complete')
    expect(await removalsOf(scene, end)).toEqual({ b: 'cleared' })
    expect((await scene.held('b'))!.properties).toMatchObject({
      svc_job_title: 'gone',
      svc_first_name: 'N b',
    })
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    const now = (await scene.held('b'))!
    expect([now.id, now.properties['svc_job_title']]).toEqual([before, 'here'])
  })

  it('leave records alone that were changed since, and say so once', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c', 'd'))
    await scene.run()
    const { id } = (await scene.held('b'))!
    await scene.client.updateRecord(CONTACT, id, { svc_first_name: 'by hand' })
    const moved = (await scene.held('c'))!
    await scene.client.updateRecord(CONTACT, moved.id, { svc_external_id: 'other' })
    await scene.client.deleteRecord(CONTACT, (await scene.held('d'))!.id)
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({
      b: 'changed_since values_changed',
      c: 'changed_since key_changed',
      d: 'already_gone',
    })
    expect(end.state).toBe('complete_with_differences')
    expect((await scene.held('b'))!.id).toBe(id)
    const next = await scene.run()
    expect([next.state, countsOf(next)]).toEqual(['complete', {}])
    // A reconciliation has them, and deletes them if it is told to.
    const compared = await scene.reconcile()
    expect(compared.differences.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['extra b'])
  })

  it('leave records alone whose other properties were changed later', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    // A change of a property that is not mapped shows in the time alone.
    const end = await scene.run({
      through: (client) =>
        clientWith(client, {
          async queryRecords(...given) {
            const page = await client.queryRecords(...given)
            const later = new Date(Date.now() + 3_600_000).toISOString()
            const change = (record: (typeof page.data)[number]) =>
              'svc_updated_at' in record.properties
                ? { ...record, properties: { ...record.properties, svc_updated_at: later } }
                : record
            return { ...page, data: page.data.map(change) }
          },
        }),
    })
    expect(await removalsOf(scene, end)).toEqual({ b: 'changed_since changed_later' })
    expect(await scene.held('b')).not.toBeNull()
  })

  it('leave records alone that were changed later, where another record has a time that is still to come', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    const withTime = (ms: number, isShown: (body: QueryBody | undefined) => boolean) => ({
      through: (client: ImportClient) =>
        clientWith(client, {
          async queryRecords(...given) {
            const page = await client.queryRecords(...given)
            if (!isShown(given[1])) return page
            const svc_updated_at = new Date(Date.now() + ms).toISOString()
            return {
              ...page,
              data: page.data.map((record) => ({
                ...record,
                properties: { ...record.properties, svc_updated_at },
              })),
            }
          },
        }),
    })
    // Of all records, the newest change is in ten hours.
    const isAll = (body: QueryBody | undefined) => body?.sorts !== undefined && !body.filter
    await scene.run(withTime(36_000_000, isAll))
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run(withTime(3_600_000, (body) => body?.sorts === undefined))
    expect(await removalsOf(scene, end)).toEqual({ b: 'changed_since changed_later' })
    expect(await scene.held('b')).not.toBeNull()
  })

  it('leave records alone whose other properties were changed before a reconciliation that found the rest equal', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    // For the run that wrote them, the newest change is an hour old: what the service shows later is of others.
    await scene.run({
      through: (client) =>
        clientWith(client, {
          async queryRecords(...given) {
            const page = await client.queryRecords(...given)
            const before = new Date(Date.now() - 3_600_000).toISOString()
            const shown = (record: (typeof page.data)[number]) =>
              'svc_updated_at' in record.properties
                ? { ...record, properties: { ...record.properties, svc_updated_at: before } }
                : record
            return { ...page, data: page.data.map(shown) }
          },
        }),
    })
    const compared = await scene.reconcile()
    expect(compared.differences).toEqual([])
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({ b: 'changed_since changed_later' })
    expect(await scene.held('b')).not.toBeNull()
  })

  it('leave records alone that the sync has never written, or that another row or sync writes', async () => {
    const scene = await importScene(PROPERTIES, { missing_rows: 'delete', mode: 'create' })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'theirs' })
    scene.rows(COLUMNS, people('a', 'theirs', 'shared'))
    await scene.run()
    await scene.run({
      as: { name: 'others', import: { mode: 'upsert', missing_rows: 'ignore' } },
    })
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({
      theirs: 'not_owned',
      shared: 'still_wanted other_sync',
    })
    expect(end.state).toBe('complete')
    expect(await scene.held('theirs')).not.toBeNull()
    expect(await scene.held('shared')).not.toBeNull()
  })

  it('are not told from rows without a key: nothing is removed, until the next reading', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(COLUMNS, [...people('a'), ['', 'who?', '']])
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({
      b: 'not_sent keyless_rows',
      c: 'not_sent keyless_rows',
    })
    expect(end.state).toBe('complete_with_rejects')
    const run = (await scene.ledger.run(end.run))!
    expect(run.warnings).toContain(
      'missing_rows: nothing was removed (2 without a row): 1 row has no key that can be read (row 2, line 3), so a record that seems gone may be its; give it a key in the source, and the next run looks again',
    )
    expect(run.message).toContain(
      '2 deletions due = 2 rejected (not_sent 2); what was not sent was held back: a warning of the run says why',
    )
    expect(await scene.held('b')).not.toBeNull()
    // The row without a key was that of c.
    scene.rows(COLUMNS, people('a', 'c'))
    const next = await scene.run()
    expect(await removalsOf(scene, next)).toEqual({ b: 'deleted' })
    expect(await scene.held('c')).not.toBeNull()
  })

  it.each([
    ['delete', 'deleted'],
    [{ clear: { svc_job_title: 'gone' } }, 'cleared'],
  ] as const)(
    'of a file that changed since it was read stay, until the next reading (%j)',
    async (missing, done) => {
      const scene = await sceneOf({ missing_rows: missing })
      scene.rows(COLUMNS, people('a', 'b', 'c'))
      await scene.run()
      // A program writes the file in place, and stands still at the end of a row while it is read.
      scene.rows(COLUMNS, people('a'))
      const end = await scene.run({
        beforeRemoval: async () => scene.rows(COLUMNS, people('a', 'b')),
      })
      expect(await removalsOf(scene, end)).toEqual({
        b: 'not_sent source_changed',
        c: 'not_sent source_changed',
      })
      expect(end.state).toBe('complete_with_rejects')
      const { warnings, message } = (await scene.ledger.run(end.run))!
      expect(warnings).toEqual([
        'missing_rows: what seemed gone was not removed, because the file changed after it was read; expected it to stay as it is until the end of the run; the next run looks again',
      ])
      expect(message).toBe(
        '2 deletions due = 2 rejected (not_sent 2); what was not sent was held back: a warning of the run says why',
      )
      for (const key of ['b', 'c'])
        expect((await scene.held(key))!.properties['svc_job_title']).toBeNull()
      const next = await scene.run()
      expect(await removalsOf(scene, next)).toEqual({ c: done })
      expect(await scene.held('b')).not.toBeNull()
    },
  )

  it('of a file that changes while they are removed stay, from the next request on', async () => {
    const many = Array.from({ length: 60 }, (_, at) => `k${at}`)
    const scene = await sceneOf({ missing_rows: 'delete', missing_rows_max_percent: 100 })
    scene.rows(COLUMNS, people('a', ...many))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run({
      through: (client) =>
        clientWith(client, {
          async batchDelete(...given) {
            const answer = await client.batchDelete(...given)
            scene.rows(COLUMNS, people('a', 'k58', 'k59'))
            return answer
          },
        }),
    })
    expect(countsOf(end)).toEqual({ deleted: 50, not_sent: 10 })
    expect(await scene.held('k58')).not.toBeNull()
  })

  it('of a file that changes go one after the other, as long as it is as it was read', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c', 'd'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run({
      through: (client) =>
        clientWith(client, {
          itemsPerRequest: async () => 1,
          async batchDelete(...given) {
            const answer = await client.batchDelete(...given)
            rmSync(join(scene.folder, 'rows.csv'), { force: true })
            return answer
          },
        }),
    })
    expect(countsOf(end)).toEqual({ deleted: 1, not_sent: 2 })
  })

  it('of a file that was replaced by an equal one stay too, and what rows ask for goes', async () => {
    const scene = await sceneOf({
      missing_rows: 'delete',
      delete_when: { column: 'state', equals: ['deleted'] },
    })
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(COLUMNS, [...people('a'), ['b', 'B', 'deleted']])
    const file = join(scene.folder, 'rows.csv')
    const end = await scene.run({
      beforeRemoval: async () => {
        const { atime, mtime } = statSync(file)
        copyFileSync(file, `${file}.new`)
        utimesSync(`${file}.new`, atime, mtime)
        renameSync(`${file}.new`, file)
      },
    })
    expect(await removalsOf(scene, end)).toEqual({
      b: 'deleted',
      c: 'not_sent source_changed',
    })
  })

  it('of a file that was written to stay too, although its time and size are as before', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const file = join(scene.folder, 'rows.csv')
    const end = await scene.run({
      beforeRemoval: async () => {
        const { atime, mtime } = statSync(file)
        writeFileSync(file, readFileSync(file, 'utf8').replace('a,', 'b,'))
        utimesSync(file, atime, mtime)
      },
    })
    expect(await removalsOf(scene, end)).toEqual({
      b: 'not_sent source_changed',
      c: 'not_sent source_changed',
    })
  })

  it('are looked for in the last complete reading, not in one that was cut short', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const stopped = await scene.run({
      ending: 'cancelled',
      through: (client) =>
        clientWith(client, { batchDelete: () => Promise.reject(new Error('not today')) }),
    })
    expect(stopped.state).toBe('cancelled')
    expect(await removalsOf(scene, stopped)).toEqual({ b: 'not_sent not_carried_out' })
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({ b: 'deleted' })
  })

  it('of a source that shrank to nothing are a refusal, before anything is sent', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    const first = await scene.run()
    scene.rows(COLUMNS, [])
    await expect(scene.run()).rejects.toThrow(
      `The source has no rows, and run ${first.run} read 2.`,
    )
    expect(await scene.held('a')).not.toBeNull()
  })

  it('are nobody’s without a reading to compare with', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run({ ending: 'cancelled' })
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run()
    expect(countsOf(end)).toEqual({})
    expect((await scene.ledger.run(end.run))!.warnings).toContain(
      'missing_rows: nothing is removed, because no complete reading of the source is there to compare this one with; the next run compares with this one',
    )
  })

  it('count as one under spellings that are one key', async () => {
    const scene = await importScene(
      { svc_email: { column: 'id' }, svc_first_name: { column: 'name' } },
      { missing_rows: 'delete', matching_property: 'svc_email' },
    )
    scene.rows(COLUMNS, people('ada@x.example', 'bob@x.example'))
    await scene.run()
    scene.rows(COLUMNS, people(' ADA@x.example', 'bob@x.example '))
    const end = await scene.run()
    expect(countsOf(end)).toEqual({})
  })
})

describe('a person is asked', () => {
  const many = (count: number) => people(...Array.from({ length: count }, (_, at) => `k${at}`))

  it('above the percentage, and more than 10', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, many(60))
    await scene.run()
    scene.rows(COLUMNS, many(49))
    let asked: string | null = null
    const refused = await scene.run({ noteWait: (message) => (asked = message) })
    expect(asked).toContain('11 records wait to be deleted: 18.4 % of those')
    expect(refused.state).toBe('cancelled')
    expect(await scene.held('k55')).not.toBeNull()
    const end = await scene.run({ approves: true })
    expect(countsOf(end)).toEqual({ deleted: 11 })
  })

  it('not for ten, and not below the percentage', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, many(60))
    await scene.run()
    scene.rows(COLUMNS, many(50))
    expect(countsOf(await scene.run())).toEqual({ deleted: 10 })
    const wide = await sceneOf({ missing_rows: 'delete', missing_rows_max_percent: 50 })
    wide.rows(COLUMNS, many(60))
    await wide.run()
    wide.rows(COLUMNS, many(40))
    expect(countsOf(await wide.run())).toEqual({ deleted: 20 })
  })

  it('before the first one with 0, and where the source is another one', async () => {
    const scene = await sceneOf({ missing_rows: 'delete', missing_rows_max_percent: 0 })
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    expect((await scene.run()).state).toBe('cancelled')
    const other = await sceneOf()
    other.rows(COLUMNS, people('a', 'b'))
    await other.run()
    other.rows(COLUMNS, people('a'))
    let asked: string | null = null
    const from = { csv: `${other.folder}/../${other.folder.split('/').at(-1)}/rows.csv` }
    await other.run({
      as: { name: 'contacts', import: { from } },
      noteWait: (message) => (asked = message),
    })
    expect(asked).toContain('is set otherwise than in run 1')
  })
})

describe('rows that ask for it', () => {
  const when = { delete_when: { column: 'state', equals: ['gone', 'left'] } }
  const row = (id: string, state: string) => [id, `N ${id}`, state]

  it('delete the records that the sync has written, whatever their other cells hold', async () => {
    const scene = await importScene(
      { ...PROPERTIES, svc_birthday: { column: 'name' } },
      when as Partial<ImportConfig>,
    )
    const born = (id: string, state: string) => [id, '1985-12-10', state]
    scene.rows(COLUMNS, [born('a', ''), born('b', ''), born('c', 'gone')])
    const first = await scene.run()
    expect(first.books.states).toMatchObject({ created: 2, deletion_requested: 1 })
    scene.rows(COLUMNS, [born('a', ''), ['b', 'not a date', ' gone '], born('c', 'left')])
    const end = await scene.run()
    expect(end.state).toBe('complete')
    expect(end.books.states).toMatchObject({ unchanged: 1, deletion_requested: 2 })
    expect(await removalsOf(scene, end)).toEqual({ b: 'deleted' })
    expect(await scene.held('b')).toBeNull()
  })

  it('count in the order of the source', async () => {
    const scene = await sceneOf(when)
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(COLUMNS, [
      row('a', ''),
      row('b', 'gone'),
      row('b', ''),
      row('c', ''),
      row('c', 'gone'),
    ])
    const end = await scene.run()
    expect(end.books.states).toMatchObject({ unchanged: 2, superseded: 2, deletion_requested: 1 })
    expect(await removalsOf(scene, end)).toEqual({ c: 'deleted' })
  })

  it('without a key are invalid', async () => {
    const scene = await sceneOf(when)
    scene.rows(COLUMNS, [row('a', ''), row('', 'gone')])
    const end = await scene.run()
    expect(end.books.states).toMatchObject({ created: 1, invalid: 1 })
  })

  it('are extra in a reconciliation, which deletes them only if it is told to', async () => {
    const scene = await sceneOf(when)
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, [row('a', ''), row('b', 'gone')])
    const compared = await scene.reconcile()
    expect(compared.differences.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['extra b'])
    expect(await scene.held('b')).not.toBeNull()
    await scene.reconcile({ repair: true, deleteExtra: true }, { approves: true })
    expect(await scene.held('b')).toBeNull()
  })

  it('are left to regular runs by a retry', async () => {
    const scene = await sceneOf(when)
    scene.rows(COLUMNS, people('a', 'b'))
    const { run } = await scene.run()
    const again = await scene.retry(run)
    expect(countsOf(again)).toEqual({})
  })
})

describe('what is sent', () => {
  it('is asked for before it is sent again', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    let lost = 0
    const end = await scene.run({
      tries: 2,
      through: (client) =>
        clientWith(client, {
          async batchDelete(...given) {
            const answer = await client.batchDelete(...given)
            if (lost++ === 0) throw new Error('the answer was lost')
            return answer
          },
        }),
    })
    expect(lost).toBe(1)
    expect(await removalsOf(scene, end)).toEqual({ b: 'deleted', c: 'deleted' })
    expect(end.state).toBe('complete')
  })

  it('is judged right before: a change after the rows were sent counts', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b', 'c'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run({
      beforeRemoval: async () => {
        const { id } = (await scene.held('b'))!
        await scene.client.updateRecord(CONTACT, id, { svc_first_name: 'by hand' })
      },
    })
    expect(await removalsOf(scene, end)).toEqual({
      b: 'changed_since values_changed',
      c: 'deleted',
    })
  })

  it('and refused is left to the next run, which tries again', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const refused = await scene.run({
      through: (client) =>
        clientWith(client, {
          batchDelete: async () => ({
            data: [{ index: 0, status: 409, problem: { code: 'conflict' } as never }],
            summary: { total: 1, succeeded: 0, failed: 1 },
            requestId: null,
          }),
        }),
    })
    expect(await removalsOf(scene, refused)).toEqual({ b: 'refused' })
    expect(refused.state).toBe('complete_with_rejects')
    const end = await scene.run()
    expect(await removalsOf(scene, end)).toEqual({ b: 'deleted' })
  })

  it('and not carried out although it was answered so is a failure', async () => {
    const scene = await sceneOf()
    scene.rows(COLUMNS, people('a', 'b'))
    await scene.run()
    scene.rows(COLUMNS, people('a'))
    const end = await scene.run({
      through: (client) =>
        clientWith(client, {
          batchDelete: async () => ({
            data: [{ index: 0, status: 204 }],
            summary: { total: 1, succeeded: 1, failed: 0 },
            requestId: null,
          }),
        }),
    })
    expect(await removalsOf(scene, end)).toEqual({ b: 'outcome_unknown still_there' })
    expect(end.state).toBe('complete_with_rejects')
  })
})
