// `kill -9` of the worker while rows are planned and while a plan is applied: the plan is whole, each row is sent as it was planned,
// and no row is set aside because of what the run itself has written.

import { afterEach, expect, test, vi } from 'vitest'
import { contactsConfig } from '../e2e/contacts.ts'
import { contactsCsv, createProject, fastTuning, type Project } from '../e2e/project.ts'
import { HANG_MS, HEARTBEAT_MS, untilHung } from '../hang.ts'
import { importSync } from '../../workflows/names.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'

const rows = 2_000
const tuning = { ...fastTuning, in_flight: 2, heartbeat_timeout_ms: HEARTBEAT_MS }

let project: Project
afterEach(async () => await project.stop())

const named =
  (name: string) =>
  (_: number, cells: string[]): string[] => [cells[0]!, name, cells[2]!, cells[3]!]

const asked = async <Result>(question: (ledger: Ledger) => Promise<Result>): Promise<Result> => {
  const ledger = project.ledger()
  try {
    return await question(ledger)
  } finally {
    await ledger.close()
  }
}

/** Kills the worker once this is so. */
const killOnce = async (
  worker: ReturnType<Project['spawnWorker']>,
  isSo: (ledger: Ledger) => Promise<boolean>,
) => {
  await vi.waitUntil(() => asked(isSo).catch(() => false), { ...untilHung, interval: 20 })
  worker.kill('SIGKILL')
}

const expectHeld = (name: string) => {
  const held = project.held()
  expect(held.size).toBe(rows)
  for (const properties of held.values()) expect(properties).toMatchObject({ svc_first_name: name })
}

test(
  'of a run that waits for its plan, and of one that applies a plan',
  async () => {
    project = await createProject({
      config: contactsConfig({ settings: 'approve: plan' }),
      service: { latencyMs: 60 },
    })
    project.write('contacts.csv', contactsCsv(rows, named('Ann')))
    const first = await project.start('contacts', tuning)
    const imaged = async (ledger: Ledger, run: number) =>
      Object.values(await ledger.imageCounts(run)).reduce((sum, count) => sum + count, 0)
    await killOnce(project.spawnWorker(), async (ledger) => {
      const count = await imaged(ledger, 1)
      return count > 0 && count < rows
    })
    const pushing = project.spawnWorker()
    const isAsking = async (ledger: Ledger) => (await ledger.run(1))?.reason === 'approval'
    await vi.waitUntil(() => asked(isAsking), untilHung)
    expect(await asked((ledger) => imaged(ledger, 1))).toBe(rows)
    expect(await project.command('approve', 'contacts', '--plan', '1')).toMatchObject({ code: 0 })
    const isPushing = (run: number, from: number) => async (ledger: Ledger) => {
      const { created, updated } = await ledger.progress(run)
      return created + updated > from && created + updated < rows
    }
    await killOnce(pushing, isPushing(1, 0))
    await project.startWorker()
    expect(await first.result()).toMatchObject({
      state: 'complete',
      books: { states: { conflict: 0, unsent: 0 } },
    })
    expectHeld('Ann')

    project.write('contacts.csv', contactsCsv(rows, named('Bea')))
    expect(await project.command('--json', 'plan', 'contacts', '--diff')).toMatchObject({ code: 0 })
    const second = await project.client.workflow.start(importSync, {
      taskQueue: await project.queue(),
      workflowId: project.workflowId('import-planned'),
      args: [{ sync: 'contacts', plan: 1, tuning }],
    })
    expect(await second.result()).toMatchObject({
      state: 'complete',
      books: { states: { conflict: 0, updated: rows } },
    })
    expectHeld('Bea')
  },
  HANG_MS * 4,
)
