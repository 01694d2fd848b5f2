// Imports next to a second writer: what it changed since the last run stays as the settings say, over several runs.

import { describe, expect, it } from 'vitest'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { DELETION_STATES } from '../../../src/core/domain/outcomes.ts'
import { ROW_VERDICTS } from '../../../src/core/domain/row-changes.ts'
import type { ImportClient } from '../../../src/import/ports.ts'
import { collectReport } from '../../../src/report/collect.ts'
import { onSampledLedgers } from './each-ledger.ts'
import { clientWith, CONTACT, importScene, losesFirst, type RunEnd, type Scene } from './scene.ts'

const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'first' },
  svc_last_name: { column: 'last' },
}
const HEAD = ['id', 'first', 'last']
const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

const protecting = (more = {}, names: Parameters<typeof importScene>[0] = NAMES) =>
  importScene(names, { on_conflict: 'theirs', verify: 'all', ...more })

/** The second writer. */
async function change(scene: Scene, key: string, properties: Record<string, string | null>) {
  const { id } = (await scene.held(key))!
  await scene.client.updateRecord(CONTACT, id, properties)
}

const namesOf = async (scene: Scene, key: string) => {
  const { properties } = (await scene.held(key))!
  return [properties['svc_first_name'], properties['svc_last_name']]
}

const states = ({ books, state }: RunEnd) => {
  expect(isBalanced(books)).toBe(true)
  const counted = Object.entries(books.states).filter(([, rows]) => rows > 0)
  return { state, ...Object.fromEntries(counted) }
}

const reportOf = async ({ ledger }: Scene, { run }: RunEnd) =>
  await collectReport(ledger, (await ledger.run(run))!, {
    madeAt: new Date().toISOString(),
    hint: (command) => command,
    ui: null,
    limitPerMinute: null,
  })

const keptOf = async (scene: Scene, { run }: RunEnd) =>
  (await scene.ledger.books(run)).kept ?? { values: 0, rows: 0 }

/** The runs that wrote what a run kept, as its images have them. */
async function sinceOf({ ledger }: Scene, { run }: RunEnd) {
  const images = await ledger.images(run, { after: 0, limit: 9, verdicts: ROW_VERDICTS })
  return images.flatMap(({ kept }) =>
    (JSON.parse(kept ?? '[]') as { readonly since: number | null }[]).map(({ since }) => since),
  )
}

