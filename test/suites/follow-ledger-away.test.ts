// A command that follows a run asks a PostgreSQL ledger again that does not answer for a while, and gives up in the end.

import { afterEach, expect, it, vi } from 'vitest'
import { followRun } from '../../src/cli/shared/follow.ts'
import { LedgerUnreachable, createLedgerRetry } from '../../src/cli/shared/ledger-retry.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { untilHung } from '../hang.ts'
import { startPostgres } from '../postgres.ts'
import { startWay } from '../way.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

/** Follows a run of a ledger that is behind a way. */
async function scene(awayMaxMs?: number) {
  const postgres = await startPostgres()
  stops.push(() => postgres.stop())
  const url = new URL(await postgres.newDatabase())
  const schema = 'records_sync'
  const ledger = await openPostgresLedger({ url: url.href, schema })
  stops.push(() => ledger.close())
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'followed',
    workflowRunId: 'r',
    config: {},
  })
  if (!('run' in opened)) throw new Error('the run is not open')
  const way = await startWay(url.host)
  stops.push(() => way.close())
  url.host = way.address
  const noted: boolean[] = []
  const lines: string[] = []
  let resolve = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<void>((done, failed) => ([resolve, reject] = [done, failed]))
  const end = { resolve: () => resolve(), reject: (error: Error) => reject(error) }
  const following = followRun({
    terminal: {
      out: () => {},
      err: () => {},
      live: (line) => void lines.push(line),
      endLive: () => {},
      style: (_, text) => text,
    },
    ledger: () => openPostgresLedger({ url: url.href, schema }, { readOnly: true }),
    patience: createLedgerRetry({
      noteAway: (away) => void noted.push(away),
      ...(awayMaxMs !== undefined && { awayMaxMs }),
    }),
    sync: 'contacts',
    workflowId: 'followed',
    untilEnded: () => promise,
    line: async (_, run) => run.state,
  })
  following.catch(() => {})
  await vi.waitFor(() => expect(lines.length).toBeGreaterThan(0), untilHung)
  return { way, ledger, run: opened.run, noted, end, following }
}

it('goes on when the ledger is back, though the run has ended meanwhile', async () => {
  const { way, ledger, run, noted, end, following } = await scene()
  way.set(false)
  await vi.waitFor(() => expect(noted).toEqual([true]), untilHung)
  await ledger.closeRun(run.id, { state: 'complete', books: null })
  end.resolve()
  way.set(true)
  expect(await following).toMatchObject({
    kind: 'ended',
    run: { id: run.id, state: 'complete' },
    error: null,
  })
  expect(noted).toEqual([true, false])
})

it('ends where the ledger stays away: how the run ends is not known, and it is named', async () => {
  const { way, run, following } = await scene(1)
  way.set(false)
  const followed = await following
  expect(followed).toMatchObject({ kind: 'ended', run: { id: run.id, state: 'running' } })
  const { error } = followed as { error: unknown }
  expect(error).toBeInstanceOf(LedgerUnreachable)
  expect((error as LedgerUnreachable).message).toMatch(
    /run goes on.*The ledger .* cannot be reached/,
  )
})

it('a run that failed has failed, whether its books can be read or not', async () => {
  const { way, noted, end, following } = await scene(1)
  way.set(false)
  const failed = new Error('failed')
  end.reject(failed)
  expect(await following).toMatchObject({ kind: 'ended', error: failed })
  expect(noted).toEqual([true])
})
