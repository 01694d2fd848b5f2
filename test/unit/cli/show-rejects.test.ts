// What `show` says of rows that were not accepted, or whose answer was lost: column, reason, and what the books leave open.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rejects } from '../../../src/cli/commands/rejects.ts'
import { show } from '../../../src/cli/commands/show.ts'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import type { ImportMode } from '../../../src/core/domain/import-modes.ts'
import type { Json } from '../../../src/core/json.ts'
import type { ItemOutcome } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { answered, close, outcome, rows, send, stage } from '../../suites/ledger/scene.ts'
import { importOf } from '../corrections/scene.ts'
import { said } from './said.ts'

/** A closed run whose rows end so; `mode`: null as in a configuration of version 0.1.0. */
async function ended(
  outcomes: readonly ItemOutcome[],
  { mode = 'upsert', replays = false }: { mode?: ImportMode | null; replays?: boolean } = {},
) {
  const home = await mkdtemp(join(tmpdir(), 'records-sync-show-'))
  const config = join(home, 'records-sync.yaml')
  await writeFile(config, 'ledger: ./ledger.db\nconnections: {}\nsyncs: {}\n')
  const ledger = openSqliteLedger(join(home, 'ledger.db'))
  onTestFinished(async () => {
    await ledger.close()
    await rm(home, { recursive: true })
  })
  const { mode: _, ...settings } = importOf({ svc_email: { column: 'mail' } }).import
  const sync = { ...importOf({}), import: { ...settings, ...(mode && { mode }) } }
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'w',
    workflowRunId: 'r',
    config: sync as unknown as Json,
  })
  if (!('run' in opened)) throw new Error('the sync is held')
  const run = opened.run.id
  await stage(ledger, run, rows(outcomes.length))
  const [segment] = await ledger.openSegments(run)
  const claim = { run, segment: segment!, fence: await ledger.claimSegment(run, segment!) }
  const first = await send(ledger, claim)
  const resend = { operation: 'batchUpsert', replayed: true }
  const batch = replays
    ? await ledger.recordResend(run, segment!, claim.fence, first, resend)
    : first
  await ledger.settle(run, segment!, claim.fence, batch, answered, outcomes)
  await close(ledger, run)
  const printed = async (command: (context: CommandContext) => Promise<number>, json = false) =>
    (await said(config, command, json)).out.join('\n')
  return {
    shown: () => printed((context) => show(context, String(run))),
    json: async () =>
      JSON.parse(await printed((context) => show(context, String(run)), true)) as object,
    lines: async () => {
      const output = join(home, 'rejects.jsonl')
      await printed((context) => rejects(context, String(run), { exact: true, output }), true)
      return (await readFile(output, 'utf8')).split('\n').filter((line) => line !== '')
    },
  }
}

const conflict = { code: 'conflict', reason: 'unique_violation', httpStatus: 409 }
const unanswered = { code: null, reason: null, field: null, detail: null, httpStatus: null }

test.each(['/data/0/properties/svc_email', '/properties/svc_email', 'svc_email'])(
  'a conflict in %s has the column that the property is mapped from',
  async (field) => {
    const { shown, json } = await ended([outcome(1, 'refused', { ...conflict, field })])
    expect(await shown()).toMatch(/1 +refused +unique_violation +mail +/)
    expect(await json()).toMatchObject({
      rejects: [{ column: 'mail' }],
      left: { rejects: [{ column: 'mail' }] },
      errors: { groups: [{ column: 'mail', property: 'svc_email' }] },
    })
  },
)

test('a conflict in a property that is not mapped, or in the whole record, has no column', async () => {
  const field = '/properties/svc_other'
  const { json } = await ended([
    outcome(1, 'refused', { ...conflict, field }),
    outcome(2, 'refused', { ...conflict, field: null }),
  ])
  expect(await json()).toMatchObject({ rejects: [{ column: null }, { column: null }] })
})

describe('rows in doubt', () => {
  test('have the reason that retry takes', async () => {
    const { shown, json } = await ended([outcome(1, 'in_flight', unanswered)])
    expect(await shown()).toMatch(/1 +outcome_unknown +in_doubt/)
    expect(await shown()).toContain(
      '1 row is in doubt: no answer came, and the service may hold it.',
    )
    expect(await json()).toMatchObject({
      rejects: [{ reason: 'in_doubt' }],
      errors: { groups: [{ reason: 'in_doubt' }] },
    })
  })

  test('are counted', async () => {
    const { shown } = await ended(
      [1, 2].map((ordinal) => outcome(ordinal, 'in_flight', unanswered)),
    )
    expect(await shown()).toContain(
      '2 rows are in doubt: no answer came, and the service may hold them.',
    )
  })

  test('keep the reason that the service gave', async () => {
    const failed = { code: 'internal', reason: null, field: null, httpStatus: 500 }
    const { json } = await ended([outcome(1, 'in_flight', failed)])
    expect(await json()).toMatchObject({ rejects: [{ code: 'internal', reason: null }] })
  })
})

describe('rows that were sent again', () => {
  const twice = [outcome(1, 'updated'), outcome(2, 'created')]

  test.each(['upsert', null] as const)('make the count of %s inexact', async (mode) => {
    const { shown, json } = await ended(twice, { mode, replays: true })
    expect(await shown()).toContain(
      '2 rows were sent again after a lost answer: up to 1 of "updated" may have been created by this run.',
    )
    expect(await json()).toMatchObject({ replayed: 2, maybe_created: 1 })
  })

  test.each(['create', 'update'] as const)('leave the count of mode %s exact', async (mode) => {
    const { shown, json } = await ended(twice, { mode, replays: true })
    expect(await shown()).toContain('2 rows were sent again after a lost answer.')
    expect(await json()).toMatchObject({ replayed: 2, maybe_created: 0 })
  })

  test('or found as they were sent make the count of upserts inexact', async () => {
    const found = [outcome(1, 'updated', unanswered), outcome(2, 'created')]
    const { shown, json } = await ended(found)
    expect(await shown()).toContain(
      '1 row was settled by a look-up after a lost answer: the record was found as it was sent; up to 1 of "updated" may have been created by this run.',
    )
    expect(await json()).toMatchObject({ replayed: 0, looked_up: 1, maybe_created: 1 })
    const { json: ofUpdates } = await ended(found, { mode: 'update' })
    expect(await ofUpdates()).toMatchObject({ looked_up: 1, maybe_created: 0 })
  })

  test('are one', async () => {
    const { shown } = await ended([outcome(1, 'updated')], { replays: true })
    expect(await shown()).toContain(
      '1 row was sent again after a lost answer: up to 1 of "updated"',
    )
  })
})

test.each([
  ['upsert', 'retry sends it again, which writes the same record'],
  ['update', 'retry sends it again, which writes the same record'],
  ['create', 'retry looks for its record, and sends it only if there is none'],
] as const)('the rejects say why a row of mode %s is in doubt', async (mode, next) => {
  const said500 = { ...unanswered, code: 'internal', httpStatus: 500, detail: 'it broke' }
  const { lines } = await ended(
    [outcome(1, 'in_flight', unanswered), outcome(2, 'in_flight', said500)],
    {
      mode,
    },
  )
  expect((await lines()).map((line) => (JSON.parse(line) as { detail: string }).detail)).toEqual([
    `no answer came to the request that held this row, so the service may hold it; ${next}`,
    `it broke; the service may hold the row all the same; ${next}`,
  ])
})