onSampledLedgers('on_conflict: theirs', () => {
  it.each(['all', 'none'])(
    'leaves out what others changed, run after run (verify: %s)',
    async (verify) => {
      const scene = await protecting({ verify })
      scene.rows(HEAD, [['k1', 'A1', 'B1']])
      const first = await scene.run(fast)
      await change(scene, 'k1', { svc_first_name: 'person' })
      scene.rows(HEAD, [['k1', 'A2', 'B2']])
      const second = await scene.run(fast)
      expect(states(second)).toEqual({ state: 'complete', updated: 1 })
      expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
      const counts = { values: 1, rows: 1, reasons: { changed: 1 } }
      expect(await keptOf(scene, second)).toEqual(counts)
      expect(second.books.kept).toEqual(counts)
      expect(second.message).toBe('1 value of 1 row was kept as others changed it')
      expect(await sinceOf(scene, second)).toEqual([first.run])
      // What was kept is no value of ours: a further change of the row does not write over it either.
      scene.rows(HEAD, [['k1', 'A3', 'B3']])
      const third = await scene.run(fast)
      expect(states(third)).toEqual({ state: 'complete', updated: 1 })
      expect(await namesOf(scene, 'k1')).toEqual(['person', 'B3'])
      // The run that kept it has not written it.
      expect(await sinceOf(scene, third)).toEqual([first.run])
      // Nor does a run that has nothing to say of the property.
      scene.rows(HEAD, [['k1', '', 'B4']])
      await scene.run(fast)
      scene.rows(HEAD, [['k1', 'A5', 'B5']])
      await scene.run(fast)
      expect(await namesOf(scene, 'k1')).toEqual(['person', 'B5'])
      // What the other one puts back is ours again.
      await change(scene, 'k1', { svc_first_name: 'A1' })
      scene.rows(HEAD, [['k1', 'A6', 'B5']])
      const last = await scene.run(fast)
      expect(await namesOf(scene, 'k1')).toEqual(['A6', 'B5'])
      expect(await keptOf(scene, last)).toEqual({ values: 0, rows: 0 })
    },
  )

  it('leaves a row alone of which nothing is left, and does not look at it again', async () => {
    const scene = await protecting()
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    scene.rows(HEAD, [['k1', 'A2', 'B1']])
    const kept = await scene.run(fast)
    expect(states(kept)).toEqual({ state: 'complete', protected: 1 })
    expect(
      await scene.ledger.images(kept.run, { after: 0, limit: 9, verdicts: ROW_VERDICTS }),
    ).toMatchObject([{ verdict: 'protected', state: 'protected', keptValues: 1 }])
    expect(states(await scene.run(fast))).toEqual({ state: 'complete', unchanged: 1 })
    scene.rows(HEAD, [['k1', 'A3', 'B1']])
    expect(states(await scene.run(fast))).toEqual({ state: 'complete', protected: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B1'])
  })

  it('writes what only the source changed, and what others emptied stays empty', async () => {
    const scene = await protecting()
    scene.rows(HEAD, [
      ['k1', 'A1', 'B1'],
      ['k2', 'A1', 'B1'],
    ])
    await scene.run(fast)
    await change(scene, 'k2', { svc_first_name: null })
    scene.rows(HEAD, [
      ['k1', 'A2', 'B1'],
      ['k2', 'A2', 'B2'],
    ])
    await scene.run(fast)
    expect(await namesOf(scene, 'k1')).toEqual(['A2', 'B1'])
    expect(await namesOf(scene, 'k2')).toEqual([null, 'B2'])
  })

  it('takes a record that it meets first for its own, unless first_contact says otherwise', async () => {
    for (const [first, name, count] of [
      ['ours', 'A1', 0],
      ['theirs', 'person', 1],
    ] as const) {
      const scene = await protecting({ first_contact: first })
      await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'person' })
      scene.rows(HEAD, [['k1', 'A1', 'B1']])
      const end = await scene.run(fast)
      expect(await keptOf(scene, end)).toMatchObject({ values: count, rows: count })
      expect(end.message).toBe(
        count === 0
          ? '1 value of 1 row was written over that this sync had not written before'
          : '1 value of 1 row was kept as this sync is not known to have written it (`first_contact: ours` writes over it)',
      )
      // A property without a value has none to protect.
      expect(await namesOf(scene, 'k1')).toEqual([name, 'B1'])
      scene.rows(HEAD, [['k1', 'A2', 'B2']])
      await scene.run(fast)
      expect(await namesOf(scene, 'k1')).toEqual([first === 'ours' ? 'A2' : 'person', 'B2'])
    }
  })

  it('does not take a record for its own of which it kept all', async () => {
    const scene = await protecting({ first_contact: 'theirs' })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'person' })
    scene.rows(HEAD, [['k1', 'A1', '']])
    const end = await scene.run(fast)
    expect(states(end)).toEqual({ state: 'complete', protected: 1 })
    expect(await scene.ledger.acceptedRecords(end.run, ['k1'])).toEqual(new Map())
  })

  it('counts a record that took the place of another as met first', async () => {
    const scene = await protecting({ first_contact: 'theirs' })
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    await scene.client.deleteRecord(CONTACT, (await scene.held('k1'))!.id)
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'A1' })
    scene.rows(HEAD, [['k1', 'A2', 'B2']])
    await scene.run(fast)
    expect(await namesOf(scene, 'k1')).toEqual(['A1', 'B2'])
  })

  it('does not take such a record for its own either', async () => {
    const scene = await protecting({ first_contact: 'theirs' })
    scene.rows(HEAD, [['k1', 'A1', '']])
    await scene.run(fast)
    await scene.client.deleteRecord(CONTACT, (await scene.held('k1'))!.id)
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'person' })
    scene.rows(HEAD, [['k1', 'A2', '']])
    expect(states(await scene.run(fast))).toEqual({ state: 'complete', protected: 1 })
    expect(states(await scene.run(fast))).toEqual({ state: 'complete', protected: 1 })
  })

  it('applies to a property alone', async () => {
    const scene = await importScene({
      ...NAMES,
      svc_first_name: { column: 'first', on_conflict: 'theirs' },
    })
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person', svc_last_name: 'person' })
    scene.rows(HEAD, [['k1', 'A2', 'B2']])
    await scene.run(fast)
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
  })

  it('protects in mode update', async () => {
    const scene = await protecting({ mode: 'update' })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1' })
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    scene.rows(HEAD, [['k1', 'A2', 'B2']])
    expect(states(await scene.run(fast))).toEqual({ state: 'complete', updated: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
  })
})

