// Exporting: every table and view comes out whole, page by page, in types that any format has.

import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  ACCEPTED_STATES,
  SPARED_STATES,
  ITEM_STATES,
  REJECT_STATES,
} from '../../../src/core/domain/outcomes.ts'
import { EXPORTS, type ExportName, type Ledger } from '../../../src/ledger/ledger.ts'
import {
  accept,
  badRow,
  close,
  openRun,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  stream,
  type Open,
  type Opened,
} from './scene.ts'
import { linkedRun, stagedLinks } from './link-scene.ts'

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export function exportingTests(open: Open): void {
  let opened: Opened
  let ledger: Ledger
  beforeEach(async () => {
    opened = await open()
    ledger = opened.ledger
  })
  afterEach(() => opened.cleanup())

  async function all(name: ExportName, limit: number) {
    const found: Readonly<Record<string, string | number | null>>[] = []
    const reader = await opened.reopen()
    for (let after: string | null = null; ;) {
      const page = await reader.exportRows(name, { after, limit })
      expect(page.rows.length).toBeLessThanOrEqual(limit)
      found.push(...page.rows)
      if (page.next === null) return found
      after = page.next
    }
  }

  /** Some of everything: three syncs, a mirror, plans, links, and a retry that mended a row. */
  async function something() {
    const claim = await staged(ledger, [...rows(4), badRow(5, null), row(6, "o'ü", 'ü')])
    const images = [1, 2, 3].map((ordinal) => ({
      ...({
        ordinal,
        verdict: 'update',
        recordId: `r${ordinal}`,
        before: null,
        sent: '{}',
      } as const),
    }))
    await ledger.recordImages(claim.run, images)
    await settle(ledger, claim, await send(ledger, claim), [
      'created',
      'refused',
      'in_flight',
      'created',
      'updated',
    ])
    await close(ledger, claim.run)
    await accept(ledger, rows(3, 'b'), { orgId: 2 })
    const task = { purpose: 'retry', of: claim.run } as const
    const { id: retry } = await openRun(ledger, 'run', 'contacts', 'import', task)
    await stage(ledger, retry, [{ ...row(1, 'k2', 'b'), of: 2 }])
    const [segment] = await ledger.openSegments(retry)
    const again = {
      run: retry,
      segment: segment!,
      fence: await ledger.claimSegment(retry, segment!),
    }
    await settle(ledger, again, await send(ledger, again), 'updated')
    await close(ledger, retry)
    await stage(ledger, (await openRun(ledger, 'plan')).id, rows(2))
    const { id: gone } = await openRun(ledger)
    const { fence } = await stage(ledger, gone, [])
    const removal = {
      cause: 'missing',
      state: 'not_owned',
      recordId: null,
      reason: null,
    } as const
    await ledger.addRemovals(
      gone,
      fence,
      ['k1', "o'ü", 'k3'].map((key, at) => ({ ...removal, key, number: at + 1 })),
    )
    await close(ledger, gone)
    const people = { destination: { sync: 'people' } } as const
    await linkedRun(
      ledger,
      [
        ['a', 'x', 'y'],
        ['b', "o'ü"],
      ],
      undefined,
      people,
    )
    await stagedLinks(ledger, [['c', 'x']], { ...people, mode: 'plan' })
    const { id: mirror } = await openRun(ledger, 'run', 'crm', 'mirror')
    for (const name of ['svc_b', 'svc_a', 'svc_c'])
      await ledger.noteStream(mirror, stream(name, { read: 3_000_000_001 }))
    const change = { kind: 'added', before: null, now: 'text', handling: 'column_added' } as const
    await ledger.noteSchemaChanges(
      mirror,
      'svc_a',
      ['a', "o'ü", 'c'].map((property) => ({ ...change, property, columns: [property] })),
    )
    for (const run of [claim.run, null, retry])
      await ledger.beginAction({
        action: 'pause',
        who: "o'ü@desk",
        via: 'command',
        sync: 'contacts',
        run,
        details: null,
        token: null,
      })
    const difference = {
      stream: 'svc_a',
      key: null,
      ordinal: null,
      kind: 'stale',
      field: 'svc_name',
      whose: 'service',
      ours: '"a"',
      theirs: null,
    } as const
    await ledger.noteDifferences(
      mirror,
      ['r1', 'r2', 'r3'].map((recordId) => ({ ...difference, recordId })),
      { repaired: false },
    )
    return { run: claim.run, retry, mirror }
  }

  it('is nothing of an empty ledger', async () => {
    for (const name of EXPORTS)
      expect([name, await ledger.exportRows(name, { after: null, limit: 10 })]).toEqual([
        name,
        { rows: [], next: null },
      ])
  })

  it.each(EXPORTS)('gives all of %s, however small its pages, in one order', async (name) => {
    await something()
    const whole = await all(name, 1_000)
    expect(whole.length).toBeGreaterThan(2)
    for (const limit of [1, 2, 3, whole.length]) expect(await all(name, limit)).toEqual(whole)
    const distinct = new Set(whole.map((each) => JSON.stringify(each)))
    expect(distinct.size).toBe(whole.length)
    const [counted] = await opened.query(`SELECT count(*) AS rows FROM ${name}`)
    const plans = name === 'runs' ? 2 : 0
    expect(whole.length + plans).toBe(Number(counted!['rows']))
    const columns = Object.keys((await opened.query(`SELECT * FROM ${name} LIMIT 1`))[0]!)
    for (const each of whole) {
      expect(Object.keys(each)).toEqual(columns)
      for (const [column, value] of Object.entries(each)) {
        expect(value === null ? 'string' : typeof value).toMatch(/^(string|number)$/)
        if (column.endsWith('_at') && value !== null) expect(value).toMatch(TIME)
      }
    }
  })

  it('gives what the ledger gives elsewhere: numbers, texts of JSON, times', async () => {
    const { run, retry, mirror } = await something()
    const { config, openedAt, closedAt } = (await ledger.run(retry))!
    const runs = await all('runs', 10)
    expect(runs.find(({ id }) => id === retry)).toMatchObject({
      purpose: 'retry',
      of_run: run,
      config: JSON.stringify(config),
      warnings: '[]',
      opened_at: openedAt,
      closed_at: closedAt,
    })
    expect(runs.every(({ mode }) => mode === 'run')).toBe(true)
    const results = await all('results', 10)
    expect(results.filter((each) => each['run'] === run)).toMatchObject([
      { ordinal: 1, sync: 'contacts', state: 'created', mended_by: null, of_ordinal: null },
      { ordinal: 2, state: 'refused', code: 'request_invalid', mended_by: retry },
      { ordinal: 3, state: 'outcome_unknown', in_doubt: 1 },
      { ordinal: 4, record_id: 'record 4' },
      { ordinal: 5, state: 'invalid', key: null, column: 'born' },
      { ordinal: 6, key: "o'ü", http_status: 200 },
    ])
    expect(results.find((each) => each['run'] === retry)).toMatchObject({
      of_run: run,
      of_ordinal: 2,
      purpose: 'retry',
    })
    const accepted = await all('last_accepted', 10)
    const of = (key: string, org: number) =>
      accepted.find((each) => each['key'] === key && each['org_id'] === org)
    expect(of('k2', 1)).toMatchObject({ sync: 'contacts', record_id: 'record 1', run: retry })
    expect(of("o'ü", 1)).toMatchObject({ object_type: 'svc_contact', hash: 'hash of ü' })
    expect(of('k3', 2)).toMatchObject({ hash: 'hash of b' })
    expect(of('k3', 1)).toBeUndefined()
    const streams = await all('streams', 10)
    expect(streams).toMatchObject(
      ['svc_a', 'svc_b', 'svc_c'].map((name) => ({
        run: mirror,
        stream: name,
        read: 3_000_000_001,
      })),
    )
    expect((await all('differences', 10)).map((each) => each['record_id'])).toEqual([
      'r1',
      'r2',
      'r3',
    ])
    expect((await all('manifests', 10)).map((each) => each['run'])).toEqual([
      run,
      run + 1,
      retry,
      retry + 1,
      retry + 2,
    ])
  })

  it.each(ITEM_STATES)('shows users an item that is %s where its state belongs', async (state) => {
    const { id: run } = await openRun(ledger)
    await stage(ledger, run, rows(1))
    await close(ledger, run)
    const { id: retry } = await openRun(ledger, 'run', 'contacts', 'import', {
      purpose: 'retry',
      of: run,
    })
    await stage(ledger, retry, [{ ...row(1, 'k1', 'b'), of: 1 }])
    await close(ledger, retry)
    await opened.query(`UPDATE items SET state = '${state}' WHERE run = ${retry}`)
    const [left] = await opened.query(`SELECT count(*) AS rows FROM rejects WHERE run = ${retry}`)
    expect(Number(left!['rows'])).toBe(REJECT_STATES.includes(state) ? 1 : 0)
    const [first] = await opened.query(`SELECT mended_by FROM results WHERE run = ${run}`)
    const isDone = [...ACCEPTED_STATES, ...SPARED_STATES].some((each) => each === state)
    expect(first!['mended_by']).toEqual(isDone ? expect.anything() : null)
  })

  it('shows users what is in doubt and what is rejected, until a later run brought it in', async () => {
    const { run } = await something()
    const ordinals = async (view: string) =>
      (await opened.query(`SELECT ordinal FROM ${view} WHERE run = ${run} ORDER BY ordinal`)).map(
        (each) => Number(each['ordinal']),
      )
    expect(await ordinals('in_doubt')).toEqual([3])
    expect(await ordinals('rejects')).toEqual([3, 5])
    const mirror = await ledger.runs({ sync: 'crm', limit: 1 })
    await ledger.closeRun(mirror[0]!.id, { state: 'complete', books: null })
    await accept(ledger, [row(1, 'k3', 'later')])
    expect(await ordinals('in_doubt')).toEqual([])
    expect(await ordinals('rejects')).toEqual([5])
  })
}
