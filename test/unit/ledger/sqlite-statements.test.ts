// What the SQLite ledger does to its file: no transaction touches more than 1,000 rows of a table, no statement reads a
// large table from end to end, and whoever is interrupted or overtaken leaves books that balance.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FenceLost } from '../../../src/core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../../src/core/limits.ts'
import { isBalanced } from '../../../src/core/domain/books.ts'
import { EXPORTS, type Ledger } from '../../../src/ledger/ledger.ts'
import { openLedgerDatabase, type SqliteDatabase } from '../../../src/ledger/sqlite/database.ts'
import { ledgerOn } from '../../../src/ledger/sqlite/index.ts'
import {
  accept,
  answered,
  badRow,
  booked,
  close,
  destination,
  never,
  offBalance,
  openRun,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  stream,
} from '../../suites/ledger/scene.ts'

let folder: string
let db: SqliteDatabase
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-'))
  db = openLedgerDatabase(join(folder, 'ledger.sqlite'))
})
afterEach(async () => {
  db.close()
  await rm(folder, { recursive: true })
})

/** The same database, but its statements, and the rows that each transaction writes to each table, are noted. */
function watched(on: SqliteDatabase) {
  const statements = new Set<string>()
  const written: { table: string; rows: number }[] = []
  let open: Map<string, number> | null = null
  const note = (text: string, changed: number) => {
    const table = /^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/.exec(text)?.[1]
    if (!table) return
    if (open) open.set(table, (open.get(table) ?? 0) + changed)
    else written.push({ table, rows: changed })
  }
  const watching: SqliteDatabase = {
    ...on,
    sql(text) {
      statements.add(text)
      const statement = on.sql(text)
      return {
        ...statement,
        run(...values) {
          const result = statement.run(...values)
          note(text, result.changes)
          return result
        },
      }
    },
    transaction: (work) =>
      on.transaction(() => {
        open = new Map()
        try {
          return work()
        } finally {
          for (const [table, changed] of open) written.push({ table, rows: changed })
          open = null
        }
      }),
  }
  return { db: watching, statements, written }
}

/** Everything that is done to a run, on 2,600 rows: more than two slices. */
async function wholeLife(ledger: Ledger): Promise<void> {
  const many = rows(2_600).map((item) => {
    if (item.ordinal % 100 === 1) return badRow(item.ordinal, null)
    return item.ordinal % 100 === 2 ? row(item.ordinal, 'again') : item
  })
  await accept(ledger, rows(60))
  const { id: run } = await openRun(ledger)
  await stage(ledger, run, many.slice(0, 1_500))
  await stage(ledger, run, many)
  await ledger.knownKeys(run)
  await ledger.syncHealth('contacts')
  const [segment] = await ledger.openSegments(run)
  const claim = { run, segment: segment!, fence: await ledger.claimSegment(run, segment!) }
  await settle(ledger, claim, await send(ledger, claim), 'created')
  await ledger.release(run, claim.segment, claim.fence, await send(ledger, claim), answered)
  const lost = await send(ledger, claim)
  await ledger.recordNoAnswer(run, lost, { status: null, requestId: null, durationMs: 1 })
  const [again] = await ledger.unsettledBatches(run, claim.segment)
  const resend = { operation: 'batchUpsert', replayed: true }
  await settle(
    ledger,
    claim,
    await ledger.recordResend(run, claim.segment, claim.fence, again!, resend),
    'in_flight',
  )
  for (let batch = 0; batch < 30; batch++)
    await settle(ledger, claim, await send(ledger, claim), 'created')
  await ledger.finishSegment(run, claim.segment, claim.fence)
  const doubtful = await ledger.written(run, { after: 0, every: 3, limit: LEDGER_ROWS_MAX })
  await ledger.recordVerified(
    run,
    doubtful.map(({ ordinal }) => ({
      ordinal,
      verdict: 'equal' as const,
      recordId: null,
      field: null,
    })),
  )
  await ledger.collisions(run, { after: 0, limit: 100 })
  await ledger.progress(run)
  await ledger.setRunState(run, 'blocked', 'service')
  await close(ledger, run)
  await ledger.report(run, { states: ['not_sent', 'invalid'], after: 0, limit: 10 })
  await ledger.rejectGroups(run)
  await ledger.lastReading(destination)
  await ledger.leftRows(run, { after: 0, limit: 10 })
  await ledger.stagedKeys(run, ['k1'], { upTo: 10 })
  await ledger.run(run)
  await ledger.runs({ limit: 10 })
  const { id: mirror } = await openRun(ledger, 'run', 'mirror', 'mirror')
  await ledger.noteStream(mirror, stream('svc_a'))
  const change = {
    property: 'a',
    kind: 'added',
    before: null,
    now: 'text',
    columns: ['a'],
  } as const
  await ledger.noteSchemaChanges(mirror, 'svc_a', [{ ...change, handling: 'column_added' }])
  await ledger.endSchemaChanges(mirror, 'svc_a', [1])
  for (const of of [{ sync: 'mirror' }, { run: mirror }, { run: mirror, stream: 'svc_a' }])
    await ledger.schemaChanges({ ...of, limit: 10 })
  await ledger.streams(run)
  await ledger.report(run, { states: ['not_sent'], after: 0, limit: 10, isLeft: true })
  await ledger.retryRows(run, { codes: ['a'], reasons: ['b'] }, { after: 0, limit: 10 })
  const correction = await ledger.addCorrections(run, null, [{ ordinal: 1, raw: [] }])
  await ledger.retryRows(run, { correction }, { after: 0, limit: 10 })
  await ledger.laterRuns(run, 'retry')
  await ledger.timeline(run, 10)
  await reconciled(ledger)
  await imaged(ledger)
  for (const name of EXPORTS) await ledger.exportRows(name, { after: null, limit: 10 })
  const plan = await openRun(ledger, 'plan')
  await stage(ledger, plan.id, many)
  await ledger.discard(plan.id)
  await ledger.prune(never)
}

