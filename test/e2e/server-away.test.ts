// A Temporal server that is away for a while, and one that comes back without its database: a command that follows a run does
// not say that it failed, and a worker finds out what was lost.

import { Client, Connection } from '@temporalio/client'
import { afterEach, expect, inject, test, vi } from 'vitest'
import { ServerAway, waitForEnd } from '../../src/cli/shared/wait-for-end.ts'
import { silentLogger } from '../../src/core/ports.ts'
import { SEARCH_ATTRIBUTES } from '../../src/core/temporal/search-attributes.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/index.ts'
import { importSync } from '../../workflows/names.ts'
import { startPostgres } from '../postgres.ts'
import { startWay as openWay } from '../way.ts'
import { contactsCsv, createProject, defaultConfig, fastTuning, type Project } from './project.ts'
import { startCommand } from './watched-command.ts'
import { startWorkerHere } from './worker.ts'
import { soakTest } from '../runs.ts'

const soon = { timeout: 600_000, interval: 200 }
const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function startWay(address: string) {
  const way = await openWay(address)
  stops.push(() => way.close())
  return way
}

async function newProject(): Promise<Project> {
  const project = await createProject({ service: { latencyMs: 50 } })
  stops.push(() => project.stop())
  return project
}

test('while the server is away, run goes by the ledger', async () => {
  const project = await newProject()
  project.write('contacts.csv', contactsCsv(2_000))
  await project.startWorker()
  const way = await startWay(project.address)
  project.env['TEMPORAL_ADDRESS'] = way.address
  const following = project.cli('run', 'contacts', '--tuning', '{"in_flight":1}')
  const ledger = project.ledger()
  stops.push(() => ledger.close())
  const created = async () => {
    const [run] = await ledger.runs({ limit: 1 })
    return run ? (await ledger.progress(run.id)).created : 0
  }
  await vi.waitFor(async () => expect(await created()).toBeGreaterThan(0), soon)
  way.set(false)
  const { code, out, err } = await following
  expect(err).toContain('The Temporal server does not answer; the run goes on')
  expect(err).not.toMatch(/MaxListeners/)
  expect(out).toMatch(/Run 1 of contacts: complete/)
  expect(code).toBe(0)
}, 600_000)

soakTest(
  'while the ledger is away, run asks it again and tells how the run ended',
  async () => {
    const postgres = await startPostgres()
    stops.push(() => postgres.stop())
    const place = 'ledger: { postgres: "${LEDGER_URL}" }'
    const config = defaultConfig.replace('ledger: ./ledger.db', place)
    const project = await createProject({ config, service: { latencyMs: 50 } })
    stops.push(() => project.stop())
    project.write('contacts.csv', contactsCsv(2_000))
    const url = new URL(await postgres.newDatabase())
    project.env['LEDGER_URL'] = url.href
    await project.startWorker()
    const way = await startWay(url.host)
    const far = new URL(url)
    far.host = way.address
    project.env['LEDGER_URL'] = far.href
    const following = startCommand(project, 'run', 'contacts', '--tuning', '{"in_flight":1}')
    // The worker's configuration still names the ledger that it has open.
    project.env['LEDGER_URL'] = url.href
    const ledger = await openPostgresLedger({ url: url.href, schema: 'records_sync' })
    stops.push(() => ledger.close())
    await vi.waitFor(async () => expect(await ledger.run(1)).not.toBeNull(), soon)
    way.set(false)
    const away = 'The ledger does not answer; the run goes on. Asking again'
    await vi.waitFor(() => expect(following.said()).toContain(away), soon)
    await vi.waitFor(
      async () => expect(await ledger.run(1)).toMatchObject({ state: 'complete' }),
      soon,
    )
    way.set(true)
    expect(await following.ended).toBe(0)
    expect(following.said()).toContain('The ledger is back')
    expect(following.said()).toMatch(/Run 1 of contacts: complete/)
  },
  600_000,
)

