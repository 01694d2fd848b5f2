// What an import knows of its own values: by org, object type, record and property, whichever address, matching property or mapping it
// wrote them by.

import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { plannedChanges, PropertyTotals } from '../../../src/import/index.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { readRunAccount } from '../../../src/report/account.ts'
import { booksNotes } from '../../../src/report/books-notes.ts'
import { backupFile } from '../../../src/sqlite/backup.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { stagedPlan } from './plan-scene.ts'
import { clientWith, CONTACT, importScene, type RunOptions, type Scene } from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_email: { column: 'mail' },
  svc_first_name: { column: 'first' },
  svc_last_name: { column: 'last' },
}
const HEAD = ['id', 'mail', 'first', 'last']
const fast: RunOptions = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }
const protecting = (more: Partial<ImportConfig> = {}) =>
  importScene(NAMES, { on_conflict: 'theirs', verify: 'all', ...more })

/** The same service under another name. */
const elsewhere: RunOptions = {
  ...fast,
  through: (client: ImportClient) => clientWith(client, { origin: 'http://other.example' }),
}
/** The sync with another import. */
const as = (change: Partial<ImportConfig>): RunOptions => ({
  ...fast,
  as: { name: 'contacts', import: change },
})

const row = (scene: Scene, first: string, last: string) =>
  scene.rows(HEAD, [['k1', 'k1@example.com', first, last]])

async function change(scene: Scene, properties: Record<string, string | null>) {
  const { id } = (await scene.held('k1'))!
  await scene.client.updateRecord(CONTACT, id, properties)
}

const namesOf = async (scene: Scene) => {
  const { properties } = (await scene.held('k1'))!
  return [properties['svc_first_name'], properties['svc_last_name']]
}

onSampledLedgers('the base of protection', () => {
  it('stays through another address of the org, and back', async () => {
    const scene = await protecting()
    row(scene, 'A1', 'B1')
    await scene.run(fast)
    await change(scene, { svc_first_name: 'person' })
    row(scene, 'A2', 'B2')
    const there = await scene.run(elsewhere)
    expect(await namesOf(scene)).toEqual(['person', 'B2'])
    expect(there.books.kept).toEqual({ values: 1, rows: 1, reasons: { changed: 1 } })
    // What was written there is ours here.
    row(scene, 'A2', 'B3')
    const back = await scene.run(fast)
    expect(await namesOf(scene)).toEqual(['person', 'B3'])
    expect(back.books.kept).toEqual({ values: 1, rows: 1, reasons: { changed: 1 } })
  })

  it('is what was written last, through whichever address', async () => {
    const scene = await protecting()
    row(scene, 'A1', 'B1')
    await scene.run(fast)
    row(scene, 'A2', 'B1')
    await scene.run(elsewhere)
    // A person puts the value of the first run back.
    await change(scene, { svc_first_name: 'A1' })
    row(scene, 'A3', 'B1')
    await scene.run(fast)
    expect(await namesOf(scene)).toEqual(['A1', 'B1'])
  })

  it('does not freeze our own values where others come first', async () => {
    const scene = await protecting({ first_contact: 'theirs' })
    row(scene, 'A1', 'B1')
    await scene.run(fast)
    row(scene, 'A2', 'B2')
    await scene.run(elsewhere)
    expect(await namesOf(scene)).toEqual(['A2', 'B2'])
    row(scene, 'A3', 'B3')
    await scene.run(fast)
    expect(await namesOf(scene)).toEqual(['A3', 'B3'])
  })

  it('stays when the matching property changes', async () => {
    const scene = await protecting()
    row(scene, 'A1', 'B1')
    await scene.run(fast)
    await change(scene, { svc_first_name: 'person' })
    row(scene, 'A2', 'B2')
    await scene.run(as({ matching_property: 'svc_email' }))
    expect(await namesOf(scene)).toEqual(['person', 'B2'])
    row(scene, 'A3', 'B3')
    await scene.run(fast)
    expect(await namesOf(scene)).toEqual(['person', 'B3'])
  })

  it.each(['a run', 'a reconciliation'])(
    'stays while a property is out of the mapping (%s meanwhile)',
    async (meanwhile) => {
      const scene = await protecting()
      row(scene, 'A1', 'B1')
      await scene.run(fast)
      const { svc_first_name: _first, ...fewer } = NAMES
      if (meanwhile === 'a run') {
        row(scene, 'A1', 'B2')
        await scene.run(as({ properties: fewer }))
        row(scene, 'A1', 'B3')
        await scene.run(as({ properties: fewer }))
      } else await scene.reconcile({ repair: true }, as({ properties: fewer }))
      await change(scene, { svc_first_name: 'person' })
      row(scene, 'A2', 'B4')
      const back = await scene.run(fast)
      expect(await namesOf(scene)).toEqual(['person', 'B4'])
      expect(back.books.kept).toEqual({ values: 1, rows: 1, reasons: { changed: 1 } })
      // And only what others changed: our own value is not frozen.
      await change(scene, { svc_first_name: 'A1' })
      row(scene, 'A5', 'B4')
      await scene.run(fast)
      expect(await namesOf(scene)).toEqual(['A5', 'B4'])
    },
  )
})

