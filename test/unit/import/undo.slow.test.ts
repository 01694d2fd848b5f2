// Undo: what a run wrote is taken back, and what anybody has changed since is left as it is.

import { expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import { readUndos } from '../../../src/report/later-runs.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { HEAD, NAMES } from './people.ts'
import { clientWith, CONTACT, importScene, losesFirst, type Scene } from './scene.ts'

const keeping = (more = {}) => importScene(NAMES, { keep_before: true, verify: 'all', ...more })

const rowsOf = (count: number, name: string): string[][] =>
  Array.from({ length: count }, (_, at) => [`k${at}`, `${name} ${at}`, `k${at}@x.example`])

/** All records of the service, by key. */
async function world(scene: Scene): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  let cursor: string | null | undefined
  do {
    const page = await scene.client.queryRecords(CONTACT, { ...(cursor && { cursor }) })
    for (const { properties } of page.data) {
      const { svc_external_id: key, svc_first_name: name, svc_email: email } = properties
      found[String(key)] = [name ?? null, email ?? null]
    }
    cursor = page.pagination.has_more ? page.pagination.next_cursor : null
  } while (cursor)
  return found
}

const edit = async (scene: Scene, key: string, properties: Record<string, string | string[]>) =>
  await scene.client.updateRecord(CONTACT, (await scene.held(key))!.id, properties)

const removalsOf = async ({ ledger }: Scene, run: number) =>
  (await ledger.removals(run, { states: DELETION_STATES, after: 0, limit: 1_000 })).rows.map(
    ({ key, cause, state, reason }) => ({ key, cause, state, reason }),
  )

const approving = { approves: true }