test('the wait goes on when the server is back, and ends where it stays away', async () => {
  const way = await startWay(inject('temporalAddress'))
  const connection = await Connection.connect({ address: way.address, interceptors: [] })
  stops.push(() => connection.close())
  const client = new Client({ connection })
  const start = (workflowId: string) =>
    client.workflow.start(importSync, { taskQueue: 'nobody', workflowId, args: [{}] })
  const { signal } = new AbortController()

  const first = await start('away-for-a-while')
  const noted: boolean[] = []
  const waiting = waitForEnd(client, first, { signal, noteAway: (away) => void noted.push(away) })
  waiting.catch(() => {})
  way.set(false)
  await vi.waitFor(() => expect(noted).toEqual([true]), soon)
  way.set(true)
  await vi.waitFor(() => expect(noted).toEqual([true, false]), soon)
  await first.terminate('over')
  await expect(waiting).rejects.toMatchObject({ cause: { name: 'TerminatedFailure' } })

  const second = await start('away-for-good')
  const ended = waitForEnd(client, second, { signal, noteAway: () => {}, awayMaxMs: 1 })
  ended.catch(() => {})
  way.set(false)
  await expect(ended).rejects.toThrow(ServerAway)
}, 600_000)

test('a server that lost its database: attributes, runs and schedules are looked at again', async () => {
  const project = await newProject()
  project.write('contacts.csv', contactsCsv(500))
  const scheduled = defaultConfig.replace('    import:', '    schedule: every week\n    import:')
  project.write('records-sync.yaml', scheduled)
  const options = { cliPath: inject('temporalCli'), headless: true, logger: silentLogger }
  const first = await startTemporal(options)
  const { address, namespace } = first
  const told: string[] = []
  const note = (_: object, message?: string) => void told.push(message ?? '')
  const log = { ...silentLogger, info: note, warn: note, error: note }
  const ledger = openSqliteLedger(project.ledgerFile)
  stops.push(() => ledger.close())
  // What a run leaves whose workflow the server has forgotten.
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'forgotten',
    workflowRunId: '7a0e0d5e-6a0e-4b43-b6a5-000000000000',
    config: {},
  })
  expect('run' in opened).toBe(true)
  const worker = await startWorkerHere({
    configFile: project.configFile,
    env: project.env,
    temporal: { address, namespace },
    logger: log,
    upkeepMs: 500,
  })
  stops.push(async () => {
    worker.shutdown()
    await worker.stopped.catch(() => {})
  })
  // It is logged before the run is closed.
  const abandoned = { state: 'failed', reason: 'abandoned' }
  await vi.waitFor(async () => expect(await ledger.run(1)).toMatchObject(abandoned), soon)
  await vi.waitFor(() => expect(told).toContain('schedule_missing'), soon)
  expect(told).toContain('run_abandoned')
  expect(told).not.toContain('search_attributes_lost')

  await first.stop()
  const again = await startTemporal({ ...options, port: Number(address.split(':')[1]) })
  stops.push(() => again.stop())
  const connection = await Connection.connect({ address })
  stops.push(() => connection.close())
  // This server registers them when it starts; one that lost its database has none.
  told.length = 0
  const searchAttributes = Object.keys(SEARCH_ATTRIBUTES)
  await connection.operatorService.removeSearchAttributes({ namespace, searchAttributes })
  await vi.waitFor(() => expect(told).toContain('search_attributes_lost'), soon)
  await vi.waitFor(async () => {
    const listed = await connection.operatorService.listSearchAttributes({ namespace })
    expect(Object.keys(listed.customAttributes ?? {})).toEqual(
      expect.arrayContaining(searchAttributes),
    )
  }, soon)
  const handle = await new Client({ connection }).workflow.start(importSync, {
    taskQueue: await project.queue(),
    workflowId: 'after',
    args: [{ sync: 'contacts', tuning: fastTuning }],
  })
  expect(await handle.result()).toMatchObject({ state: 'complete' })
}, 600_000)