/** Everything that is done with before-images. */
async function imaged(ledger: Ledger): Promise<void> {
  const { run } = await staged(ledger, rows(10))
  const image = { verdict: 'update', recordId: 'r', before: '{}', sent: '{}' } as const
  await ledger.recordImages(run, [{ ordinal: 1, ...image }])
  await ledger.noteAfter(run, [{ ordinal: 1, after: '{}' }])
  await ledger.imagesOf(run, [1])
  await ledger.images(run, { verdicts: ['update'], after: 0, limit: 10 })
  await ledger.withoutImage(run, { after: 0, limit: 10 })
  await close(ledger, run)
}

/** Everything that a reconciliation does, on 3,500 rows. */
async function reconciled(ledger: Ledger): Promise<void> {
  const task = { purpose: 'reconcile' } as const
  const { id: run } = await openRun(ledger, 'run', 'contacts', 'import', task)
  const { fence } = await stage(ledger, run, rows(3_500), { skipUnchanged: false })
  await ledger.keepSample(run, fence, 2_500)
  const items = await ledger.uncompared(run, { after: 0, limit: LEDGER_ROWS_MAX })
  const difference = {
    stream: 'svc_contact',
    recordId: null,
    kind: 'different' as const,
    field: 'a',
    whose: 'source' as const,
    ours: null,
    theirs: null,
  }
  await ledger.recordCompared(
    run,
    items.map(({ ordinal, key }) => ({
      ordinal,
      recordId: 'r',
      kind: ordinal % 3 === 0 ? null : 'different',
      marks: '',
      held: ordinal % 5 === 0 ? { reason: 'r', detail: 'd' } : null,
      differences: ordinal % 3 === 0 ? [] : Array(4).fill({ ...difference, key, ordinal }),
    })),
  )
  const { keys } = await ledger.absentKeys(run, { after: null, limit: 10 })
  await ledger.absentKeys(run, { after: 'k', limit: 10 })
  const extra = rows(1_000).map(({ ordinal }) => ({
    ...difference,
    key: `x${ordinal}`,
    ordinal: null,
    kind: 'extra' as const,
  }))
  for (const repaired of [false, true]) await ledger.noteDifferences(run, extra, { repaired })
  await ledger.writtenElsewhere(run, [{ key: 'x', recordId: 'r' }])
  await ledger.recordsElsewhere(run, ['x'])
  await ledger.broughtByCorrection(run, ['x'])
  await ledger.recordsOfRows(run, ['r'])
  await ledger.dropExtra(run, [{ key: 'x', recordId: 'r' }])
  await ledger.recordDeleted(run, [{ key: keys[0]?.key ?? 'x', recordId: 'r' }])
  await ledger.settleDifferences(run)
  await ledger.differenceCounts(run)
  await ledger.differenceGroups(run)
  await ledger.differences(run, { after: 0, limit: 10, kind: 'extra', isRepaired: false })
  await ledger.saveStepState(run, 'svc_contact', 'here')
  await ledger.loadStepState(run, 'svc_contact')
  await close(ledger, run)
  await ledger.reconciled('contacts')
  await ledger.manifests('contacts', { after: 0, limit: 10 })
  await ledger.syncs()
}

