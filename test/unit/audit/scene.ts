// A ledger with a run of every kind, closed in every way: what an audit, an export and the documented queries are tried on.

import type { Clock } from '../../../src/core/ports.ts'
import { systemClock } from '../../../src/core/ports.ts'
import type { Purpose } from '../../../src/core/domain/purpose.ts'
import type { Ledger, Run } from '../../../src/ledger/ledger.ts'
import { closeAbandoned } from '../../../src/runs/open.ts'
import {
  accept,
  answered,
  badRow,
  close,
  openRun,
  outcome,
  row,
  rows,
  send,
  settle,
  stage,
  staged,
  stream,
} from '../../suites/ledger/scene.ts'

import { link, NO_BOUNDS, outcome as linkOutcome } from '../../suites/ledger/link-scene.ts'

const DAY_MS = 86_400_000
/** When the ledger is looked at. */
export const NOW = Date.parse('2026-03-31T12:00:00.000Z')

/** The runs by what is special about them. `crm` is a mirror, the others are imports of `contacts`. */
export const RUNS = {
  pruned: 1,
  created: 2,
  mixed: 3,
  cancelled: 4,
  mirror: 5,
  abandoned: 6,
  young: 7,
  retry: 8,
  reconcile: 9,
  cancelledMirror: 10,
  failedMirror: 11,
  live: 12,
} as const

/** Texts that a file, a database or a driver may spoil; none with U+0000, at which the SQLite driver cuts a text. */
export const STRANGE: readonly string[] = [
  '\u001a0 \u001a1 \u001a',
  '\ufeffwith a mark',
  'quotes \' " ` and \\ $1 ?1 {}',
  'lines\r\n\n\t',
  '\u202eright to left\u200f',
  '😀 e\u0301 é \u2028 ',
  ' NULL ',
  'NULL',
  '',
  'x'.repeat(200),
]

/** A clock that is put forward by hand. */
function handClock(): Clock & { at: number } {
  const clock = { at: NOW, now: () => clock.at++, sleep: systemClock.sleep.bind(systemClock) }
  return clock
}