onSampledLedgers('undo', () => {
  it('gives properties their values back, and deletes the records that the run made', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(120, 'first'))
    await scene.run()
    const before = await world(scene)
    scene.rows(HEAD, rowsOf(170, 'second'))
    const { run, books } = await scene.run()
    expect(books.states).toMatchObject({ created: 50, updated: 120 })
    const end = await scene.undo(run, {}, approving)
    expect(end).toMatchObject({ state: 'complete', books: { read: 120, states: { updated: 120 } } })
    expect(end.books.removals).toEqual({ deleted: 50 })
    expect(isBalanced(end.books)).toBe(true)
    expect(await world(scene)).toEqual(before)
    // The next regular run sends all of it again, and no other row.
    const next = await scene.run()
    expect(next.books.states).toMatchObject({ created: 50, updated: 120, unchanged: 0 })
  })

  it('leaves what is known of the record that a key has by now where its old one is gone already', async () => {
    const scene = await keeping({ on_conflict: 'theirs', first_contact: 'theirs' })
    scene.rows(HEAD, rowsOf(3, 'first'))
    const { run } = await scene.run()
    await scene.undo(run, {}, approving)
    expect((await scene.run()).books.states).toMatchObject({ created: 3 })
    const again = await scene.undo(run, {}, approving)
    expect(again.state).toBe('complete_with_differences')
    expect(await removalsOf(scene, again.run)).toMatchObject(
      Array.from({ length: 3 }, () => ({ state: 'changed_since', reason: 'written_later' })),
    )
    // Its values are the sync's own, and no first contact.
    scene.rows(HEAD, rowsOf(3, 'second'))
    expect((await scene.run()).books.states).toMatchObject({ updated: 3, protected: 0 })
  })

  it('does not call a record gone that an undo of its undo has made again', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(3, 'first'))
    const { run } = await scene.run()
    const { run: undone } = await scene.undo(run, {}, approving)
    const { run: madeAgain } = await scene.undo(undone, {}, approving)
    const again = await scene.undo(run, {}, approving)
    expect(again).toMatchObject({
      state: 'complete_with_differences',
      books: { removals: { changed_since: 3 } },
    })
    expect(Object.keys(await world(scene))).toHaveLength(3)
    expect(await readUndos(scene.ledger, run)).toMatchObject([
      { id: undone, takenBackBy: madeAgain },
      { id: again.run, takenBackBy: null },
    ])
    // Nothing under the key: gone it is.
    expect((await scene.undo(madeAgain, {}, approving)).books.removals).toEqual({ deleted: 3 })
    expect((await scene.undo(run, {}, approving)).books.removals).toEqual({ already_gone: 3 })
  })

  it('does not say that a record is made again whose key has one by now', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(130, 'first'))
    const { run } = await scene.run()
    const { run: undone } = await scene.undo(run, {}, approving)
    scene.rows(HEAD, rowsOf(120, 'first'))
    await scene.run()
    const { run: last } = await scene.undo(undone, {}, approving)
    const { warnings } = (await scene.ledger.run(last))!
    expect(warnings).toContain(`10 records that run ${undone} deleted are made again, with new ids`)
    expect(warnings).toContain(
      `120 records that run ${undone} deleted are not made again: their keys have other records by now`,
    )
    expect(Object.keys(await world(scene))).toHaveLength(130)
  })

  it('sends nothing again where the source went back too', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(3, 'first'))
    await scene.run()
    scene.rows(
      HEAD,
      rowsOf(3, 'second').map(([key, name]) => [key!, name!, 'new@x.example']),
    )
    const { run } = await scene.run()
    await scene.undo(run)
    scene.rows(HEAD, rowsOf(3, 'first'))
    const next = await scene.run()
    expect(next.books.states).toMatchObject({ unchanged: 3 })
  })

  it('leaves what somebody has changed since, property by property', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(3, 'first'))
    await scene.run()
    scene.rows(HEAD, [
      ['k0', 'second 0', 'new0@x.example'],
      ['k1', 'second 1', 'new1@x.example'],
      ['k2', 'second 2', 'new2@x.example'],
      ['k3', 'second 3', 'new3@x.example'],
      ['k4', 'second 4', 'new4@x.example'],
    ])
    const { run } = await scene.run()
    await edit(scene, 'k0', { svc_first_name: 'theirs 0' })
    await edit(scene, 'k1', { svc_first_name: 'theirs 1', svc_email: ['theirs1@x.example'] })
    await edit(scene, 'k3', { svc_first_name: 'theirs 3' })
    const end = await scene.undo(run, {}, approving)
    expect(await world(scene)).toEqual({
      k0: ['theirs 0', ['k0@x.example']],
      k1: ['theirs 1', ['theirs1@x.example']],
      k2: ['first 2', ['k2@x.example']],
      k3: ['theirs 3', ['new3@x.example']],
    })
    expect(end.books.states).toMatchObject({ updated: 2, protected: 1 })
    expect(await removalsOf(scene, end.run)).toEqual([
      { key: 'k3', cause: 'undo', state: 'changed_since', reason: 'values_changed' },
      { key: 'k4', cause: 'undo', state: 'deleted', reason: null },
    ])
    const { warnings } = (await scene.ledger.run(end.run))!
    expect(warnings.join()).toContain('3 values that run 2 wrote were changed since')
  })

  it('leaves what a later run of ours has written', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(2, 'first'))
    await scene.run()
    scene.rows(HEAD, rowsOf(3, 'second'))
    const { run } = await scene.run()
    scene.rows(HEAD, rowsOf(3, 'third'))
    await scene.run()
    const before = await world(scene)
    const end = await scene.undo(run)
    expect(await world(scene)).toEqual(before)
    expect(end.books.states).toMatchObject({ protected: 2 })
    expect(await removalsOf(scene, end.run)).toMatchObject([
      { state: 'changed_since', reason: 'written_later' },
    ])
  })

  it('takes runs back one after the other, the last one first', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(1, 'first'))
    await scene.run()
    const worlds = [await world(scene)]
    const runs: number[] = []
    for (const name of ['second', 'third', 'fourth']) {
      scene.rows(HEAD, rowsOf(3, name))
      runs.push((await scene.run()).run)
      worlds.push(await world(scene))
    }
    for (const run of runs.toReversed()) {
      worlds.pop()
      expect((await scene.undo(run)).state).toBe('complete')
      expect(await world(scene)).toEqual(worlds.at(-1))
    }
  })

  it('gives a property that had no value none again', async () => {
    const scene = await keeping()
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k0' })
    scene.rows(HEAD, rowsOf(1, 'ours'))
    const { run } = await scene.run()
    await scene.undo(run)
    expect(await world(scene)).toEqual({ k0: [null, null] })
  })

  it('sends nothing over what changes while it is at work', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(2, 'first'))
    await scene.run()
    scene.rows(HEAD, rowsOf(2, 'second'))
    const { run } = await scene.run()
    let isEdited = false
    const end = await scene.undo(
      run,
      {},
      {
        // Between staging and the look-up before the batch.
        through: (client) =>
          clientWith(client, {
            itemsPerRequest: async (operation) => {
              if (!isEdited) await edit(scene, 'k0', { svc_first_name: 'theirs' })
              isEdited = true
              return await client.itemsPerRequest(operation)
            },
          }),
      },
    )
    expect(isEdited).toBe(true)
    expect(end.books.states).toMatchObject({ updated: 1, protected: 1 })
    expect(await world(scene)).toMatchObject({
      k0: ['theirs', ['k0@x.example']],
      k1: ['first 1', ['k1@x.example']],
    })
  })

  it('of a run without images deletes what the run made, where it is as it was sent', async () => {
    const scene = await keeping({ keep_before: false })
    scene.rows(HEAD, rowsOf(1, 'first'))
    await scene.run()
    scene.rows(HEAD, rowsOf(4, 'second'))
    const { run } = await scene.run()
    await edit(scene, 'k1', { svc_first_name: 'theirs' })
    const end = await scene.undo(run)
    expect(await world(scene)).toMatchObject({
      k0: ['second 0', ['k0@x.example']],
      k1: ['theirs', ['k1@x.example']],
    })
    expect(Object.keys(await world(scene))).toEqual(['k0', 'k1'])
    const { warnings } = (await scene.ledger.run(end.run))!
    expect(warnings.join()).toContain(
      '1 row of run 2 is left: it is not known what its record held before',
    )
  })

  it.each([true, false])(
    'deletes what the run made after reconciliations that found it equal, but for what others have added to (keep_before: %s)',
    async (keepBefore) => {
      const scene = await keeping({ keep_before: keepBefore })
      scene.rows(HEAD, rowsOf(20, 'first'))
      const { run } = await scene.run()
      for (let times = 0; times < 2; times++)
        expect((await scene.reconcile()).differences).toEqual([])
      await edit(scene, 'k3', { svc_last_name: 'of a person' })
      const end = await scene.undo(run, {}, approving)
      expect(end.books.removals).toEqual({ deleted: 19, changed_since: 1 })
      expect(Object.keys(await world(scene))).toEqual(['k3'])
    },
  )

  it('deletes no record that somebody made before a row was sent again', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(2, 'first'))
    const theirs = { svc_external_id: 'k1', svc_last_name: 'Theirs' }
    const meanwhile = () => scene.client.createRecord(CONTACT, theirs)
    const through = losesFirst('batchUpsert', false, { meanwhile })
    const tuning = { resend_backoff_ms: [1] }
    const { run, books } = await scene.run({ through, tuning })
    expect(books.states).toMatchObject({ created: 1, updated: 1 })
    const end = await scene.undo(run, {}, approving)
    expect(end.books.removals).toEqual({ deleted: 1 })
    expect((await scene.held('k1'))!.properties).toMatchObject({ svc_last_name: 'Theirs' })
    const { warnings } = (await scene.ledger.run(end.run))!
    expect(warnings.join()).toContain('1 row of run 1 is left')
  })

  it.each([
    ['svc_first_name', 'second 0', 'Second 0'],
    ['svc_first_name', 'second 0', 'second  0'],
  ])(
    'leaves an edit that looks like a form of what was sent: %s, %s, %s',
    async (name, sent, theirs) => {
      const scene = await keeping()
      scene.rows(HEAD, rowsOf(1, 'first'))
      await scene.run()
      scene.rows(HEAD, rowsOf(1, 'second'))
      const { run } = await scene.run()
      expect((await scene.held('k0'))!.properties).toMatchObject({ [name]: sent })
      await edit(scene, 'k0', { [name]: theirs })
      await scene.undo(run)
      expect((await scene.held('k0'))!.properties).toMatchObject({ [name]: theirs })
    },
  )

  it('takes back a part: rows, a property', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(3, 'first'))
    await scene.run()
    scene.rows(
      HEAD,
      rowsOf(4, 'second').map(([key, name]) => [key!, name!, `${key!}@new.example`]),
    )
    const { run } = await scene.run()
    await scene.undo(run, { properties: ['svc_email'] })
    await scene.undo(run, { rows: [[2, 2]] })
    expect(await world(scene)).toEqual({
      k0: ['second 0', ['k0@x.example']],
      k1: ['first 1', ['k1@x.example']],
      k2: ['second 2', ['k2@x.example']],
      k3: ['second 3', ['k3@new.example']],
    })
  })

  it('waits for a person before it deletes many', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(20, 'first'))
    const { run } = await scene.run()
    const waits: unknown[] = []
    const end = await scene.undo(run, {}, { noteWait: (text) => waits.push(text) })
    expect(waits).toEqual([expect.stringContaining('20 records wait to be deleted')])
    expect(end.state).toBe('cancelled')
    expect(Object.keys(await world(scene))).toHaveLength(20)
  })
})