describe('the file', () => {
  it('never has more than 1,000 rows of a table written in one transaction', async () => {
    const watch = watched(db)
    await wholeLife(ledgerOn(watch.db))
    const most = (table: string) =>
      Math.max(...watch.written.filter((each) => each.table === table).map((each) => each.rows))
    for (const table of ['items', 'payloads']) expect(most(table)).toBe(LEDGER_ROWS_MAX)
    for (const table of ['accepted', 'requests', 'segments', 'runs', 'destinations', 'differences'])
      expect(most(table)).toBeLessThanOrEqual(LEDGER_ROWS_MAX)
  })

  it('is never read from end to end: statements find their rows by an index', async () => {
    const watch = watched(db)
    await wholeLife(ledgerOn(watch.db))
    const plans = [...watch.statements]
      .filter((text) => /^\s*(WITH|SELECT|UPDATE|DELETE|INSERT)/.test(text))
      .map((text) => {
        const steps = db.sql(`EXPLAIN QUERY PLAN ${text}`).all()
        const details = steps.map((step) => String(step['detail']))
        // A project has a few destinations.
        const isOfDestinations = text.includes('destinations AS other')
        return {
          text,
          steps: isOfDestinations ? details.filter((step) => step !== 'SCAN other') : details,
        }
      })
    expect(plans.length).toBeGreaterThan(80)
    const scans = plans.filter(({ steps }) =>
      steps.some((step) =>
        /^SCAN (items|payloads|kept|accepted|requests|segments|streams|schema_changes|other|later|same|again|retry|differences|corrections|manifests)\b/.test(
          step,
        ),
      ),
    )
    expect(scans).toEqual([])
    // Rows that are given are found one by one, and never among all of a run.
    const wide = plans.filter(
      ({ text, steps }) =>
        text.startsWith('WITH given') &&
        !text.includes('max(number)') &&
        steps.some((step) => /USING PRIMARY KEY \((run|destination)=\?\)$/.test(step)),
    )
    expect(wide).toEqual([])
    const stepsOf = (pattern: RegExp) =>
      plans.find(({ text }) => pattern.test(text))?.steps.join('\n')
    expect(stepsOf(/state = 'superseded'/)).toMatch(
      /items_key \(run=\? AND key=\? AND ordinal>\?\)/,
    )
    expect(stepsOf(/state = 'unchanged'/)).toMatch(
      /SEARCH accepted USING PRIMARY KEY \(destination=\? AND key=\?\)/,
    )
    expect(stepsOf(/max\(other\.ordinal\)/)).toMatch(/items_record \(run=\? AND record_id=\?\)/)
    const again = plans.flatMap(({ steps }) => steps.filter((step) => / again /.test(step)))
    expect(new Set(again.map((step) => step.replace('COVERING ', '')))).toEqual(
      new Set(['SEARCH again USING INDEX items_of (run=? AND of_ordinal=?)']),
    )
    expect(stepsOf(/AS present/)).toMatch(/items_key \(run=\? AND key=\?\)/)
    expect(stepsOf(/INDEXED BY differences_ordinal/)).toMatch(/\(run=\? AND ordinal=\?\)/)
    expect(stepsOf(/held\.subject = given\.subject AND held\.stream = given\.stream/)).toMatch(
      /differences_subject \(run=\? AND subject=\? AND stream=\?\)/,
    )
    for (const columns of ['id, closed_at', 'id, kind, state, reason, purpose, counts, opened_at'])
      expect(
        stepsOf(new RegExp(`SELECT ${columns} FROM runs WHERE mode = 'run' AND sync = \\?`)),
      ).toMatch(/SEARCH runs USING INDEX runs_of_sync \(sync=\?\)/)
    for (const pattern of [/AS run FROM runs WHERE id/, /source_columns FROM runs\s+WHERE dest/]) {
      expect(stepsOf(pattern)).toMatch(
        /SEARCH elsewhere USING COVERING INDEX \S+ \(sync=\?\)\n.*SEARCH since USING INDEX runs_of_sync \(sync=\?\)/,
      )
      // One row.
      expect(stepsOf(pattern)).not.toMatch(/SCAN (?!project$)/m)
    }
    expect(stepsOf(/max\(opened_at\)/)).not.toMatch(/SCAN (runs|streams)/)
    // Where images of some rows are meant, not those of the run are read for each.
    const ofImages = plans.flatMap(({ text, steps }) =>
      steps.filter(
        (step) => !text.startsWith('DELETE') && /SEARCH (?:image|before_images)\b/.test(step),
      ),
    )
    expect(ofImages.length).toBeGreaterThan(3)
    for (const step of ofImages) expect(step).not.toMatch(/\(run=\?\)/)
    expect(stepsOf(/state = 'pending' AND attempts < \?/)).toMatch(
      /SEARCH items USING PRIMARY KEY \(run=\? AND ordinal>\? AND ordinal<\?\)/,
    )
  })
})

