// Sealing: a run is closed with its manifest, and the manifests of a sync are a chain; what a run did over its time.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { manifestBody, manifestDigest, isSigned } from '../../../src/ledger/manifest.ts'
import {
  accept,
  answered,
  badRow,
  close,
  never,
  openRun,
  row,
  rows,
  send,
  settle,
  SIGNING_KEY,
  staged,
  stream,
  unanswered,
  type Open,
  type Opened,
} from './scene.ts'

export function sealingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  const chainOf = (sync: string) => ledger.manifests(sync, { after: 0, limit: 100 })

  describe('a closed run', () => {
    it('has a manifest of what is kept of it, and of the one before it, sync by sync', async () => {
      const runs = [await accept(ledger, rows(2)), await accept(ledger, rows(3, 'b'))]
      const other = await openRun(ledger, 'run', 'crm', 'mirror')
      await ledger.noteStream(other.id, stream('svc_b', { read: 7 }))
      await ledger.noteStream(other.id, stream('svc_a'))
      await ledger.saveStepState(other.id, 'svc_c', 'here')
      const verifiedThrough = '2026-01-31T08:15:00.000Z'
      await ledger.closeRun(other.id, { state: 'complete', books: null, verifiedThrough })
      runs.push(await accept(ledger, rows(1, 'c')))
      const chain = await chainOf('contacts')
      expect(chain.map(({ run }) => run)).toEqual(runs)
      let previous: string | null = null
      for (const manifest of chain) {
        expect(manifest).toEqual({
          run: manifest.run,
          sync: 'contacts',
          body: manifestBody((await ledger.run(manifest.run))!, [], previous),
          digest: manifestDigest(manifest.body),
          signature: null,
        })
        previous = manifest.digest
      }
      expect(JSON.parse(chain[1]!.body)).toMatchObject({
        state: 'complete',
        rows_read: 3,
        counts: { states: { created: 3 } },
        previous: chain[0]!.digest,
      })
      const [mirror, ...more] = await chainOf('crm')
      expect(more).toEqual([])
      const streams = await ledger.streams(other.id)
      expect(mirror!.body).toBe(manifestBody((await ledger.run(other.id))!, streams, null))
      expect(JSON.parse(mirror!.body)).toMatchObject({
        streams: [{ stream: 'svc_a' }, { stream: 'svc_b', read: 7 }],
        verified_through: verifiedThrough,
        previous: null,
      })
      expect(await ledger.manifests('contacts', { after: runs[0]!, limit: 1 })).toEqual([chain[1]])
    })

    it('is signed where the ledger has a key', async () => {
      await accept(await opened.signing(), rows(1))
      await accept(ledger, rows(1, 'b'))
      const [signed, unsigned] = await chainOf('contacts')
      expect(isSigned(signed!, SIGNING_KEY)).toBe(true)
      expect(isSigned(signed!, 'another key')).toBe(false)
      expect(unsigned!.signature).toBeNull()
    })

    it('is sealed once, whoever closes it again or at the same time', async () => {
      const { run } = await staged(ledger, rows(2))
      const others = [ledger, await opened.reopen(), await opened.reopen()]
      await ledger.settleLeftovers(run)
      const books = await ledger.books(run)
      await Promise.all(others.map((each) => each.closeRun(run, { state: 'complete', books })))
      await ledger.closeRun(run, {
        state: 'failed',
        books,
        verifiedThrough: '2026-01-31T08:15:00Z',
      })
      const chain = await chainOf('contacts')
      expect(chain).toHaveLength(1)
      expect(chain[0]!.body).toBe(manifestBody((await ledger.run(run))!, [], null))
      expect(await ledger.run(run)).toMatchObject({ state: 'complete', verifiedThrough: null })
    })

    it('of a plan has none, and one that is live has none yet', async () => {
      const plan = await openRun(ledger, 'plan')
      await ledger.closeRun(plan.id, { state: 'complete', books: null })
      await staged(ledger, rows(1))
      expect(await chainOf('contacts')).toEqual([])
      await ledger.discard(plan.id)
    })

    it('keeps its manifest when its items are pruned', async () => {
      await accept(ledger, rows(3))
      const before = await chainOf('contacts')
      expect(await ledger.prune(never)).toBeGreaterThan(0)
      expect(await chainOf('contacts')).toEqual(before)
    })
  })

  it('names all syncs that have runs, in order, without plans', async () => {
    expect(await ledger.syncs()).toEqual([])
    for (const sync of ['b', 'ä', 'B', 'a']) await openRun(ledger, 'run', sync)
    await openRun(ledger, 'plan', 'planned')
    expect(await ledger.syncs()).toEqual(['B', 'a', 'b', 'ä'])
  })

  describe('the timeline of a run', () => {
    it('is empty without requests', async () => {
      const { id } = await openRun(ledger)
      expect(await ledger.timeline(id, 10)).toEqual([])
    })

    it('has every request and every item that was answered, once, in order', async () => {
      const claim = await staged(ledger, [...rows(250), badRow(251, null), row(252, 'unsent')])
      for (let batch = 0; batch < 2; batch++)
        await settle(ledger, claim, await send(ledger, claim, 50), 'created')
      const lost = await send(ledger, claim, 50)
      await ledger.recordNoAnswer(claim.run, lost, unanswered)
      const resend = { operation: 'batchUpsert', replayed: true }
      const again = await ledger.recordResend(claim.run, claim.segment, claim.fence, lost, resend)
      await settle(ledger, claim, again, 'updated')
      await settle(ledger, claim, await send(ledger, claim, 50), 'refused')
      await settle(ledger, claim, await send(ledger, claim, 40), 'in_flight')
      await ledger.release(claim.run, claim.segment, claim.fence, await send(ledger, claim, 10), {
        ...answered,
        status: 429,
      })
      await close(ledger, claim.run)
      for (const points of [1, 3, 40]) {
        const line = await ledger.timeline(claim.run, points)
        expect(line.length).toBeGreaterThan(0)
        expect(line.length).toBeLessThanOrEqual(points)
        expect(line.map(({ at }) => at)).toEqual(line.map(({ at }) => at).toSorted())
        const sum = (name: Exclude<keyof (typeof line)[number], 'at'>) =>
          line.reduce((total, point) => total + point[name], 0)
        expect({
          requests: sum('requests'),
          failedRequests: sum('failedRequests'),
          created: sum('created'),
          updated: sum('updated'),
          rejected: sum('rejected'),
        }).toEqual({
          requests: 7,
          failedRequests: 2,
          created: 100,
          updated: 50,
          rejected: 90,
        })
      }
    })
  })
}