onSampledLedgers('a value of ours that was sent without an answer', () => {
  it.each([true, false])('is sent again as it was (carried out: %s)', async (isDone) => {
    const scene = await protecting()
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    scene.rows(HEAD, [['k1', 'A2', 'B2']])
    const end = await scene.run({ ...fast, through: losesFirst('batchUpsert', isDone) })
    expect(states(end)).toEqual({ state: 'complete', updated: 1 })
    // The record was there before: the run has not created it.
    expect((await reportOf(scene, end)).books?.maybe_created).toBe(0)
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
    scene.rows(HEAD, [['k1', 'A3', 'B3']])
    await scene.run(fast)
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B3'])
  })

  it('is no change by others in the next run', async () => {
    const scene = await protecting({ verify: 'none' })
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    scene.rows(HEAD, [['k1', 'A2', 'B1']])
    // The run ends before it could read back what became of the row.
    const blind = (client: ImportClient) => {
      let sent = false
      const lossy = losesFirst('batchUpsert', true, { times: 99 })(client)
      return clientWith(lossy, {
        batchUpsert: async (...given) => {
          sent = true
          return await lossy.batchUpsert(...given)
        },
        queryRecords: async (...given) => {
          if (sent) throw new Error('not read')
          return await client.queryRecords(...given)
        },
      })
    }
    await scene.run({ ...fast, through: blind, ending: 'cancelled' }).catch(() => null)
    expect(await namesOf(scene, 'k1')).toEqual(['A2', 'B1'])
    scene.rows(HEAD, [['k1', 'A3', 'B1']])
    const end = await scene.run(fast)
    expect(await keptOf(scene, end)).toEqual({ values: 0, rows: 0 })
    expect(await namesOf(scene, 'k1')).toEqual(['A3', 'B1'])
  })
})

onSampledLedgers('a worker that dies', () => {
  it.each(['before the request', 'after it', 'before its batch is recorded'])(
    'sends what was kept back by the next one as well (%s)',
    async (place) => {
      const scene = await protecting({ verify: 'none' })
      scene.rows(HEAD, [
        ['k1', 'A1', 'B1'],
        ['k2', 'A1', 'B1'],
      ])
      await scene.run(fast)
      await change(scene, 'k1', { svc_first_name: 'person' })
      await change(scene, 'k2', { svc_first_name: 'person', svc_last_name: 'B2' })
      scene.rows(HEAD, [
        ['k1', 'A2', 'B2'],
        ['k2', 'A2', 'B2'],
      ])
      let isDead = false
      const recordSend = scene.ledger.recordSend.bind(scene.ledger)
      if (place === 'before its batch is recorded')
        scene.ledger.recordSend = async (...given) => {
          if (isDead) return await recordSend(...given)
          isDead = true
          throw new Error('dead')
        }
      const through = (client: ImportClient) =>
        clientWith(client, {
          batchUpsert: async (...given) => {
            if (isDead) return await client.batchUpsert(...given)
            isDead = true
            if (place === 'after it') await client.batchUpsert(...given)
            throw new Error('dead')
          },
        })
      const end = await scene.run({ ...fast, through, tries: 2 })
      expect(isDead).toBe(true)
      expect(states(end)).toEqual({ state: 'complete', updated: 1, protected: 1 })
      expect(await keptOf(scene, end)).toMatchObject({ values: 2, rows: 2 })
      expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
      scene.rows(HEAD, [
        ['k1', 'A3', 'B3'],
        ['k2', 'A3', 'B3'],
      ])
      await scene.run(fast)
      for (const key of ['k1', 'k2']) expect(await namesOf(scene, key)).toEqual(['person', 'B3'])
    },
  )
})