describe('beginning anew', () => {
  /** The ledger, of which the transaction number `at` from now on is preceded by `event`. */
  const interrupted = (at: number, event: () => void): Ledger => {
    let transactions = 0
    return ledgerOn({
      ...db,
      transaction(work) {
        if (++transactions === at) event()
        return db.transaction(work)
      },
    })
  }

  it.each([1, 2, 3, 4, 6, 7, 8, 9])('balances where it is torn off before step %d', async (at) => {
    const ledger = ledgerOn(db)
    const { id: run } = await openRun(ledger)
    await stage(ledger, run, rows(2_500))
    const crash = new Error('killed')
    const torn = interrupted(at, () => {
      throw crash
    })
    await expect(torn.beginStage(run, ['id'])).rejects.toBe(crash)
    expect(await offBalance(ledger, run)).toBe(0)
    await ledger.settleLeftovers(run)
    expect(isBalanced(await ledger.books(run))).toBe(true)
  })

  it.each([2, 5, 8])('deletes nothing more once another has begun, at step %d', async (at) => {
    const ledger = ledgerOn(db)
    const { id: run } = await openRun(ledger)
    await stage(ledger, run, rows(2_500))
    const overtaken = interrupted(at, () => {
      db.sql('UPDATE runs SET stage_fence = stage_fence + 1 WHERE id = ?').run(run)
    })
    await expect(overtaken.beginStage(run, ['id'])).rejects.toThrow(FenceLost)
    const left = await booked(ledger, run)
    await expect(overtaken.beginStage(run, ['id'])).resolves.toBeGreaterThan(0)
    expect(left.pending).toBeGreaterThan(0)
    expect(await booked(ledger, run)).toEqual({})
  })
})

describe('pruning', () => {
  it('that was torn off goes on where it stopped: no raw row outlives its item', async () => {
    const ledger = ledgerOn(db)
    const { run } = await staged(ledger, rows(10))
    await close(ledger, run)
    const crash = new Error('killed')
    let transactions = 0
    const torn = ledgerOn({
      ...db,
      transaction(work) {
        if (++transactions === 2) throw crash
        return db.transaction(work)
      },
    })
    await expect(torn.prune(never)).rejects.toBe(crash)
    await ledger.prune(never)
    for (const table of ['items', 'payloads', 'requests'])
      expect(db.sql(`SELECT count(*) AS rows FROM ${table}`).get()).toEqual({ rows: 0 })
  })

  it('is not held up by plans that have nothing left to prune', async () => {
    const ledger = ledgerOn(db)
    for (let plan = 0; plan < 100; plan++) await openRun(ledger, 'plan')
    const run = await accept(ledger, rows(3))
    expect(await ledger.prune(never)).toBeGreaterThan(0)
    expect(await booked(ledger, run)).toEqual({})
  })
})
