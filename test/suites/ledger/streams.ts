// Mirrors: runs of their own kind, whose account is their streams.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/json.ts'
import { silentLogger } from '../../../src/core/ports.ts'
import { LIVE_STATES } from '../../../src/core/domain/books.ts'
import type { Ledger, StreamBooks } from '../../../src/ledger/ledger.ts'
import { openOrResumeRun as openSync } from '../../../src/runs/open.ts'
import { mirrorSync } from '../../mirror-sync.ts'
import { close, never, openRun, stream, type Open, type Opened } from './scene.ts'

const sync = mirrorSync('crm')

const whole: StreamBooks = {
  stream: 'svc_contact',
  table: 'crm.svc_contact',
  state: 'complete',
  mode: 'full',
  requests: 3_000_000_001,
  read: 3_000_000_002,
  inserted: 3_000_000_003,
  changed: 3_000_000_004,
  unchanged: 3_000_000_005,
  deleted: 3_000_000_006,
  older: 3_000_000_010,
  reverted: 3_000_000_011,
  differs: true,
  misfits: 3_000_000_007,
  serviceCount: 3_000_000_008,
  tableCount: 3_000_000_009,
  message: 'three values of svc_score did not fit; ü\u001a',
}

export function streamTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const openMirror = (mode: 'run' | 'plan' = 'run') => openRun(ledger, mode, 'crm', 'mirror')

  describe('runs of a mirror', () => {
    it('say so, everywhere', async () => {
      const run = await openMirror()
      expect(run.kind).toBe('mirror')
      expect(await (await opened.reopen()).run(run.id)).toEqual(run)
      const imported = await openRun(ledger)
      const kinds = async (name?: string) =>
        (await ledger.runs({ ...(name !== undefined && { sync: name }), limit: 10 })).map(
          ({ id, kind }) => [id, kind],
        )
      expect(await kinds()).toEqual([
        [imported.id, 'import'],
        [run.id, 'mirror'],
      ])
      expect(await kinds('crm')).toEqual([[run.id, 'mirror']])
    })

    it.each(LIVE_STATES)('that are %s hold their sync, whatever wants it', async (state) => {
      const { id } = await openMirror()
      await ledger.setRunState(id, state)
      const job = { sync: 'crm', mode: 'run', workflowId: 'w', workflowRunId: 'r' } as const
      for (const kind of ['mirror', 'import'] as const)
        expect(await ledger.openRun({ ...job, kind, config: {} })).toMatchObject({
          heldBy: { id, kind: 'mirror', state },
        })
    })

    it('whose workflow is gone are taken over: closed without counts, with the streams they had', async () => {
      const { id } = await openMirror()
      await ledger.noteStream(id, stream('svc_contact', { state: 'pulling', read: 7 }))
      const next = await openSync(
        { ledger, logger: silentLogger, isLive: async ({ workflowId }) => workflowId === 'next' },
        {
          sync: sync.name,
          kind: sync.kind,
          config: sync as unknown as Json,
          holder: { workflowId: 'next', workflowRunId: 'r' },
        },
      )
      expect(next).toMatchObject({ kind: 'mirror', state: 'running', workflowId: 'next' })
      expect(next.config).toEqual(sync)
      expect(await ledger.run(id)).toMatchObject({
        kind: 'mirror',
        state: 'failed',
        reason: 'abandoned',
        counts: null,
        closedAt: expect.any(String),
      })
      expect(await ledger.streams(id)).toMatchObject([{ state: 'pulling', read: 7 }])
      expect(await ledger.streams(next.id)).toEqual([])
    })

    it('close without counts', async () => {
      const { id } = await openMirror()
      await ledger.closeRun(id, { state: 'complete', message: '2 tables', books: null })
      const closed = await ledger.run(id)
      expect(closed).toMatchObject({ state: 'complete', message: '2 tables', counts: null })
      expect(closed!.closedAt).not.toBeNull()
      expect(await openMirror()).toMatchObject({ state: 'running' })
    })
  })

  describe('streams', () => {
    it('are what was noted last, in the order of their names', async () => {
      const { id } = await openMirror()
      expect(await ledger.streams(id)).toEqual([])
      const names = ['svc_task', 'b_b', 'a', 'bb', 'B', 'ü']
      for (const name of names) await ledger.noteStream(id, stream(name))
      const ordered = ['B', 'a', 'b_b', 'bb', 'svc_task', 'ü']
      expect(await ledger.streams(id)).toEqual(ordered.map((name) => stream(name)))
      await ledger.noteStream(id, { ...whole, stream: 'bb' })
      const other = await opened.reopen()
      expect(await other.streams(id)).toEqual(
        ordered.map((name) => (name === 'bb' ? { ...whole, stream: 'bb' } : stream(name))),
      )
      await other.noteStream(id, stream('bb'))
      expect(await ledger.streams(id)).toEqual(ordered.map((name) => stream(name)))
    })

    it('hold what they were given, to the last digit', async () => {
      const { id } = await openMirror()
      await ledger.noteStream(id, whole)
      expect(await ledger.streams(id)).toEqual([whole])
    })

    it('belong to their run', async () => {
      const { id } = await openMirror()
      await ledger.noteStream(id, whole)
      await ledger.closeRun(id, { state: 'complete', books: null })
      const next = await openMirror()
      await ledger.noteStream(next.id, stream('svc_contact'))
      expect(await ledger.streams(id)).toEqual([whole])
      expect(await ledger.streams(next.id)).toEqual([stream('svc_contact')])
    })

    it('of a closed run stay as they were', async () => {
      const { id } = await openMirror()
      await ledger.noteStream(id, whole)
      await ledger.closeRun(id, { state: 'failed', books: null })
      await ledger.noteStream(id, stream('svc_contact'))
      await ledger.noteStream(id, stream('svc_late'))
      expect(await ledger.streams(id)).toEqual([whole])
    })

    it('stay when old runs are pruned, and go with a plan that is discarded', async () => {
      const { id } = await openMirror()
      await ledger.noteStream(id, whole)
      const plan = await openMirror('plan')
      await ledger.noteStream(plan.id, whole)
      await close(ledger, id)
      await ledger.prune(never)
      expect(await ledger.streams(id)).toEqual([whole])
      expect(await ledger.streams(plan.id)).toEqual([whole])
      await ledger.discard(plan.id)
      await ledger.discard(id)
      expect(await ledger.run(plan.id)).toBeNull()
      expect(await ledger.streams(plan.id)).toEqual([])
      expect(await ledger.streams(id)).toEqual([whole])
    })
  })
}