describe('on_conflict: reject', () => {
  it('sets the row aside with all three facts, until both sides agree', async () => {
    const scene = await protecting({ on_conflict: 'reject' })
    scene.rows(HEAD, [
      ['k1', 'A1', 'B1'],
      ['k2', 'A1', 'B1'],
    ])
    const first = await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    scene.rows(HEAD, [
      ['k1', 'A2', 'B2'],
      ['k2', 'A2', 'B2'],
    ])
    const end = await scene.run(fast)
    expect(states(end)).toEqual({ state: 'complete_with_rejects', refused: 1, updated: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B1'])
    const [row] = await scene.ledger.report(end.run, { states: ['refused'], after: 0, limit: 9 })
    expect(row).toMatchObject({
      key: 'k1',
      reason: 'changed_by_others',
      field: '/properties/svc_first_name',
      detail: `svc_first_name: the row has "A2", the record "person" (others changed it since this sync wrote it, in run ${first.run})`,
    })
    const { books } = await reportOf(scene, end)
    expect(books?.rows.states.find(({ state }) => state === 'refused')?.meaning).toBe(
      'refused by the service, or set aside as others changed the record (changed_by_others)',
    )
    // A retry protects it too.
    expect(states(await scene.retry(end.run, undefined, fast))).toMatchObject({ refused: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B1'])
    await change(scene, 'k1', { svc_first_name: 'A2' })
    expect(states(await scene.retry(end.run, undefined, fast))).toMatchObject({ updated: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['A2', 'B2'])
  })
})

/** The service writes first names in capitals. */
const capitals = (client: ImportClient) =>
  clientWith(client, {
    batchUpsert: async (type, matching, body, options) =>
      await client.batchUpsert(
        type,
        matching,
        {
          ...(body as { body: string; count: number }),
          body: (body as { body: string }).body.replaceAll(
            /("svc_first_name":")([^"]*)/g,
            (_, name: string, value: string) => name + value.toUpperCase(),
          ),
        } as never,
        options,
      ),
  })

describe('a form of our value that the service made', () => {
  it('is no change by others, and a value of others that looks like it is one', async () => {
    const scene = await protecting()
    scene.rows(HEAD, [['k1', 'anna', 'B1']])
    await scene.run({ ...fast, through: capitals })
    expect(await namesOf(scene, 'k1')).toEqual(['ANNA', 'B1'])
    scene.rows(HEAD, [['k1', 'berta', 'B1']])
    const end = await scene.run({ ...fast, through: capitals })
    expect(await keptOf(scene, end)).toEqual({ values: 0, rows: 0 })
    expect(await namesOf(scene, 'k1')).toEqual(['BERTA', 'B1'])
    await change(scene, 'k1', { svc_first_name: 'Berta' })
    scene.rows(HEAD, [['k1', 'clara', 'B1']])
    await scene.run({ ...fast, through: capitals })
    expect(await namesOf(scene, 'k1')).toEqual(['Berta', 'B1'])
  })
})

describe('several keys of one record', () => {
  it('do not take each other for others', async () => {
    // The service knows no capitals in e-mails.
    const scene = await protecting(
      { matching_property: 'svc_email', first_contact: 'theirs' },
      { svc_email: { column: 'id', type: 'text' }, svc_first_name: { column: 'first' } },
    )
    const rows = (one: string, other: string) =>
      scene.rows(
        ['id', 'first'],
        [
          ['a@example.com', one],
          ['A@example.com', other],
        ],
      )
    rows('A1', 'B1')
    await scene.run(fast)
    rows('A2', 'B2')
    const end = await scene.run(fast)
    expect(await keptOf(scene, end)).toEqual({ values: 0, rows: 0 })
  })
})

describe('a reconciliation', () => {
  const twoRows = (first: string, last: string) => [
    ['k1', first, last],
    ['k2', first, last],
  ]

  it('takes what others changed for no difference, and repairs the rest', async () => {
    const scene = await protecting()
    scene.rows(HEAD, twoRows('A1', 'B1'))
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    const seen = await scene.reconcile({}, fast)
    expect(states(seen)).toEqual({ state: 'complete', unchanged: 1, protected: 1 })
    expect(seen.differences).toEqual([])
    expect(seen.message).toBe(
      'both sides are equal, but for what is kept: 1 value of 1 row differs, and is kept as others changed it',
    )
    expect(await keptOf(scene, seen)).toMatchObject({ values: 1, rows: 1 })
    const { verdict, comparison } = await reportOf(scene, seen)
    expect(comparison).toMatchObject({ compared: 2, equal: 1, kept: { values: 1, rows: 1 } })
    expect(verdict).toMatchObject({
      tone: 'good',
      words: 'Equal, but for what is kept',
      meaning: expect.stringContaining('1 value of 1 row differs, and is kept') as string,
    })
    // Only the source changed the last name; of the first name it is others alone.
    scene.rows(HEAD, twoRows('A1', 'B2'))
    const repaired = await scene.reconcile({ repair: true }, fast)
    expect(states(repaired)).toEqual({ state: 'complete', updated: 2 })
    expect(repaired.differences.map(({ key, field }) => [key, field])).toEqual([
      ['k1', 'svc_last_name'],
      ['k2', 'svc_last_name'],
    ])
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
    expect(await namesOf(scene, 'k2')).toEqual(['A1', 'B2'])
    // What it found is kept by the next run.
    scene.rows(HEAD, twoRows('A3', 'B2'))
    await scene.run(fast)
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
  })

  it('knows after a run which value it kept, although the row is the same', async () => {
    const scene = await protecting()
    scene.rows(HEAD, twoRows('A1', 'B1'))
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    scene.rows(HEAD, twoRows('A2', 'B2'))
    await scene.run(fast)
    const end = await scene.reconcile({ repair: true }, fast)
    expect(states(end)).toEqual({ state: 'complete', unchanged: 1, protected: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B2'])
    // Others put back what was there before: only the source says something else now.
    await change(scene, 'k1', { svc_first_name: 'A1' })
    const mended = await scene.reconcile({ repair: true }, fast)
    expect(mended.differences).toMatchObject([{ key: 'k1', kind: 'stale', repaired: true }])
    expect(await namesOf(scene, 'k1')).toEqual(['A2', 'B2'])
  })

  it('sets a row aside that it may not repair', async () => {
    const scene = await protecting({ on_conflict: 'reject' })
    scene.rows(HEAD, twoRows('A1', 'B1'))
    await scene.run(fast)
    await change(scene, 'k1', { svc_first_name: 'person' })
    const end = await scene.reconcile({ repair: true }, fast)
    expect(states(end)).toEqual({
      state: 'complete_with_rejects',
      unchanged: 1,
      not_sent: 1,
    })
    expect(end.differences).toMatchObject([{ key: 'k1', field: 'svc_first_name', repaired: false }])
    const [row] = await scene.ledger.report(end.run, { states: ['not_sent'], after: 0, limit: 9 })
    expect(row).toMatchObject({ reason: 'changed_by_others' })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B1'])
  })

  it('knows a form of the service next to a value that it keeps', async () => {
    const scene = await protecting()
    const through = capitals
    for (const last of ['B1', 'B2', 'B3']) {
      scene.rows(HEAD, [['k1', 'anna', last]])
      await scene.run({ ...fast, through })
    }
    await change(scene, 'k1', { svc_last_name: 'person' })
    const end = await scene.reconcile({ repair: true }, { ...fast, through })
    expect(states(end)).toEqual({ state: 'complete', protected: 1 })
    expect(end.differences).toEqual([])
    expect(states(await scene.reconcile({}, fast))).toEqual({ state: 'complete', protected: 1 })
  })

  it('keeps what write: if_empty would not write', async () => {
    const scene = await importScene({
      ...NAMES,
      svc_first_name: { column: 'first', write: 'if_empty' },
    })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'person' })
    scene.rows(HEAD, [['k1', 'A1', 'B1']])
    await scene.run(fast)
    const end = await scene.reconcile({ repair: true }, fast)
    expect(states(end)).toEqual({ state: 'complete', protected: 1 })
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B1'])
  })

  it('keeps a record from removal that others changed', async () => {
    const scene = await protecting({ first_contact: 'theirs', missing_rows: 'delete' })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'person' })
    const rows = [...twoRows('A1', 'B1').slice(1), ['k3', 'A1', 'B1']]
    scene.rows(HEAD, [['k1', 'A1', 'B1'], ...rows])
    expect(states(await scene.run(fast))).toMatchObject({ updated: 1, created: 2 })
    scene.rows(HEAD, rows)
    const end = await scene.run({ ...fast, approves: true })
    const { rows: removals } = await scene.ledger.removals(end.run, {
      after: 0,
      limit: 9,
      states: DELETION_STATES,
    })
    expect(removals).toMatchObject([
      { key: 'k1', state: 'changed_since', detail: 'svc_first_name' },
    ])
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'B1'])
  })
})

