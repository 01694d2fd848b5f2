// A run that is started and not followed: a live run of its sync is known before.

import { ApplicationFailure } from '@temporalio/common'
import { WorkflowNotFoundError, type Client } from '@temporalio/client'
import { expect, test } from 'vitest'
import type { CommandContext } from '../../../src/cli/shared/context.ts'
import { heldBy, openedOr, printStarted } from '../../../src/cli/shared/detached.ts'
import { findHolder } from '../../../src/actions/holder.ts'
import { attachTo, mayAttach } from '../../../src/cli/shared/second-run.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, openRun } from '../../suites/ledger/scene.ts'
import { HANG_MS } from '../../hang.ts'

test('is known while a workflow holds the sync, and not where that is gone, or of another sync', async () => {
  const ledger = openSqliteLedger(':memory:')
  // What the command closes is opened anew for each command.
  const context = {
    findLedger: async () => ({ ...ledger, close: async () => {} }) as Ledger,
  }
  const client = (status: string | null) =>
    ({
      workflow: {
        getHandle: (workflowId: string, runId: string) => ({
          describe: async () => {
            if (status === null) throw new WorkflowNotFoundError('gone', workflowId, runId)
            return { status: { name: status } }
          },
        }),
      },
    }) as unknown as Client
  const holder = async (status: string | null, sync = 'contacts') =>
    (await findHolder(context, client(status), sync))?.id ?? null
  expect(await holder('RUNNING')).toBeNull()
  const run = await openRun(ledger)
  expect(await holder('RUNNING')).toBe(run.id)
  expect(await holder('RUNNING', 'companies')).toBeNull()
  expect(await holder('TERMINATED')).toBeNull()
  expect(await holder(null)).toBeNull()
  const err: string[] = []
  const saying = {
    terminal: { err: (line = '') => void err.push(line) } as never,
    hint: (command: string) => command,
  }
  expect(() => attachTo(saying, run, false)).toThrow(
    `Sync "contacts" is already running: run ${run.id} `,
  )
  attachTo(saying, run, true)
  expect(err).toEqual([
    'See it: watch contacts',
    expect.stringMatching(
      new RegExp(`^contacts is at work since .* UTC: this follows run ${run.id}, and starts none`),
    ),
  ])
  await close(ledger, run.id)
  expect(await holder('RUNNING')).toBeNull()
  expect(await findHolder({ findLedger: async () => null }, client(null), 'contacts')).toBeNull()
  await ledger.close()
})

test('a person follows a run like the asked one; a script and a special run only where told', () => {
  const regular = { purpose: 'sync' } as const
  const plain = { isSpecial: false, isScreen: true }
  expect(mayAttach(regular, plain)).toBe(true)
  expect(mayAttach(regular, { ...plain, isScreen: false })).toBe(false)
  expect(mayAttach(regular, { ...plain, isSpecial: true })).toBe(false)
  expect(mayAttach({ purpose: 'reconcile' }, plain)).toBe(false)
  const told = { attach: true, isSpecial: false, isScreen: false }
  expect(mayAttach({ purpose: 'reconcile' }, told)).toBe(true)
})

test('a run that no worker has opened yet is not said to be started', () => {
  expect(openedOr(HANG_MS)(null)).toBe(false)
  expect(openedOr(0)(null)).toBe(true)
  const out: string[] = []
  const context = (json: boolean) =>
    ({
      json,
      terminal: { out: (line: string) => void out.push(line) },
      hint: (command: string) => command,
    }) as unknown as CommandContext
  const started = { sync: 'contacts', workflowId: 'w-1' }
  expect(printStarted(context(false), started, null)).toBe(0)
  expect(out[0]).toMatch(/^w-1 waits for a worker\. It begins .* unless another run of contacts/)
  expect(printStarted(context(true), started, null)).toBe(0)
  expect(JSON.parse(out[1]!)).toEqual({ workflow_id: 'w-1', run: null })
})

test('only a sync that is held is told as such', () => {
  const words = 'Sync "contacts" is already running: run 3 (workflow w-1)'
  const failed = (type: string) =>
    new Error('the workflow failed', {
      cause: new Error('the activity failed', {
        cause: ApplicationFailure.create({ type, message: words }),
      }),
    })
  expect(heldBy(failed('AlreadyRunning'))).toMatchObject({
    code: 'already_running',
    message: words,
  })
  expect(heldBy(failed('ConfigInvalid'))).toBeNull()
  expect(heldBy(null)).toBeNull()
})