onSampledLedgers('values that are written over without a base', () => {
  const met = (scene: Scene, key: string) =>
    scene.client.createRecord(CONTACT, {
      svc_external_id: key,
      svc_first_name: 'person',
      svc_last_name: key === 'k1' ? 'person' : 'B1',
    })
  const over = '3 values of 2 rows were written over that this sync had not written before'

  it('are counted by the run, and its message says so', async () => {
    const scene = await protecting({ first_contact: 'ours' })
    for (const key of ['k1', 'k2']) await met(scene, key)
    scene.rows(HEAD, [
      ['k1', '', 'A1', 'B1'],
      ['k2', '', 'A1', 'B1'],
      ['k3', '', 'A1', 'B1'],
    ])
    // A plan says the same before.
    const plan = await stagedPlan(scene)
    await plan.lookUp()
    const totals = new PropertyTotals()
    const { schema } = (await scene.ledger.run(plan.run))!
    const staged = { run: plan.run, config: scene.sync.import, schema }
    for await (const rows of plannedChanges(scene.ledger, staged))
      for (const each of rows) totals.add(each)
    expect(totals.writtenOver).toEqual({ values: 3, rows: 2 })
    const end = await scene.run(fast)
    expect(end).toMatchObject({ state: 'complete', message: over })
    expect(end.books.writtenOver).toEqual({ values: 3, rows: 2 })
    const again = await scene.run(fast)
    expect(again.books).not.toHaveProperty('writtenOver')
    const account = await readRunAccount(scene.ledger, (await scene.ledger.run(end.run))!)
    expect(account).toMatchObject({
      run: { written_over: { values: 3, rows: 2 } },
      books: { written_over: { values: 3, rows: 2 } },
    })
    expect(booksNotes(account!.books!)).toContainEqual({ text: `${over}.`, warns: true })
  })

  it('are none of a sync that protects nothing, or not that property', async () => {
    for (const more of [{ on_conflict: 'ours', keep_before: true }, {}] as const) {
      const { svc_last_name: _last, ...names } = NAMES
      const first = { ...NAMES.svc_first_name, on_conflict: 'ours' } as const
      const scene = await importScene(
        { ...names, svc_first_name: first, svc_last_name: { column: 'last' } },
        { on_conflict: 'theirs', first_contact: 'ours', ...more },
      )
      await met(scene, 'k2')
      scene.rows(HEAD, [['k2', '', 'A1', 'B1']])
      const end = await scene.run(fast)
      expect(end.books.states.updated).toBe(1)
      expect(end.books).not.toHaveProperty('writtenOver')
    }
  })
})

it('a run of a restored ledger counts what it writes over', async () => {
  const scene = await protecting({ first_contact: 'ours' })
  row(scene, 'A1', 'B1')
  await scene.run(fast)
  const backup = join(scene.folder, 'backup.db')
  backupFile(scene.ledger.place, backup)
  await scene.replaceLedger(backup)
  await change(scene, { svc_first_name: 'person' })
  row(scene, 'A2', 'B1')
  const end = await scene.run(fast)
  expect(await namesOf(scene)).toEqual(['A2', 'B1'])
  expect(end.message).toBe(
    '1 value of 1 row was written over that this sync had not written before',
  )
})

/** What each policy leaves of k1 (edited), k2 (emptied) and k3 (as it was), where the ledger is lost and the rows have changed. */
const POLICIES = (['theirs', 'reject', 'ours'] as const).flatMap((policy) =>
  ([undefined, 'theirs', 'ours'] as const).flatMap((first) =>
    (['import', 'property'] as const).map((level) => ({ policy, first, level })),
  ),
)

describe('a ledger that is lost', () => {
  it.each(POLICIES.filter(({ policy, first }) => !(policy === 'ours' && first === 'theirs')))(
    'takes no edit in silence ($policy, first_contact: $first, of the $level)',
    async ({ policy, first, level }) => {
      const settings = { on_conflict: policy, ...(first && { first_contact: first }) }
      const scene = await importScene(
        level === 'import' ? NAMES : { ...NAMES, svc_first_name: { column: 'first', ...settings } },
        { keep_before: true, ...(level === 'import' && settings) },
      )
      const send = async (value: string) => {
        scene.rows(
          HEAD,
          ['k1', 'k2', 'k3', 'k4']
            .slice(0, value === 'A1' ? 3 : 4)
            .map((key) => [key, '', value, 'B1']),
        )
        return await scene.run(fast)
      }
      await send('A1')
      const write = async (key: string, value: string | null) =>
        await scene.client.updateRecord(CONTACT, (await scene.held(key))!.id, {
          svc_first_name: value,
        })
      await write('k1', 'person')
      await write('k2', null)
      await scene.replaceLedger(join(scene.folder, 'another.db'))
      const end = await send('A2')
      const isKept = policy !== 'ours' && first !== 'ours'
      const now = async (key: string) => (await scene.held(key))!.properties['svc_first_name']
      // A record that had a value keeps it, also where it is an old value of ours: nothing is left that says so.
      expect(await Promise.all(['k1', 'k2', 'k3', 'k4'].map(now))).toEqual(
        isKept ? ['person', 'A2', 'A1', 'A2'] : ['A2', 'A2', 'A2', 'A2'],
      )
      const rejected = isKept && policy === 'reject' ? 2 : 0
      expect(end.books.states).toMatchObject({ created: 1, refused: rejected })
      expect(end.books.kept).toEqual(
        isKept && policy === 'theirs'
          ? { values: 2, rows: 2, reasons: { first_contact: 2 } }
          : undefined,
      )
      if (rejected === 0 && isKept)
        expect(end.message).toMatch(/`first_contact: ours` writes over them/)
      // A person says otherwise.
      if (level !== 'import' || policy === 'ours') return
      await scene.reconcile({ repair: true }, as({ ...scene.sync.import, first_contact: 'ours' }))
      expect(await now('k1')).toBe('A2')
    },
  )
})