onSampledLedgers('an undo', () => {
  it('takes back what the run wrote, leaves what it kept, and what is restored is ours again', async () => {
    const scene = await protecting(
      {},
      { ...NAMES, svc_last_name: { column: 'last', on_conflict: 'ours', write: 'if_empty' } },
    )
    scene.rows(HEAD, [
      ['k1', 'A1', ''],
      ['k2', 'A1', 'B1'],
    ])
    await scene.run(fast)
    await change(scene, 'k2', { svc_first_name: 'person' })
    scene.rows(HEAD, [
      ['k1', 'A2', 'B2'],
      ['k2', 'A2', 'B1'],
    ])
    const second = await scene.run(fast)
    expect(states(second)).toEqual({ state: 'complete', updated: 1, protected: 1 })
    await scene.undo(second.run, {}, fast)
    expect(await namesOf(scene, 'k1')).toEqual(['A1', null])
    expect(await namesOf(scene, 'k2')).toEqual(['person', 'B1'])
    const again = await scene.run(fast)
    expect(await namesOf(scene, 'k1')).toEqual(['A2', 'B2'])
    expect(await namesOf(scene, 'k2')).toEqual(['person', 'B1'])
    expect(again.books.kept?.values ?? 0).toBeLessThanOrEqual(1)
  })
})