onSampledLedgers('an undo that is undone', () => {
  it('gives the values of before it again, and makes the records again that it deleted', async () => {
    const scene = await keeping()
    scene.rows(HEAD, rowsOf(3, 'first'))
    await scene.run()
    scene.rows(HEAD, rowsOf(8, 'second'))
    const { run } = await scene.run()
    const after = await world(scene)
    const undone = await scene.undo(run)
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k7', svc_first_name: 'theirs' })
    const end = await scene.undo(undone.run)
    expect(end.books.states).toMatchObject({ created: 4, updated: 3, protected: 1 })
    expect(await world(scene)).toEqual({ ...after, k7: ['theirs', null] })
    const { warnings } = (await scene.ledger.run(end.run))!
    expect(warnings).toContain('4 records that run 3 deleted are made again, with new ids')
    expect(warnings).toContain(
      '1 record that run 3 deleted is not made again: its key has other records by now',
    )
    // The next run knows them, but for the one that is not its own.
    const next = await scene.run()
    expect(next.books.states).toMatchObject({ updated: 1, unchanged: 7 })
    // And once more.
    await scene.undo(end.run)
    expect(Object.keys(await world(scene))).toEqual(['k0', 'k1', 'k2', 'k7'])
  })

  it('makes the records of rows again that were gone from the source', async () => {
    const scene = await keeping({ missing_rows: 'delete' })
    scene.rows(HEAD, rowsOf(6, 'first'))
    await scene.run()
    const before = await world(scene)
    scene.rows(HEAD, rowsOf(4, 'first'))
    const { run, books } = await scene.run()
    expect(books.removals).toEqual({ deleted: 2 })
    const end = await scene.undo(run)
    expect(end).toMatchObject({ state: 'complete', books: { states: { created: 2 } } })
    expect(await world(scene)).toEqual(before)
  })

  it('makes no record where one of its rows is gone', async () => {
    const scene = await keeping({ missing_rows: 'delete' })
    scene.rows(HEAD, rowsOf(3, 'first'))
    await scene.run()
    scene.rows(HEAD, rowsOf(2, 'second'))
    const { run } = await scene.run()
    await scene.client.deleteRecord(CONTACT, (await scene.held('k0'))!.id)
    const end = await scene.undo(run)
    expect(end.books.states).toMatchObject({ created: 1, updated: 1, not_found: 1 })
    expect(Object.keys(await world(scene)).toSorted()).toEqual(['k1', 'k2'])
  })
})
