// Runs: one live run per sync, and a closed run stays closed.

import { beforeEach, afterEach, describe, expect, it } from 'vitest'
import { LIVE_STATES, RUN_STATES } from '../../../src/core/domain/books.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import {
  close,
  destination,
  openRun,
  rows,
  stage,
  staged,
  type Open,
  type Opened,
} from './scene.ts'

const closedStates = RUN_STATES.filter((state) => !LIVE_STATES.includes(state))

export function runTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const job = {
    sync: 'contacts',
    kind: 'import' as const,
    mode: 'run' as const,
    workflowId: 'w',
    workflowRunId: 'r',
    config: {},
  }

  it('everybody who has a ledger open sees the same mark of it', async () => {
    const mine = await ledger.copy()
    expect(mine).toMatch(/^[\da-f]{8}$/)
    expect(await (await opened.reopen()).copy()).toBe(mine)
  })

  describe('runs', () => {
    it('hold what they were opened with', async () => {
      const config = { name: 'contacts', import: { properties: { a: { column: 'ü' } } } }
      const result = await ledger.openRun({ ...job, config })
      const run = 'run' in result ? result.run : null
      expect(run).toMatchObject({
        sync: 'contacts',
        kind: 'import',
        mode: 'run',
        state: 'running',
        reason: null,
        message: null,
        workflowId: 'w',
        workflowRunId: 'r',
        config,
        destination: null,
        keyFingerprint: null,
        sourceColumns: null,
        sourceDigest: null,
        rowsRead: null,
        stageFence: 0,
        warnings: [],
        counts: null,
        closedAt: null,
      })
      expect(new Date(run!.openedAt).toISOString()).toBe(run!.openedAt)
      expect(await ledger.run(run!.id)).toEqual(run)
      expect(await (await opened.reopen()).run(run!.id)).toEqual(run)
      expect(await ledger.run(run!.id + 1)).toBeNull()
    })

    it('of one sync: one at a time, for every process', async () => {
      const first = await openRun(ledger)
      const other = await opened.reopen()
      for (const handle of [ledger, other])
        expect(await handle.openRun(job)).toEqual({ heldBy: first })
      expect(await ledger.openRun({ ...job, sync: 'companies' })).toHaveProperty('run')
    })

    it('of an execution that may open one: the closed one counts, unless it was abandoned', async () => {
      const once = { ...job, once: true }
      const first = await ledger.openRun(once)
      if (!('run' in first)) throw new Error('a run is open')
      const close = { books: await ledger.books(first.run.id) }
      await ledger.closeRun(first.run.id, { state: 'complete', ...close })
      expect(await ledger.openRun(once)).toMatchObject({ heldBy: { id: first.run.id } })
      for (const other of [{ sync: 'companies' }, { workflowRunId: 'another' }]) {
        const opened = await ledger.openRun({ ...once, ...other })
        if (!('run' in opened)) throw new Error('a run is open')
        await ledger.closeRun(opened.run.id, { state: 'failed', reason: 'abandoned', ...close })
        expect(await ledger.openRun({ ...once, ...other })).toHaveProperty('run')
      }
    })

    it('of one sync, asked for by many at once: one gets it', async () => {
      const handles = [ledger, await opened.reopen(), await opened.reopen()]
      const results = await Promise.all(
        handles.flatMap((handle) => [handle.openRun(job), handle.openRun(job)]),
      )
      const winners = results.flatMap((result) => ('run' in result ? [result.run.id] : []))
      const holders = results.flatMap((result) => ('heldBy' in result ? [result.heldBy.id] : []))
      expect(winners).toHaveLength(1)
      expect(new Set(holders)).toEqual(new Set(winners))
    })

    it.each(LIVE_STATES)('that are %s hold their sync', async (state) => {
      const { id } = await openRun(ledger)
      await ledger.setRunState(id, state)
      expect(await ledger.openRun(job)).toMatchObject({ heldBy: { id, state } })
    })

    it.each(closedStates)('that are %s hold nothing, and are never reopened', async (state) => {
      const { id } = await openRun(ledger)
      await ledger.closeRun(id, { state, books: await ledger.books(id) })
      const closed = await ledger.run(id)
      for (const late of RUN_STATES) await ledger.setRunState(id, late, 'service', 'too late')
      await ledger.closeRun(id, {
        state: 'failed',
        message: 'too late',
        books: await ledger.books(id),
      })
      expect(await ledger.run(id)).toEqual(closed)
      expect(closed).toMatchObject({ state, reason: null, message: null })
      expect(await ledger.openRun(job)).toHaveProperty('run')
    })

    it('that only plan neither hold a sync nor wait for one, and are not in the history', async () => {
      const plan = await openRun(ledger, 'plan')
      const run = await openRun(ledger)
      expect((await openRun(ledger, 'plan')).id).not.toBe(plan.id)
      expect((await ledger.runs({ limit: 10 })).map(({ id }) => id)).toEqual([run.id])
    })

    it('are listed newest first, of one sync or of all', async () => {
      const ids: number[] = []
      for (const sync of ['contacts', 'companies', 'contacts']) {
        const { id } = await openRun(ledger, 'run', sync)
        await close(ledger, id)
        ids.unshift(id)
      }
      const listed = async (filter: { sync?: string; limit: number }) =>
        (await ledger.runs(filter)).map(({ id }) => id)
      expect(await listed({ limit: 10 })).toEqual(ids)
      expect(await listed({ limit: 2 })).toEqual(ids.slice(0, 2))
      expect(await listed({ sync: 'contacts', limit: 10 })).toEqual([ids[0], ids[2]])
      expect(await listed({ sync: 'deals', limit: 10 })).toEqual([])
    })

    it('say why they stand still, and forget it when they go on', async () => {
      const { id } = await openRun(ledger)
      await ledger.setRunState(id, 'blocked', 'auth', 'the key was revoked')
      expect(await ledger.run(id)).toMatchObject({
        state: 'blocked',
        reason: 'auth',
        message: 'the key was revoked',
      })
      await ledger.setRunState(id, 'running')
      expect(await ledger.run(id)).toMatchObject({ state: 'running', reason: null, message: null })
    })

    it('know their destination: the same one for the same place, another for any other', async () => {
      const { id } = await openRun(ledger)
      const facts = { keyFingerprint: 'fp', warnings: ['svc_name is not unique', 'ü'], schema: {} }
      expect(await ledger.destinationOf(id)).toBeNull()
      const here = await ledger.bindDestination(id, destination, facts)
      expect(await ledger.run(id)).toMatchObject({ destination: here, ...facts })
      expect(await ledger.destinationOf(id)).toEqual(destination)
      expect(await ledger.bindDestination(id, { ...destination }, facts)).toBe(here)
      const others = [
        { sync: 'other' },
        { origin: 'https://other.example.com' },
        { orgId: 2 },
        { objectType: 'svc_company' },
        { matchingProperty: 'svc_email' },
      ]
      const ids = [here]
      for (const other of others)
        ids.push(await ledger.bindDestination(id, { ...destination, ...other }, facts))
      expect(new Set(ids).size).toBe(1 + others.length)
    })

    it('know their source once it was read to the end', async () => {
      const { id } = await openRun(ledger)
      const fence = await ledger.beginStage(id, ['id', 'näme'])
      await ledger.stageItems(id, fence, rows(2))
      expect(await ledger.run(id)).toMatchObject({ sourceColumns: ['id', 'näme'], rowsRead: null })
      expect(await ledger.progress(id)).toMatchObject({ read: 2, planned: 0 })
      await stage(ledger, id, rows(3))
      expect(await ledger.run(id)).toMatchObject({
        sourceColumns: ['id', 'name'],
        sourceDigest: 'd',
        rowsRead: 3,
      })
      expect(await ledger.progress(id)).toMatchObject({ read: 3, planned: 3 })
    })

    it('of one ledger do not touch each other', async () => {
      const one = await staged(ledger, rows(3))
      const other = await openRun(ledger, 'run', 'companies')
      await stage(ledger, other.id, rows(2))
      await ledger.settleLeftovers(other.id)
      expect(await ledger.books(one.run)).toMatchObject({
        read: 3,
        states: { pending: 3, not_sent: 0 },
      })
    })
  })
}