describe('write: if_empty', () => {
  it('writes only where the record has no value', async () => {
    const scene = await importScene({
      ...NAMES,
      svc_first_name: { column: 'first', write: 'if_empty' },
    })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k1', svc_first_name: 'person' })
    await scene.client.createRecord(CONTACT, { svc_external_id: 'k2' })
    const rows = (name: string) =>
      scene.rows(
        HEAD,
        ['k1', 'k2', 'k3'].map((key) => [key, name, name]),
      )
    rows('A1')
    const end = await scene.run(fast)
    expect(states(end)).toEqual({ state: 'complete', created: 1, updated: 2 })
    expect(await keptOf(scene, end)).toEqual({ values: 1, rows: 1, reasons: { has_value: 1 } })
    expect(end.message).toBe(
      '1 value of 1 row was kept as the record has a value (write: if_empty)',
    )
    expect(await namesOf(scene, 'k1')).toEqual(['person', 'A1'])
    expect(await namesOf(scene, 'k2')).toEqual(['A1', 'A1'])
    expect(await namesOf(scene, 'k3')).toEqual(['A1', 'A1'])
    rows('A2')
    await scene.run(fast)
    for (const key of ['k2', 'k3']) expect(await namesOf(scene, key)).toEqual(['A1', 'A2'])
  })
})
