// What records held before their rows were sent.

import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BeforeImage, Ledger } from '../../../src/ledger/ledger.ts'
import { noVerdicts, ROW_VERDICTS } from '../../../src/core/domain/row-changes.ts'
import {
  accept,
  answered,
  close,
  never,
  openRun,
  outcome,
  row,
  rows,
  send,
  stage,
  staged,
  statesOf,
  type Open,
  type Opened,
} from './scene.ts'

const image = (ordinal: number, more: Partial<BeforeImage> = {}): BeforeImage => ({
  ordinal,
  verdict: 'update',
  recordId: `record ${ordinal}`,
  before: '{"name":"a \\u0000 \\" 😀"}',
  sent: '{"name":"b"}',
  ...more,
})
const unkept = {
  kept: null,
  kept_values: 0,
  written_over: 0,
  marks: null,
  after: null,
  watermark: null,
}
const created = (ordinal: number) =>
  image(ordinal, { verdict: 'create', recordId: null, before: null })

export function beforeImageTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const page = { after: 0, limit: 100, verdicts: ROW_VERDICTS }
  const ordinalsOf = async (run: number) =>
    (await ledger.images(run, page)).map((one) => one.ordinal)

  it('are stored as they were found, and those found later take their place', async () => {
    const { run } = await staged(ledger, rows(4))
    await ledger.recordImages(run, [image(1), created(2), image(4)])
    await ledger.recordImages(run, [image(4, { before: '{"name":null}' })])
    await ledger.recordImages(run, [])
    expect(await ledger.imagesOf(run, [1, 2, 3])).toEqual(
      new Map([
        [1, image(1)],
        [2, created(2)],
      ]),
    )
    expect(await ledger.imagesOf(run, [])).toEqual(new Map())
    expect(await ledger.imageCounts(run)).toEqual({ ...noVerdicts(), create: 1, update: 2 })
    expect(await ledger.images(run, { ...page, after: 1 })).toEqual([
      { ...created(2), line: 3, key: 'k2', state: 'pending', writtenId: null },
      {
        ...image(4, { before: '{"name":null}' }),
        line: 5,
        key: 'k4',
        state: 'pending',
        writtenId: null,
      },
    ])
    expect(await ledger.images(run, { ...page, verdicts: ['create'] })).toHaveLength(1)
    expect(await ledger.images(run, { ...page, limit: 1 })).toHaveLength(1)
    const kept = JSON.stringify([{ property: 'c%_"\\', ours: 'b', theirs: 'a' }])
    await ledger.recordImages(run, [image(1, { kept, keptValues: 1 })])
    const found = async (mentions: string) =>
      (await ledger.images(run, { ...page, mentions })).map(({ ordinal }) => ordinal)
    expect(await found('"name"')).toEqual([1, 2, 4])
    expect(await found(JSON.stringify('c%_"\\'))).toEqual([1])
    expect(await found('"NAME"')).toEqual([])
    expect(await found('n_me')).toEqual([])
    const without = await ledger.withoutImage(run, { after: 0, limit: 9 })
    expect(without).toMatchObject([{ ordinal: 3, key: 'k3', hash: 'hash of a' }])
    expect(await ledger.withoutImage(run, { after: 3, limit: 9 })).toEqual([])
  })

  it('of a plan show which rows a run plans otherwise', async () => {
    const { id: plan } = await openRun(ledger, 'plan')
    await stage(ledger, plan, [row(1, 'k1'), row(2, 'B'), row(3, 'é'), row(4, 'k4')])
    await ledger.recordImages(plan, [image(1), image(2), image(3), image(4)])
    const { run } = await staged(ledger, [
      row(1, 'k4'),
      row(2, 'k1', 'b'),
      row(3, 'a'),
      row(4, 'é'),
    ])
    expect(await ledger.plannedOtherwise(run, plan, 9)).toEqual({ rows: 3, keys: ['B', 'a', 'k1'] })
    expect(await ledger.plannedOtherwise(run, plan, 1)).toEqual({ rows: 3, keys: ['B'] })
    const { id: same } = await openRun(ledger, 'plan')
    await stage(ledger, same, [row(1, 'é'), row(2, 'k4'), row(3, 'k1'), row(4, 'B')])
    expect(await ledger.plannedOtherwise(same, plan, 9)).toEqual({ rows: 0, keys: [] })
  })

  it('of a plan are known to the runs that apply it', async () => {
    const opening = { sync: 'contacts', kind: 'import', mode: 'run', workflowId: 'w' } as const
    const config = { name: 'contacts', kind: 'import' }
    const opened = async (plan?: number) => {
      const own = {
        ...opening,
        workflowRunId: String(plan),
        config: { ...config, ...(plan && { plan }) },
      }
      const result = await ledger.openRun(own)
      if (!('run' in result)) throw new Error('the sync is held')
      await close(ledger, result.run.id)
      return result.run.id
    }
    await opened()
    const runs = [await opened(3), await opened(4), await opened(3)]
    const ids = (await ledger.runs({ sync: 'contacts', plan: 3, limit: 9 }))
      .toReversed()
      .map(({ id }) => id)
    expect(ids).toEqual([runs[0], runs[2]])
    expect(await ledger.runs({ sync: 'others', plan: 3, limit: 9 })).toEqual([])
  })

  it('stay as they are once the row was sent, unless it certainly was not written', async () => {
    const { run, segment, fence } = await staged(ledger, rows(4))
    await ledger.recordImages(
      run,
      [1, 2, 3, 4].map((ordinal) => image(ordinal)),
    )
    const batch = await send(ledger, { run, segment, fence }, 4)
    const late = { before: '{"name":"late"}' }
    await ledger.recordImages(run, [image(1, late)])
    await ledger.settle(run, segment, fence, batch, answered, [
      outcome(1, 'created'),
      outcome(2, 'pending', { httpStatus: 500 }),
      outcome(3, 'pending', { httpStatus: 429 }),
      outcome(4, 'refused'),
    ])
    await ledger.recordImages(
      run,
      [1, 2, 3, 4].map((ordinal) => image(ordinal, late)),
    )
    const befores = (await ledger.images(run, page)).map(({ before }) => before)
    expect(befores).toEqual([image(1).before, image(2).before, late.before, image(4).before])
  })

  it('of rows that were sent are changed by a look-up before they are sent again', async () => {
    const { run, segment, fence } = await staged(ledger, rows(3))
    await ledger.recordImages(run, [image(1), image(2), created(3)])
    const batch = await send(ledger, { run, segment, fence }, 3)
    const outcomes = [outcome(1, 'pending', { httpStatus: 500 }), outcome(3, 'updated')]
    await ledger.settle(run, segment, fence, batch, answered, outcomes)
    const now = { kept: '[1]', keptValues: 1, marks: 'ours', sent: '{}' }
    const images = [1, 2, 3].map((ordinal) => image(ordinal, now))
    await ledger.recordImages(run, images)
    expect((await ledger.imagesOf(run, [1, 2])).get(2)).toEqual(image(2))
    await ledger.recordImages(run, images, { again: true })
    const [first, second, third] = [image(1, now), image(2, now), created(3)]
    expect([...(await ledger.imagesOf(run, [1, 2, 3])).values()]).toEqual([first, second, third])
    // A row that was written is sent once more where another row has its record.
    await ledger.recordImages(run, images, { isWritten: true })
    expect((await ledger.imagesOf(run, [3])).get(3)).toEqual(image(3, now))
  })

  it('outlive the payloads of a closed run, and go with its items', async () => {
    const { run, segment, fence } = await staged(ledger, rows(2))
    await ledger.recordImages(run, [image(1), created(2)])
    const batch = await send(ledger, { run, segment, fence }, 2)
    const outcomes = [outcome(1, 'updated'), outcome(2, 'created', { recordId: 'new' })]
    await ledger.settle(run, segment, fence, batch, answered, outcomes)
    await close(ledger, run)
    expect(await ledger.images(run, page)).toMatchObject([
      { ...image(1), state: 'updated' },
      { ...created(2), state: 'created', writtenId: 'new' },
    ])
    const exported = await ledger.exportRows('before_images', { after: null, limit: 9 })
    expect(exported.rows).toEqual([
      {
        run,
        ordinal: 1,
        verdict: 'update',
        record_id: 'record 1',
        before: image(1).before,
        sent: '{"name":"b"}',
        ...unkept,
      },
      {
        run,
        ordinal: 2,
        verdict: 'create',
        record_id: null,
        before: null,
        sent: '{"name":"b"}',
        ...unkept,
      },
    ])
    await ledger.prune(never)
    expect(await ordinalsOf(run)).toEqual([])
  })

  it('take what answers showed, until the row is looked up again', async () => {
    const { run } = await staged(ledger, rows(2))
    await ledger.recordImages(run, [image(1), image(2)])
    const after = '{"forms":{"name":"B \\u0000"},"changed":{}}'
    await ledger.noteAfter(run, [
      { ordinal: 2, after },
      { ordinal: 3, after },
    ])
    await ledger.noteAfter(run, [])
    const all = new Map([
      [1, image(1)],
      [2, image(2, { after })],
    ])
    expect(await ledger.imagesOf(run, [1, 2, 3])).toEqual(all)
    await ledger.recordImages(run, [image(2)])
    expect(await ledger.imagesOf(run, [2])).toEqual(new Map([[2, image(2)]]))
  })

  it('have what was kept, which counts once the row was written or left alone', async () => {
    const { run, segment, fence } = await staged(ledger, rows(4))
    const keeping = {
      kept: '[{"property":"name","reason":"changed"}]',
      keptValues: 1,
      marks: 'ABCDEg',
    }
    await ledger.recordImages(run, [
      image(1, {
        ...keeping,
        kept: '[{"reason":"changed"},{"reason":"has_value"}]',
        keptValues: 2,
      }),
      image(2, { ...keeping, verdict: 'protected' }),
      image(3, keeping),
      image(4, { writtenOver: 3 }),
    ])
    expect((await ledger.imagesOf(run, [2, 4])).get(2)).toEqual(
      image(2, { ...keeping, verdict: 'protected' }),
    )
    expect((await ledger.imagesOf(run, [4])).get(4)).toEqual(image(4, { writtenOver: 3 }))
    expect((await ledger.books(run)).kept).toBeUndefined()
    const batch = await send(ledger, { run, segment, fence }, 1)
    await ledger.settle(run, segment, fence, batch, answered, [outcome(1, 'updated')])
    const kept = { kind: null, held: null, differences: [], spared: 'protected' } as const
    await ledger.recordCompared(run, [{ ...kept, ordinal: 2, recordId: 'r2', marks: 'protected' }])
    const counts = { values: 3, rows: 2, reasons: { changed: 2, has_value: 1 } }
    expect((await ledger.books(run)).kept).toEqual(counts)
    expect(await statesOf(ledger, run)).toMatchObject({
      1: 'updated',
      2: 'protected',
      3: 'pending',
    })
    // Nothing was written for the key: nothing is accepted of it.
    expect(await ledger.acceptedValues(run, ['k2'])).toEqual(new Map())
  })

  it('say what was sent without an answer', async () => {
    const { run, segment, fence } = await staged(ledger, rows(3))
    await ledger.recordImages(run, [created(1), image(3)])
    const batch = await send(ledger, { run, segment, fence }, 3)
    await ledger.settle(run, segment, fence, batch, answered, [
      outcome(1, 'in_flight'),
      outcome(2, 'in_flight'),
      outcome(3, 'created'),
    ])
    await close(ledger, run)
    expect(await ledger.sentInDoubt(run, ['k1', 'k2', 'k3', 'k4'])).toEqual([
      { key: 'k1', hash: 'hash of a', sent: created(1).sent, isNew: true },
      { key: 'k2', hash: 'hash of a', sent: null, isNew: false },
    ])
  })

  it('tell what rows of earlier runs kept', async () => {
    const { run } = await staged(ledger, rows(4))
    const kept = '[{"property":"name","since":7}]'
    await ledger.recordImages(run, [image(1, { kept, keptValues: 1 }), image(2)])
    await close(ledger, run)
    const next = await staged(ledger, rows(1, 'b'))
    await ledger.recordImages(next.run, [image(1, { kept: '[]', keptValues: 1 })])
    const asked = ['k1', 'k2', 'k3', 'other'].map((key) => ({ run, key }))
    expect(await ledger.keptBefore([...asked, { run: next.run, key: 'k1' }])).toEqual([
      { run, key: 'k1', kept },
      { run, key: 'k2', kept: null },
      { run: next.run, key: 'k1', kept: '[]' },
    ])
    expect(await ledger.keptBefore([])).toEqual([])
  })

  it('leave a record of ours with what is known of it, where a row is kept', async () => {
    await accept(ledger, rows(2))
    const next = await staged(ledger, rows(2, 'b'))
    const [one] = (await ledger.acceptedValues(next.run, ['k1'])).values()
    const kept = {
      kind: null,
      held: null,
      differences: [],
      spared: 'protected',
      marks: 'old',
    } as const
    await ledger.recordCompared(next.run, [
      { ...kept, ordinal: 1, recordId: one!.recordId },
      { ...kept, ordinal: 2, recordId: 'another' },
    ])
    const known = await ledger.acceptedValues(next.run, ['k1', 'k2'])
    expect(known.get('k1')).toMatchObject({ hash: 'hash of b', marks: 'old', run: next.run })
    expect(known.get('k2')).toMatchObject({ hash: 'hash of a' })
    const asked = [one!.recordId!, 'none'].map((recordId) => ({ key: 'k9', recordId }))
    expect(await ledger.acceptedOfRecords(next.run, asked)).toMatchObject([
      { key: 'k1', recordId: one!.recordId },
    ])
  })

  it('find what was accepted by the key where a service answers without records, whichever its address was', async () => {
    await accept(ledger, rows(2), { destination: { origin: 'https://other.example.com' } })
    await accept(ledger, rows(2, 'b'))
    await opened.query('UPDATE accepted SET record_id = NULL')
    const { run } = await staged(ledger, rows(2, 'c'))
    const found = await ledger.acceptedOfRecords(run, [{ key: 'k1', recordId: 'record 1' }])
    const hashes = found.map(({ key, recordId, hash }) => [key, recordId, hash])
    expect(hashes.toSorted()).toEqual([
      ['k1', null, 'hash of a'],
      ['k1', null, 'hash of b'],
    ])
  })

  it('of a plan go with it', async () => {
    const plan = await openRun(ledger, 'plan')
    await stage(ledger, plan.id, rows(2))
    await ledger.recordImages(plan.id, [image(1)])
    expect(await ordinalsOf(plan.id)).toEqual([1])
    await ledger.discard(plan.id)
    expect(await opened.query('SELECT * FROM before_images')).toEqual([])
  })
}
