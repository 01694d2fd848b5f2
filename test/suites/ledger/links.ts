// Links: staged, decided about, sent once, settled under a fence, known to later runs.

import { countAll } from '../../../src/core/domain/outcome-counts.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { finalState, isBalanced } from '../../../src/core/domain/books.ts'
import type { LinkState } from '../../../src/core/domain/outcomes.ts'
import {
  BEFORE_LINKS,
  type Ledger,
  type PlannedLink,
  type RunSegment,
} from '../../../src/ledger/ledger.ts'
import {
  allLinks,
  ASSOCIATION,
  knownTexts,
  link,
  linkedRun,
  linkTexts,
  NO_BOUNDS,
  ONE_SOURCE,
  ONE_TARGET,
  outcome,
  plannedLinks,
  pushRows,
  sendLinks,
  stagedLinks,
  type LinkedRow,
} from './link-scene.ts'
import {
  answered,
  badRow,
  close,
  destination,
  openRun,
  outcome as rowOutcome,
  row,
  send,
  stage,
  type Open,
  type Opened,
} from './scene.ts'

export function linkTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  describe('staging', () => {
    it('plans each link once, and counts it', async () => {
      const { run, counts } = await stagedLinks(ledger, [['a', 'x', 'y', 'x'], ['b'], ['c', 'x']])
      expect(counts.links).toEqual({ planned: 3, unchanged: 0, not_wanted: 0 })
      expect(await linkTexts(ledger, run)).toEqual(['a→y pending', 'a→x pending', 'c→x pending'])
      expect((await ledger.books(run)).links).toMatchObject({ read: 3, states: { pending: 3 } })
      expect((await ledger.progress(run)).links).toMatchObject({ read: 3, planned: 3, linked: 0 })
    })

    it('rejects a link whose cell is no key, which is never sent, known or in the place of another', async () => {
      const reject = { reason: 'not_a_key', detail: 'expected a domain' }
      const { id: run } = await openRun(ledger, 'run')
      await ledger.bindDestination(run, destination, {
        keyFingerprint: 'fp',
        warnings: [],
        schema: {},
      })
      const fence = await ledger.beginStage(run, ['id', 'domain'])
      await ledger.stageItems(run, fence, [row(1, 'a')])
      await ledger.stageLinks(run, fence, [
        link(1, 1, 'a', 'acme.example'),
        link(1, 2, 'a', 'two words', { reject }),
      ])
      const counts = await ledger.finishStage(run, fence, {
        rows: 1,
        digest: 'd',
        rowsPerSegment: 100_000,
        linkBounds: { oneTarget: [ASSOCIATION], oneSource: [ASSOCIATION] },
      })
      expect(counts.links).toEqual({ planned: 1, unchanged: 0, not_wanted: 0, refused: 1 })
      expect((await plannedLinks(ledger, run)).map(({ number }) => number)).toEqual([1])
      const all = { attemptsBelow: Number.MAX_SAFE_INTEGER }
      expect(await plannedLinks(ledger, run, all)).toHaveLength(1)
      expect((await allLinks(ledger, run))[1]).toMatchObject({
        state: 'refused',
        reason: 'not_a_key',
        detail: 'expected a domain',
        column: 'domain',
      })
      expect((await ledger.progress(run)).links).toMatchObject({ read: 2, refused: 1 })
      expect(await ledger.knownLinksOf(run, ['a'])).toEqual(new Map())
    })

    it('keeps books without links as they were', async () => {
      const { id: run } = await openRun(ledger)
      const { counts } = await stage(ledger, run, [row(1, 'a')])
      expect(counts).not.toHaveProperty('links')
      expect(await ledger.books(run)).not.toHaveProperty('links')
      expect(await ledger.progress(run)).not.toHaveProperty('links')
      await close(ledger, run)
      expect((await ledger.run(run))!.counts).not.toHaveProperty('links')
    })

    it('removes the links of rows that are superseded or not valid', async () => {
      const { id: run } = await openRun(ledger)
      const fence = await ledger.beginStage(run, ['id'])
      await ledger.stageItems(run, fence, [row(1, 'a'), badRow(2, 'b'), row(3, 'a', 'newer')])
      await ledger.stageLinks(run, fence, [
        link(1, 1, 'a', 'x'),
        link(1, 2, 'a', 'y'),
        link(2, 1, 'b', 'x'),
        link(3, 1, 'a', 'y'),
      ])
      const source = { rows: 3, digest: 'd', rowsPerSegment: 10 }
      const counts = await ledger.finishStage(run, fence, source)
      expect(counts.links).toEqual({ planned: 1, unchanged: 0, not_wanted: 0 })
      expect(await linkTexts(ledger, run)).toEqual(['a→y pending'])
      expect((await allLinks(ledger, run))[0]).toMatchObject({ ordinal: 3, line: 4 })
      expect((await ledger.books(run)).links!.read).toBe(1)
    })

    it('lets rows of one key stand each for itself where keys repeat', async () => {
      const source: LinkedRow[] = [
        ['a', 'x'],
        ['a', 'y'],
        ['a', 'x'],
      ]
      const { run, counts } = await stagedLinks(ledger, source, { keysRepeat: true })
      expect(counts).toMatchObject({ planned: 3, superseded: 0, links: { planned: 2 } })
      expect(await linkTexts(ledger, run)).toEqual(['a→y pending', 'a→x pending'])
    })

    it('begins again after an interruption, without what was staged before', async () => {
      const { id: run } = await openRun(ledger)
      const torn = await ledger.beginStage(run, ['id'])
      await ledger.stageItems(run, torn, [row(1, 'a'), row(2, 'b')])
      await ledger.stageLinks(run, torn, [link(1, 1, 'a', 'x'), link(2, 1, 'b', 'x')])
      const other = await opened.reopen()
      const fence = await other.beginStage(run, ['id'])
      expect((await other.books(run)).links).toBeUndefined()
      await expect(ledger.stageLinks(run, torn, [link(1, 1, 'a', 'x')])).rejects.toThrow(FenceLost)
      await expect(ledger.carryLinks(run, torn, { of: 'all left' })).rejects.toThrow(FenceLost)
      await other.stageItems(run, fence, [row(1, 'a')])
      await other.stageLinks(run, fence, [link(1, 1, 'a', 'z')])
      await other.finishStage(run, fence, { rows: 1, digest: 'd', rowsPerSegment: 10 })
      expect(await linkTexts(ledger, run)).toEqual(['a→z pending'])
      expect((await ledger.books(run)).links).toMatchObject({ read: 1, states: { pending: 1 } })
    })

    it('keeps of a sample the links of its rows', async () => {
      const source = Array.from({ length: 40 }, (_, at): LinkedRow => [`k${at}`, 'x', 'y'])
      const { run, stageFence } = await stagedLinks(ledger, source, { mode: 'plan' })
      const { planned: kept } = await ledger.keepSample(run, stageFence, 10)
      const links = await plannedLinks(ledger, run)
      expect(links).toHaveLength(2 * kept)
      expect(links.every(({ row: state }) => state === 'pending')).toBe(true)
      const books = await ledger.books(run)
      expect(books.links!.read).toBe(countAll(books.links!.states))
      expect((await ledger.progress(run)).links).toMatchObject({
        read: 2 * kept,
        planned: 2 * kept,
      })
    })

    it('lets the last link count where a source has one target, or a target one source', async () => {
      const source: LinkedRow[] = [
        ['a', 'x', 'y'],
        ['b', 'y'],
      ]
      const targets = await stagedLinks(ledger, source, { mode: 'plan', bounds: ONE_TARGET })
      expect(targets.counts.links).toEqual({ planned: 2, unchanged: 0, not_wanted: 1 })
      expect(await linkTexts(ledger, targets.run)).toEqual([
        'a→x not_wanted',
        'a→y pending',
        'b→y pending',
      ])
      expect((await allLinks(ledger, targets.run))[0]!.reason).toBe('one_target')
      const sources = await stagedLinks(ledger, source, { mode: 'plan', bounds: ONE_SOURCE })
      expect(await linkTexts(ledger, sources.run)).toEqual([
        'a→x pending',
        'a→y not_wanted',
        'b→y pending',
      ])
      const repeated = await stagedLinks(
        ledger,
        [
          ['a', 'x'],
          ['a', 'y'],
        ],
        {
          mode: 'plan',
          bounds: ONE_TARGET,
          keysRepeat: true,
        },
      )
      expect(await linkTexts(ledger, repeated.run)).toEqual(['a→x not_wanted', 'a→y pending'])
    })

    it('decides about rows with more links than a transaction may touch', async () => {
      const many = Array.from({ length: 2_500 }, (_, at) => `t${at}`)
      const { run, counts } = await stagedLinks(ledger, [
        ['a', ...many],
        ['b', 'x'],
      ])
      expect(counts.links).toEqual({ planned: 2_501, unchanged: 0, not_wanted: 0 })
      const known = await sendLinks(ledger, run)
      expect(known.replaced).toBe(0)
      await close(ledger, run)
      const again = await stagedLinks(ledger, [
        ['a', ...many, 'new'],
        ['b', 'x'],
      ])
      expect(again.counts.links).toEqual({ planned: 1, unchanged: 2_501, not_wanted: 0 })
      await ledger.beginStage(again.run, ['id'])
      expect(await allLinks(ledger, again.run)).toEqual([])
    })
  })

  describe('known links', () => {
    it('are unchanged in the next run, in their destination alone', async () => {
      const source: LinkedRow[] = [['a', 'x', 'y']]
      await linkedRun(ledger, source)
      const { run, counts } = await stagedLinks(ledger, [
        ['a', 'x', 'z'],
        ['b', 'y'],
      ])
      expect(counts.links).toEqual({ planned: 2, unchanged: 1, not_wanted: 0 })
      expect(await linkTexts(ledger, run)).toEqual(['a→x unchanged', 'a→z pending', 'b→y pending'])
      const elsewhere = await stagedLinks(ledger, source, { mode: 'plan', orgId: 2 })
      expect(elsewhere.counts.links).toMatchObject({ planned: 2, unchanged: 0 })
      const other = await stagedLinks(ledger, source, {
        mode: 'plan',
        destination: { sync: 'others' },
      })
      expect(other.counts.links).toMatchObject({ planned: 2, unchanged: 0 })
    })

    it('of a reconciliation are all compared', async () => {
      await linkedRun(ledger, [['a', 'x']])
      const task = { purpose: 'reconcile' } as const
      const { run, counts } = await stagedLinks(ledger, [['a', 'x']], {
        skipUnchanged: false,
        task,
      })
      expect(counts.links).toEqual({ planned: 1, unchanged: 0, not_wanted: 0 })
      await sendLinks(ledger, run, () => 'unchanged')
      await close(ledger, run)
      const books = await ledger.books(run)
      expect(books.links).toMatchObject({ read: 1, states: { unchanged: 1 } })
      expect(isBalanced(books)).toBe(true)
    })

    it('are sent again after the ledger was restored', async () => {
      await linkedRun(ledger, [['a', 'x']])
      const restored = await opened.restored()
      const { run, counts } = await stagedLinks(restored, [['a', 'x']])
      expect(counts.links).toEqual({ planned: 1, unchanged: 0, not_wanted: 0, distrusted: 1 })
      await pushRows(restored, run)
      await sendLinks(restored, run)
      await close(restored, run)
      const next = await stagedLinks(restored, [['a', 'x']])
      expect(next.counts.links).toEqual({ planned: 0, unchanged: 1, not_wanted: 0 })
    })

    it('do not count once the sync linked as another destination', async () => {
      await linkedRun(ledger, [['a', 'x']])
      const origin = 'https://other.example.com'
      await linkedRun(ledger, [['a', 'y']], undefined, { destination: { origin } })
      const { counts } = await stagedLinks(ledger, [['a', 'x']])
      expect(counts.links).toEqual({ planned: 1, unchanged: 0, not_wanted: 0 })
    })

    it('are planned again where the row was written to another record', async () => {
      await linkedRun(ledger, [
        ['a', 'x'],
        ['b', 'x'],
      ])
      expect(await ledger.knownLinksOf(1, [])).toEqual(new Map())
      const { run, stageFence } = await stagedLinks(ledger, [])
      await ledger.stageItems(run, stageFence, [row(1, 'b'), row(2, 'a', 'newer')])
      await ledger.stageLinks(run, stageFence, [link(1, 1, 'b', 'x'), link(2, 1, 'a', 'x')])
      const source = { rows: 2, digest: 'd', rowsPerSegment: 10 }
      await ledger.finishStage(run, stageFence, source)
      // The record of an item is named by its ordinal: a had that of 1.
      await pushRows(ledger, run)
      expect(await plannedLinks(ledger, run)).toEqual([])
      const fence = await ledger.claimLinks(run)
      expect(await ledger.reopenLinks(run, fence)).toBe(1)
      expect(await ledger.reopenLinks(run, fence)).toBe(0)
      expect(await linkTexts(ledger, run)).toEqual(['b→x unchanged', 'a→x pending'])
      expect(await plannedLinks(ledger, run)).toMatchObject([
        { row: 'created', sourceId: 'record 2' },
      ])
      expect((await ledger.progress(run)).links).toMatchObject({ planned: 1, unchanged: 1 })
    })

    it('are planned again where another sync wrote the target to another record', async () => {
      const companies = {
        destination: {
          sync: 'companies',
          objectType: 'svc_company',
          matchingProperty: 'svc_domain',
        },
      }
      await linkedRun(ledger, [['x']], undefined, companies)
      const target = await ledger.recordsOfType(
        {
          origin: 'https://api.example.com',
          orgId: 1,
          objectType: 'svc_company',
          matchingProperty: 'svc_domain',
        },
        ['x', 'y'],
      )
      expect([...target]).toMatchObject([['x', { recordId: 'record 1' }]])
      await linkedRun(ledger, [['a', 'x']])
      // What was written before the link says nothing.
      const same = await stagedLinks(ledger, [['a', 'x']])
      expect(await ledger.reopenLinks(same.run, await ledger.claimLinks(same.run))).toBe(0)
      await close(ledger, same.run)
      const { run } = await stagedLinks(ledger, [['y'], ['x']], {
        ...companies,
        skipUnchanged: false,
      })
      await pushRows(ledger, run)
      await close(ledger, run)
      const next = await stagedLinks(ledger, [['a', 'x']])
      expect(next.counts.links).toMatchObject({ unchanged: 1 })
      expect(await ledger.reopenLinks(next.run, await ledger.claimLinks(next.run))).toBe(1)
    })

    it('are told by key and page by page, and of a plan nothing is known', async () => {
      const { run } = await linkedRun(
        ledger,
        [
          ['a', 'x', 'y'],
          ['b', 'x'],
          ['c', 'z'],
        ],
        ({ key }) => (key === 'b' ? 'target_missing' : 'linked'),
      )
      const expected = ['a→x linked', 'a→y linked', 'b→x target_missing', 'c→z linked']
      for (const limit of [1, 2, 3, 9])
        expect(await knownTexts(ledger, run, limit)).toEqual(expected)
      const known = await ledger.knownLinksOf(run, ['b', 'a', 'nobody'])
      expect([...known.keys()].toSorted()).toEqual(['a', 'b'])
      expect(known.get('a')).toHaveLength(2)
      expect(known.get('b')).toEqual([
        {
          association: ASSOCIATION,
          key: 'b',
          target: 'x',
          to: 'svc_company',
          by: 'svc_domain',
          state: 'target_missing',
          sourceId: null,
          targetId: null,
          run,
          isCompared: false,
        },
      ])
      const plan = await stagedLinks(ledger, [['d', 'x']], { mode: 'plan' })
      await ledger.settleLeftovers(plan.run)
      expect(await knownTexts(ledger, run)).toEqual(expected)
      await ledger.discard(plan.run)
      expect(await opened.query(`SELECT * FROM links WHERE run = ${plan.run}`)).toEqual([])
      expect(await opened.query(`SELECT * FROM link_steps WHERE run = ${plan.run}`)).toEqual([])
    })
  })

  describe('what is left', () => {
    const states: Readonly<Record<string, LinkState>> = {
      p: 'target_missing',
      r: 'refused',
      f: 'outcome_unknown',
      u: 'not_sent',
      l: 'linked',
      s: 'not_wanted',
    }
    const byTarget = ({ target }: { readonly target: string }): LinkState => states[target]!
    const all: LinkedRow = ['a', 'p', 'r', 'f', 'u', 'l', 's']

    it('is carried where its key was not read again, and counts as read', async () => {
      await linkedRun(ledger, [all, ['b', 'p']], byTarget)
      const { run, stageFence, counts } = await stagedLinks(ledger, [['b', 'p']])
      expect(counts.links).toEqual({ planned: 1, unchanged: 0, not_wanted: 0 })
      expect(await ledger.carryLinks(run, stageFence, { of: 'unread keys' })).toBe(4)
      // Called again, as by a second attempt.
      expect(await ledger.carryLinks(run, stageFence, { of: 'unread keys' })).toBe(4)
      const links = await plannedLinks(ledger, run)
      expect(links.map(({ ordinal, target }) => `${ordinal} ${target}`).toSorted()).toEqual([
        '0 f',
        '0 p',
        '0 r',
        '0 u',
        '1 p',
      ])
      expect(links[0]).toMatchObject({
        number: 1,
        row: null,
        isAccepted: true,
        sourceId: 'record 1',
        column: 'domain',
        by: 'svc_domain',
        to: 'svc_company',
      })
      expect((await ledger.books(run)).links).toMatchObject({ read: 5, states: { pending: 5 } })
      await sendLinks(ledger, run)
      await close(ledger, run)
      const { links: known } = await ledger.knownLinks(run, { after: null, limit: 100 })
      expect(known.filter(({ state }) => state !== 'linked')).toEqual([])
    })

    it('says whether its row was accepted, also by an answer that names no record', async () => {
      const { run } = await stagedLinks(ledger, [
        ['a', 'p'],
        ['b', 'p'],
      ])
      const [segment] = (await ledger.openSegments(run)) as [RunSegment]
      const claim = { run, segment, fence: await ledger.claimSegment(run, segment) }
      const batch = await send(ledger, claim)
      const outcomes = [rowOutcome(1, 'created', { recordId: null }), rowOutcome(2, 'refused')]
      await ledger.settle(run, segment, claim.fence, batch, answered, outcomes)
      await sendLinks(ledger, run, byTarget)
      await close(ledger, run)
      const next = await stagedLinks(ledger, [])
      await ledger.carryLinks(next.run, next.stageFence, { of: 'all left' })
      const links = await plannedLinks(ledger, next.run)
      const told = links.map(({ key, isAccepted, sourceId }) => [key, isAccepted, sourceId])
      expect(told.toSorted()).toEqual([
        ['a', true, null],
        ['b', false, null],
      ])
    })

    it('is taken as a whole by a run without rows', async () => {
      await linkedRun(ledger, [all, ['b', 'p']], byTarget)
      const { run, stageFence } = await stagedLinks(ledger, [])
      expect(await ledger.carryLinks(run, stageFence, { of: 'all left' })).toBe(5)
      // In the order of what is known, whatever order a database reads in: the same ledger is the same run.
      const { links: known } = await ledger.knownLinks(run, { after: null, limit: 100 })
      expect(
        (await plannedLinks(ledger, run)).map(({ number, key, target }) => [number, key, target]),
      ).toEqual(
        known
          .filter(({ state }) => state !== 'linked')
          .map(({ key, target }, at) => [at + 1, key, target]),
      )
    })

    it('is forgotten by a whole reading without it, and kept where it is linked', async () => {
      const first = await linkedRun(ledger, [all, ['b', 'p', 'l']], byTarget)
      const { run } = await stagedLinks(ledger, [['a', 'p', 'x']])
      const fence = await ledger.claimLinks(run)
      expect(await ledger.forgetLinks(run, fence, { of: 'read keys' })).toBe(3)
      expect(await knownTexts(ledger, first.run)).toEqual([
        'a→l linked',
        'a→p target_missing',
        'b→l linked',
        'b→p target_missing',
      ])
      expect(await ledger.forgetLinks(run, fence, { of: 'all' })).toBe(1)
      expect(await knownTexts(ledger, first.run)).toEqual([
        'a→l linked',
        'a→p target_missing',
        'b→l linked',
      ])
    })

    it('is forgotten where another link takes its place', async () => {
      const first = await linkedRun(ledger, [['a', 'x']], () => 'outcome_unknown')
      const { run } = await stagedLinks(ledger, [['a', 'x', 'y']], { bounds: ONE_TARGET })
      const fence = await ledger.claimLinks(run)
      expect(await ledger.forgetLinks(run, fence, { of: 'read keys' })).toBe(1)
      expect(await knownTexts(ledger, first.run)).toEqual([])
    })

    it('is reported with its groups until a later run settles it', async () => {
      const { run } = await linkedRun(ledger, [all], byTarget)
      const reported = await ledger.reportLinks(run, {
        states: ['refused', 'outcome_unknown', 'not_sent'],
        after: BEFORE_LINKS,
        limit: 9,
      })
      expect(reported.next).toBeNull()
      expect(reported.links.map(({ target, state, line }) => [target, state, line])).toEqual([
        ['r', 'refused', 2],
        ['f', 'outcome_unknown', 2],
        ['u', 'not_sent', 2],
      ])
      const rejects = `SELECT target FROM link_rejects WHERE run = ${run} ORDER BY target`
      const targets = async () => (await opened.query(rejects)).map(({ target }) => target)
      expect(await targets()).toEqual(['f', 'r', 'u'])
      await linkedRun(ledger, [['a', 'r', 'f', 'p', 'l', 'u']], ({ target }) =>
        target === 'f' ? 'outcome_unknown' : 'linked',
      )
      expect(await targets()).toEqual(['f'])
      const stillLeft = await ledger.reportLinks(run, {
        states: ['refused', 'outcome_unknown', 'not_sent', 'target_missing'],
        after: BEFORE_LINKS,
        limit: 9,
        isLeft: true,
      })
      expect(stillLeft.links.map(({ target }) => target)).toEqual(['f'])
    })

    it('of other syncs is told with whether its targets may exist', async () => {
      const company = { objectType: 'svc_company', matchingProperty: 'svc_domain' }
      const companies = { destination: { sync: 'companies', ...company } }
      await linkedRun(
        ledger,
        [
          ['a', 'x', 'y'],
          ['b', 'y'],
        ],
        () => 'target_missing',
      )
      const people = { destination: { sync: 'people' } }
      await linkedRun(ledger, [['p', 'z']], undefined, people)
      const none = await linkedRun(ledger, [['w']], undefined, companies)
      expect(await ledger.waitingElsewhere(none.run)).toEqual([
        { sync: 'contacts', links: 3, mayExist: false },
      ])
      const found = await linkedRun(ledger, [['y']], undefined, companies)
      expect(await ledger.waitingElsewhere(found.run)).toEqual([
        { sync: 'contacts', links: 3, mayExist: true },
      ])
      // Its own are none of these, nor are those of another org or of a destination that the sync has left.
      const own = await linkedRun(
        ledger,
        [
          ['a', 'x', 'y'],
          ['b', 'y'],
        ],
        () => 'target_missing',
      )
      expect(await ledger.waitingElsewhere(own.run)).toEqual([])
      const far = await linkedRun(ledger, [['y']], undefined, { ...companies, orgId: 2 })
      expect(await ledger.waitingElsewhere(far.run)).toEqual([])
      await linkedRun(ledger, [['a']], undefined, { orgId: 3 })
      const near = await linkedRun(ledger, [['y']], undefined, companies)
      expect(await ledger.waitingElsewhere(near.run)).toEqual([])
    })

    it('may exist where the service has answered without the record of its target', async () => {
      const company = { objectType: 'svc_company', matchingProperty: 'svc_domain' }
      const companies = { destination: { sync: 'companies', ...company } }
      await linkedRun(ledger, [['a', 'x']], () => 'target_missing')
      const { run } = await stagedLinks(ledger, [['x']], companies)
      await pushRows(ledger, run, 'created', { recordId: null })
      await close(ledger, run)
      expect(await ledger.waitingElsewhere(run)).toEqual([
        { sync: 'contacts', links: 1, mayExist: true },
      ])
    })

    it('may exist where the ledger cannot know its target', async () => {
      const { run } = await stagedLinks(ledger, [['a']])
      const fence = await ledger.beginStage(run, ['id'])
      await ledger.stageItems(run, fence, [row(1, 'a')])
      await ledger.stageLinks(run, fence, [link(1, 1, 'a', 'x', { by: 'svc_name' })])
      await ledger.finishStage(run, fence, { rows: 1, digest: 'd', rowsPerSegment: 10 })
      await sendLinks(ledger, run, () => 'target_missing')
      await close(ledger, run)
      const company = { objectType: 'svc_company', matchingProperty: 'svc_domain' }
      const companies = { destination: { sync: 'companies', ...company } }
      const other = await linkedRun(ledger, [['w']], undefined, companies)
      expect(await ledger.waitingElsewhere(other.run)).toEqual([
        { sync: 'contacts', links: 1, mayExist: true },
      ])
    })
  })

  describe('sending', () => {
    it('is written down before and settled after, and what was in flight is sent again', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x', 'y', 'z']])
      await pushRows(ledger, run)
      const before = await ledger.claimLinks(run)
      const planned = await plannedLinks(ledger, run, { limit: 2 })
      expect(planned.map(({ target, row: state, sourceId }) => [target, state, sourceId])).toEqual([
        ['x', 'created', 'record 1'],
        ['y', 'created', 'record 1'],
        ['z', 'created', 'record 1'],
      ])
      const ids = { sourceId: 'record 1', targetId: 'c1' }
      await ledger.recordLinksSent(run, before, [
        { ...planned[0]!, ...ids },
        { ...planned[1]!, ...ids },
      ])
      expect(await ledger.lastSentAt(run)).not.toBeNull()
      // The worker dies here.
      const other = await opened.reopen()
      const fence = await other.claimLinks(run)
      const late = ledger.settleLinks(run, before, [outcome(planned[0]!, 'linked', ids)], NO_BOUNDS)
      await expect(late).rejects.toThrow(FenceLost)
      const lateSend = ledger.recordLinksSent(run, before, [{ ...planned[2]!, ...ids }])
      await expect(lateSend).rejects.toThrow(FenceLost)
      await expect(ledger.reopenLinks(run, before)).rejects.toThrow(FenceLost)
      await expect(ledger.forgetLinks(run, before, { of: 'all' })).rejects.toThrow(FenceLost)
      expect((await plannedLinks(other, run)).map(({ target }) => target)).toEqual(['z'])
      const first = await other.sentLinks(run, { after: BEFORE_LINKS, limit: 1 })
      expect(first.links).toMatchObject([{ target: 'x', targetId: 'c1', isReplayed: false }])
      const second = await other.sentLinks(run, { after: first.next!, limit: 9 })
      expect(second.links.map(({ target }) => target)).toEqual(['y'])
      expect(second.next).toBeNull()
      const again = [...first.links, ...second.links].map((one) => ({ ...one, ...ids }))
      await other.recordLinksSent(run, fence, again, { isReplayed: true })
      await other.settleLinks(
        run,
        fence,
        again.map((one) => outcome(one, 'linked', ids)),
        NO_BOUNDS,
      )
      expect(await other.lastSentAt(run)).toBeNull()
      expect((await other.progress(run)).links).toMatchObject({ linked: 2, requests: 4 })
      expect((await other.progress(run)).requests).toBeGreaterThanOrEqual(4)
      const rows = await opened.query(
        `SELECT target, replayed FROM links WHERE run = ${run} ORDER BY number`,
      )
      expect(rows.map(({ target, replayed }) => [target, Number(replayed)])).toEqual([
        ['x', 1],
        ['y', 1],
        ['z', 0],
      ])
    })

    it('spends attempts, and leaves the others to another round', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x', 'y']])
      const fence = await ledger.claimLinks(run)
      const [one, two] = await plannedLinks(ledger, run)
      const ids = { sourceId: 's', targetId: 't' }
      await ledger.recordLinksSent(run, fence, [
        { ...one!, ...ids },
        { ...two!, ...ids },
      ])
      const outcomes = [outcome(one!, 'pending'), outcome(two!, 'pending', { httpStatus: null })]
      await ledger.settleLinks(run, fence, outcomes, NO_BOUNDS)
      const again = await plannedLinks(ledger, run)
      expect(again.map(({ attempts, isReplayed }) => [attempts, isReplayed])).toEqual([
        [1, true],
        [0, false],
      ])
      const fresh = await plannedLinks(ledger, run, { attemptsBelow: 1 })
      expect(fresh.map(({ target }) => target)).toEqual(['y'])
      expect(await ledger.progress(run)).toMatchObject({
        links: { planned: 2, outcome_unknown: 0 },
      })
    })

    it('settles a link once', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x']])
      const fence = await ledger.claimLinks(run)
      const [one] = await plannedLinks(ledger, run)
      await ledger.settleLinks(run, fence, [outcome(one!, 'linked')], NO_BOUNDS)
      await ledger.settleLinks(run, fence, [outcome(one!, 'refused')], NO_BOUNDS)
      expect(await linkTexts(ledger, run)).toEqual(['a→x linked'])
      expect(await knownTexts(ledger, run)).toEqual(['a→x linked'])
      expect((await ledger.progress(run)).links).toMatchObject({ linked: 1, refused: 0 })
    })

    it('forgets what a new link takes the place of, and says so', async () => {
      await linkedRun(
        ledger,
        [
          ['a', 'x'],
          ['b', 'z'],
        ],
        undefined,
        { bounds: ONE_TARGET },
      )
      const { run, replaced } = await linkedRun(
        ledger,
        [
          ['a', 'y'],
          ['b', 'z'],
        ],
        undefined,
        {
          bounds: ONE_TARGET,
        },
      )
      expect(replaced).toBe(1)
      expect(await knownTexts(ledger, run)).toEqual(['a→y linked', 'b→z linked'])
      expect(await allLinks(ledger, run)).toMatchObject([
        { target: 'y', replacedId: 'id of x' },
        { target: 'z', state: 'unchanged', replacedId: null },
      ])
      expect((await ledger.books(run)).links).toMatchObject({ replaced: 1 })
      // Back again: it is a new link.
      const back = await stagedLinks(ledger, [['a', 'x']], { bounds: ONE_TARGET })
      expect(back.counts.links).toMatchObject({ planned: 1 })
    })

    it('forgets the source that a target had before', async () => {
      const options = { bounds: ONE_SOURCE }
      await linkedRun(
        ledger,
        [
          ['a', 'x'],
          ['b', 'y'],
        ],
        undefined,
        options,
      )
      const { run, replaced } = await linkedRun(
        ledger,
        [
          ['c', 'x'],
          ['b', 'y'],
        ],
        undefined,
        options,
      )
      expect(replaced).toBe(1)
      expect(await knownTexts(ledger, run)).toEqual(['b→y linked', 'c→x linked'])
      expect((await allLinks(ledger, run))[0]).toMatchObject({ replacedId: 'record 1' })
    })

    it('keeps the later one of two that cannot be next to each other', async () => {
      // Left by runs of which none came to the other's link.
      await linkedRun(ledger, [['a', 'x']], () => 'outcome_unknown')
      const { run: second } = await stagedLinks(ledger, [['a', 'y']])
      await close(ledger, second)
      const known = await knownTexts(ledger, second)
      expect(known).toEqual(['a→x outcome_unknown', 'a→y not_sent'])
      const newest = await stagedLinks(ledger, [], { mode: 'plan' })
      const options = { of: 'unread keys', bounds: ONE_TARGET } as const
      expect(await ledger.carryLinks(newest.run, newest.stageFence, options)).toBe(1)
      expect(await linkTexts(ledger, newest.run)).toEqual(['a→y pending'])
      const { run, stageFence } = await stagedLinks(ledger, [])
      expect(await ledger.carryLinks(run, stageFence, { of: 'all left' })).toBe(2)
      const { replaced } = await sendLinks(ledger, run, () => 'linked', ONE_TARGET)
      expect(replaced).toBe(1)
      const links = await allLinks(ledger, run)
      expect(await knownTexts(ledger, run)).toEqual([`a→${links[1]!.target} linked`])
      expect(links[1]!.replacedId).toBe(`id of ${links[0]!.target}`)
    })

    it('gives the place of a record to the last link, whichever value names it', async () => {
      const { run } = await stagedLinks(
        ledger,
        [
          ['a', 'x'],
          ['b', 'X'],
          ['c', 'z'],
        ],
        { bounds: ONE_SOURCE },
      )
      await pushRows(ledger, run)
      const fence = await ledger.claimLinks(run)
      const [first, second] = (await plannedLinks(ledger, run)) as [PlannedLink, PlannedLink]
      const ends = (link: PlannedLink) => ({ sourceId: `record ${link.key}`, targetId: 'same' })
      const settle = async (link: PlannedLink) => {
        await ledger.recordLinksSent(run, fence, [{ ...link, ...ends(link) }])
        const settled = [outcome(link, 'linked', ends(link))]
        return await ledger.settleLinks(run, fence, settled, ONE_SOURCE)
      }
      const overtaken = async (link: PlannedLink) =>
        await ledger.overtakenLinks(run, [{ ...link, ...ends(link) }], ONE_SOURCE)
      expect(await overtaken(first)).toEqual([])
      expect(await settle(first)).toEqual({ replaced: 0 })
      expect(await overtaken(second)).toEqual([])
      expect(await settle(second)).toEqual({ replaced: 1 })
      expect(await overtaken(first)).toMatchObject([{ ordinal: 1, reason: 'one_source' }])
      expect((await allLinks(ledger, run)).slice(0, 2)).toMatchObject([
        { key: 'a', state: 'not_wanted', reason: 'one_source', replacedId: null },
        { key: 'b', state: 'linked', replacedId: 'record a' },
      ])
      expect(await knownTexts(ledger, run)).toEqual(['b→X linked'])
      expect((await ledger.progress(run)).links).toMatchObject({ linked: 1, not_wanted: 1 })
      await close(ledger, run)
      expect(isBalanced(await ledger.books(run))).toBe(true)
    })

    it('leaves out in a retry what gave way in the run that is retried', async () => {
      const source: LinkedRow[] = [
        ['a', 'x', 'y'],
        ['b', 'x'],
      ]
      const { run: before } = await linkedRun(ledger, source, undefined, { bounds: ONE_SOURCE })
      expect(await linkTexts(ledger, before)).toEqual([
        'a→x not_wanted',
        'a→y linked',
        'b→x linked',
      ])
      await close(ledger, before)
      const { run } = await stagedLinks(ledger, [['a', 'x', 'y']], {
        bounds: ONE_SOURCE,
        task: { purpose: 'retry', of: before },
        retried: [1],
      })
      await pushRows(ledger, run)
      const links = await plannedLinks(ledger, run)
      const given = links.map((one) => ({ ...one, sourceId: 'record a', targetId: one.target }))
      expect(await ledger.overtakenLinks(run, given, ONE_SOURCE)).toMatchObject([
        { ordinal: 1, number: 1, reason: 'one_source' },
      ])
      expect(await ledger.overtakenLinks(run, given, NO_BOUNDS)).toEqual([])
    })

    it('leaves a place in a retry that a run since has given to another link', async () => {
      const { run: before } = await linkedRun(ledger, [['a', 'x']], () => 'refused', {
        bounds: ONE_SOURCE,
      })
      await close(ledger, before)
      const { run: since } = await linkedRun(ledger, [['b', 'x']], undefined, {
        bounds: ONE_SOURCE,
      })
      await close(ledger, since)
      const { run } = await stagedLinks(ledger, [['a', 'x']], {
        bounds: ONE_SOURCE,
        task: { purpose: 'retry', of: before },
        retried: [1],
      })
      await pushRows(ledger, run)
      const [own] = await plannedLinks(ledger, run)
      const [made] = await allLinks(ledger, since)
      const given = { ...own!, sourceId: 'record of a', targetId: made!.targetId! }
      expect(await ledger.overtakenLinks(run, [given], ONE_SOURCE)).toMatchObject([
        { ordinal: 1, number: 1, reason: 'one_source' },
      ])
      // A retry of what that run left has the newer row.
      await close(ledger, run)
      const newer = await stagedLinks(ledger, [['c', 'x']], {
        bounds: ONE_SOURCE,
        task: { purpose: 'retry', of: since },
        retried: [1],
      })
      await pushRows(ledger, newer.run)
      const [next] = await plannedLinks(ledger, newer.run)
      const again = { ...next!, sourceId: 'record of c', targetId: made!.targetId! }
      expect(await ledger.overtakenLinks(newer.run, [again], ONE_SOURCE)).toEqual([])
    })

    it('sends the last of two links again that earlier runs have both called linked', async () => {
      const source: LinkedRow[] = [
        ['a', 'x'],
        ['b', 'X'],
      ]
      // Without bounds, as the ledger did it once.
      const { run: before } = await stagedLinks(ledger, source)
      await pushRows(ledger, before)
      const fence = await ledger.claimLinks(before)
      for (const link of await plannedLinks(ledger, before)) {
        const ends = { sourceId: `record ${link.key}`, targetId: 'same' }
        await ledger.recordLinksSent(before, fence, [{ ...link, ...ends }])
        await ledger.settleLinks(before, fence, [outcome(link, 'linked', ends)], NO_BOUNDS)
      }
      await close(ledger, before)
      const { run, counts } = await stagedLinks(ledger, source, { bounds: ONE_SOURCE })
      expect(counts.links).toMatchObject({ planned: 1, unchanged: 0, not_wanted: 1 })
      expect(await linkTexts(ledger, run)).toEqual(['a→x not_wanted', 'b→X pending'])
    })

    it('notes links that were not kept as left over, once', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x', 'y']], { bounds: ONE_SOURCE })
      await sendLinks(ledger, run, () => 'linked', ONE_SOURCE)
      const fence = await ledger.claimLinks(run)
      const [first] = await allLinks(ledger, run)
      expect(await ledger.noteNotKept(run, fence, [first!])).toBe(1)
      expect(await ledger.noteNotKept(run, fence, [first!])).toBe(0)
      await expect(ledger.noteNotKept(run, fence - 1, [first!])).rejects.toThrow()
      expect(await knownTexts(ledger, run)).toEqual(['a→x vanished', 'a→y linked'])
      await close(ledger, run)
      expect(await ledger.books(run)).toMatchObject({
        links: { read: 2, states: { linked: 1, vanished: 1 } },
      })
      const next = await stagedLinks(ledger, [['a', 'x', 'y']], { bounds: ONE_SOURCE })
      expect(await linkTexts(ledger, next.run)).toEqual(['a→x pending', 'a→y unchanged'])
    })

    it('counts no place as taken by a link that was not kept', async () => {
      await linkedRun(ledger, [['a', 'x']], undefined, { bounds: ONE_TARGET })
      const { run } = await stagedLinks(ledger, [['a', 'y']], { bounds: ONE_TARGET })
      await sendLinks(ledger, run, () => 'linked', ONE_TARGET)
      expect((await ledger.books(run)).links).toMatchObject({ replaced: 1 })
      const fence = await ledger.claimLinks(run)
      await ledger.noteNotKept(run, fence, await allLinks(ledger, run))
      await close(ledger, run)
      const { links } = await ledger.books(run)
      expect(links).toMatchObject({ states: { vanished: 1 } })
      expect(links).not.toHaveProperty('replaced')
    })

    it('replaces nothing where the definition allows several', async () => {
      await linkedRun(ledger, [['a', 'x']])
      const { run, replaced } = await linkedRun(ledger, [['a', 'y']])
      expect(replaced).toBe(0)
      expect(await knownTexts(ledger, run)).toEqual(['a→x linked', 'a→y linked'])
    })

    it('has rows of any state in front of it', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x']])
      await pushRows(ledger, run, 'refused')
      const [one] = await plannedLinks(ledger, run)
      expect(one).toMatchObject({ row: 'refused', sourceId: null })
      const fence = await ledger.claimLinks(run)
      const outcomes = [outcome(one!, 'not_sent', { reason: 'row_not_written' })]
      await ledger.settleLinks(run, fence, outcomes, NO_BOUNDS)
      await close(ledger, run)
      expect(await knownTexts(ledger, run)).toEqual(['a→x not_sent'])
    })

    it('is for live runs alone', async () => {
      const { run } = await linkedRun(ledger, [['a', 'x']])
      await expect(ledger.claimLinks(run)).rejects.toThrow(FenceLost)
    })

    it('looks through any number of unchanged links, page by page', async () => {
      const many = Array.from({ length: 900 }, (_, at) => `t${at}`)
      const source = Array.from({ length: 12 }, (_, at): LinkedRow => [`k${at}`, ...many])
      await linkedRun(ledger, source)
      const { run, counts } = await stagedLinks(ledger, [...source, ['z', 'x']])
      expect(counts.links).toMatchObject({ planned: 1, unchanged: 10_800 })
      const options = { limit: 10, attemptsBelow: 5 }
      const first = await ledger.plannedLinks(run, { after: BEFORE_LINKS, ...options })
      expect(first.links).toEqual([])
      const second = await ledger.plannedLinks(run, { after: first.next!, ...options })
      expect(second).toMatchObject({ links: [{ key: 'z' }], next: null })
    })
  })

  describe('closing', () => {
    it('ends what is left, and a late worker settles nothing more', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x', 'y', 'z']])
      const fence = await ledger.claimLinks(run)
      const [one, two, three] = await plannedLinks(ledger, run)
      const ids = { sourceId: 's', targetId: 't' }
      await ledger.recordLinksSent(run, fence, [
        { ...one!, ...ids },
        { ...two!, ...ids },
      ])
      await ledger.settleLinks(run, fence, [outcome(two!, 'pending')], NO_BOUNDS)
      await ledger.settleLeftovers(run)
      const late = ledger.settleLinks(run, fence, [outcome(three!, 'linked', ids)], NO_BOUNDS)
      await expect(late).rejects.toThrow(FenceLost)
      expect(await linkTexts(ledger, run)).toEqual([
        'a→x outcome_unknown',
        'a→y outcome_unknown',
        'a→z not_sent',
      ])
      expect((await allLinks(ledger, run)).map(({ inDoubt }) => inDoubt)).toEqual([
        true,
        true,
        false,
      ])
      const books = await ledger.books(run)
      expect(books.links).toMatchObject({ read: 3, states: { outcome_unknown: 2, not_sent: 1 } })
      expect((await ledger.progress(run)).links).toMatchObject({ outcome_unknown: 2, not_sent: 1 })
      expect(await knownTexts(ledger, run)).toEqual([
        'a→x outcome_unknown',
        'a→y outcome_unknown',
        'a→z not_sent',
      ])
    })

    it('does not forget a link that was not sent again', async () => {
      await linkedRun(ledger, [['a', 'x']])
      const { run } = await stagedLinks(ledger, [['a', 'x']], { skipUnchanged: false })
      await close(ledger, run)
      expect(await linkTexts(ledger, run)).toEqual(['a→x not_sent'])
      expect(await knownTexts(ledger, run)).toEqual(['a→x linked'])
      // It was not sent in this run, so the run left it over.
      const rejects = await opened.query(`SELECT run FROM link_rejects`)
      expect(rejects.map((each) => Number(each['run']))).toEqual([run])
    })

    it('gives a run with waiting links differences, and one with others rejects', async () => {
      const state = async (...states: LinkState[]) => {
        const source: LinkedRow = ['a', ...states]
        const { run } = await linkedRun(ledger, [source], ({ target }) => target as LinkState)
        const books = (await ledger.run(run))!.counts!
        expect(isBalanced(books)).toBe(true)
        return finalState(books)
      }
      expect(await state('linked', 'not_wanted')).toBe('complete')
      expect(await state('linked', 'target_missing')).toBe('complete_with_differences')
      expect(await state('target_missing', 'refused')).toBe('complete_with_rejects')
      expect(await state('not_sent')).toBe('complete_with_rejects')
      expect(await state('outcome_unknown')).toBe('complete_with_rejects')
    })

    it('finds books whose links are lost', async () => {
      const { run } = await linkedRun(ledger, [['a', 'x', 'y']])
      const books = await ledger.books(run)
      expect(isBalanced(books)).toBe(true)
      const { states } = books.links!
      const less = { ...books, links: { ...books.links!, states: { ...states, linked: 1 } } }
      expect(isBalanced(less)).toBe(false)
      expect(finalState(less)).toBe('failed')
      const open = { ...states, linked: 1, in_flight: 1 }
      expect(isBalanced({ ...books, links: { ...books.links!, states: open } })).toBe(false)
    })

    it('says that a sync waits while its links do', async () => {
      const { run } = await stagedLinks(ledger, [['a', 'x']])
      for (const segment of await ledger.openSegments(run))
        await ledger.finishSegment(run, segment, await ledger.claimSegment(run, segment))
      expect((await ledger.syncHealth('contacts'))!.waitingSince).not.toBeNull()
      await sendLinks(ledger, run)
      expect((await ledger.syncHealth('contacts'))!.waitingSince).toBeNull()
    })

    it('prunes links with their runs, and keeps what is known', async () => {
      const many = Array.from({ length: 1_500 }, (_, at) => `t${at}`)
      const { run } = await linkedRun(ledger, [['a', ...many]])
      const { run: carrying, stageFence } = await stagedLinks(ledger, [])
      await ledger.carryLinks(carrying, stageFence, { of: 'all left' })
      await close(ledger, carrying)
      expect(await ledger.prune('9999-01-01T00:00:00.000Z')).toBeGreaterThanOrEqual(1_501)
      expect(await opened.query('SELECT * FROM links')).toEqual([])
      expect(await knownTexts(ledger, run, 1_000)).toHaveLength(1_500)
      const { counts } = await stagedLinks(ledger, [['a', 't1', 'x']])
      expect(counts.links).toEqual({ planned: 1, unchanged: 1, not_wanted: 0 })
    })

    it('prunes runs that have carried links alone', async () => {
      await linkedRun(ledger, [['a', 'x']], () => 'target_missing')
      const { run, stageFence } = await stagedLinks(ledger, [])
      await ledger.carryLinks(run, stageFence, { of: 'all left' })
      await close(ledger, run)
      await ledger.prune('9999-01-01T00:00:00.000Z')
      expect(await opened.query('SELECT * FROM links')).toEqual([])
    })
  })

  it('are exported', async () => {
    const { run } = await linkedRun(ledger, [['a', 'x', 'y']], ({ target }) =>
      target === 'x' ? 'linked' : 'target_missing',
    )
    const first = await ledger.exportRows('link_results', { after: null, limit: 1 })
    expect(first.rows).toMatchObject([
      { sync: 'contacts', run, ordinal: 1, number: 1, target: 'x', state: 'linked', line: 2 },
    ])
    const second = await ledger.exportRows('link_results', { after: first.next, limit: 9 })
    expect(second.rows).toMatchObject([{ number: 2, target: 'y', state: 'target_missing' }])
    expect(second.next).toBeNull()
  })
}