/** Fills a new ledger, and closes it. */
export async function fill(open: (clock: Clock) => Ledger | Promise<Ledger>): Promise<void> {
  const clock = handClock()
  const ledger = await open(clock)
  const expectRun = (name: keyof typeof RUNS, id: number) => {
    if (RUNS[name] !== id) throw new Error(`run ${name} has the number ${id}`)
  }
  const daysAgo = (days: number) => void (clock.at = NOW - days * DAY_MS)
  const mirrored = async (state: 'complete' | 'cancelled' | 'failed'): Promise<Run> => {
    const run = await openRun(ledger, 'run', 'crm', 'mirror')
    const counted = { requests: 29, read: 2_345, inserted: 2_300, changed: 45 }
    await ledger.noteStream(
      run.id,
      stream('svc_contact', {
        ...counted,
        table: 'crm.svc_contact',
        state: state === 'complete' ? 'complete' : 'pulling',
        mode: 'full',
        misfits: 0,
        serviceCount: 2_345,
        tableCount: 2_345,
      }),
    )
    await ledger.noteStream(run.id, stream('svc_deal', { state: 'failed', message: 'altered' }))
    const change = { property: STRANGE[0]!, kind: 'added', before: null, now: 'number' } as const
    await ledger.noteSchemaChanges(run.id, 'svc_contact', [
      { ...change, handling: 'column_added', columns: [STRANGE[0]!] },
    ])
    await ledger.closeRun(run.id, { state, books: null })
    return run
  }

  daysAgo(100)
  const asked = await ledger.beginAction({
    action: 'run',
    who: 'anna@desk',
    via: 'command',
    sync: 'contacts',
    run: null,
    details: 'plan: 12',
    token: 'of a form',
  })
  if ('begun' in asked)
    await ledger.endAction(asked.begun.number, { state: 'done', result: null, workflowId: 'w' })
  expectRun('pruned', await accept(ledger, rows(3, 'old')))
  await ledger.prune(new Date(NOW - 60 * DAY_MS).toISOString())
  daysAgo(40)
  expectRun('created', await accept(ledger, rows(5)))

  daysAgo(20)
  const mixed = await staged(ledger, [
    row(1, 'k1'),
    row(2, 'n1'),
    row(3, 'n2'),
    row(4, 'n3'),
    badRow(5, null),
    row(6, 'n1', 'b'),
  ])
  expectRun('mixed', mixed.run)
  const image = {
    verdict: 'update',
    recordId: 'r',
    before: '{"name":"b\\n\\u0000"}',
    sent: '{}',
  } as const
  await ledger.recordImages(mixed.run, [
    { ...image, ordinal: 1 },
    { ...image, ordinal: 6 },
  ])
  await settle(ledger, mixed, await send(ledger, mixed), ['created', 'refused', 'created'])
  const gone = { cause: 'missing', state: 'not_owned', recordId: 'r', reason: null } as const
  await ledger.addRemovals(mixed.run, await ledger.claimRemovals(mixed.run), [
    { ...gone, number: 1, key: "o'ü" },
  ])
  await ledger.settleLeftovers(mixed.run)
  const books = await ledger.books(mixed.run)
  await ledger.closeRun(mixed.run, { state: 'complete_with_rejects', books })

  daysAgo(19)
  const cancelled = await staged(ledger, rows(4, 'c'))
  expectRun('cancelled', cancelled.run)
  await settle(ledger, cancelled, await send(ledger, cancelled, 2), 'updated')
  await ledger.settleLeftovers(cancelled.run)
  const rest = await ledger.books(cancelled.run)
  await ledger.closeRun(cancelled.run, { state: 'cancelled', message: 'by hand', books: rest })

  expectRun('mirror', (await mirrored('complete')).id)
  await stage(ledger, (await openRun(ledger, 'plan')).id, rows(2, 'planned'))

  daysAgo(10)
  const abandoned = await staged(ledger, rows(4, 'd'))
  expectRun('abandoned', abandoned.run)
  await send(ledger, abandoned, 2)
  await closeAbandoned(ledger, (await ledger.run(abandoned.run))!)

  daysAgo(2)
  const young = await staged(
    ledger,
    STRANGE.map((key, index) => row(index + 1, `key ${key}`, key)),
  )
  expectRun('young', young.run)
  const batch = await send(ledger, young)
  await ledger.settle(
    young.run,
    young.segment,
    young.fence,
    batch,
    answered,
    batch.items.map(({ ordinal }, index) => {
      const text = STRANGE[index]!
      const texts = { reason: text, field: `/properties/${text}`, detail: text }
      return outcome(ordinal, 'refused', texts)
    }),
  )
  await ledger.stageLinks(young.run, 1, [
    link(1, 1, `key ${STRANGE[0]!}`, STRANGE[1]!),
    link(1, 2, `key ${STRANGE[0]!}`, 'x'),
  ])
  const step = await ledger.claimLinks(young.run)
  const linked = linkOutcome({ ordinal: 1, number: 1 }, 'linked', { sourceId: 's', targetId: 't' })
  await ledger.settleLinks(young.run, step, [linked], NO_BOUNDS)
  await close(ledger, young.run)

  daysAgo(1)
  const after = async (purpose: Purpose, of: number | null) => {
    const opened = await ledger.openRun({
      sync: 'contacts',
      kind: 'import',
      mode: 'run',
      workflowId: `w ${purpose}`,
      workflowRunId: 'r',
      config: { name: 'contacts', [purpose]: { of } },
      purpose,
      of,
    })
    if (!('run' in opened)) throw new Error('the sync is held')
    return opened.run.id
  }
  const retry = await after('retry', mixed.run)
  expectRun('retry', retry)
  await stage(ledger, retry, [{ ...row(1, 'n3', 'mended'), of: 4 }])
  const segment = (await ledger.openSegments(retry))[0]!
  const claim = { run: retry, segment, fence: await ledger.claimSegment(retry, segment) }
  await settle(ledger, claim, await send(ledger, claim), 'created')
  await close(ledger, retry)

  const reconcile = await after('reconcile', null)
  expectRun('reconcile', reconcile)
  await stage(ledger, reconcile, rows(3, 'e'))
  const difference = { stream: 'svc_contact', kind: 'different', whose: 'service' } as const
  await ledger.noteDifferences(
    reconcile,
    STRANGE.map((text, index) => ({
      ...difference,
      key: `key ${text}`,
      recordId: `record ${index}`,
      ordinal: index === 0 ? null : index,
      field: 'svc_email',
      ours: JSON.stringify(text),
      theirs: null,
    })),
    { repaired: true },
  )
  await ledger.settleLeftovers(reconcile)
  await ledger.closeRun(reconcile, {
    state: 'complete_with_rejects',
    books: await ledger.books(reconcile),
    verifiedThrough: new Date(NOW - DAY_MS).toISOString(),
  })

  expectRun('cancelledMirror', (await mirrored('cancelled')).id)
  expectRun('failedMirror', (await mirrored('failed')).id)
  daysAgo(0)
  const live = await staged(ledger, rows(2, 'live'))
  expectRun('live', live.run)
  await send(ledger, live, 1)
  await ledger.close()
}
