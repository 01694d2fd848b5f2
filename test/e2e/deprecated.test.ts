// A service announces the end of its API: each place that people and programs look at says so, and nothing is refused for it.

import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../src/core/ports.ts'
import { untilHung } from '../hang.ts'
import { readPage } from '../unit/monitoring/exposition.ts'
import { startHook } from './hook.ts'
import { contactsCsv, createProject, defaultConfig, type Project } from './project.ts'
import { startWorkerHere } from './worker.ts'

const since = new Date('2026-01-15T00:00:00Z')
const day = 86_400_000

const config = `${defaultConfig}
worker: { listen: "127.0.0.1:0" }
notifications:
  ops: { url: { file: ./hook } }
`

/** A project whose service ends, and a worker. */
async function scene(sunset: Date) {
  const project = await createProject({ config, service: { deprecation: { since, sunset } } })
  const hook = await startHook('/hook')
  onTestFinished(hook.close)
  const told = hook.received
  project.write('hook', hook.url)
  const worker = await startWorkerHere({
    configFile: project.configFile,
    env: project.env,
    temporal: { address: project.address, namespace: 'default' },
    logger: silentLogger,
  })
  onTestFinished(async () => {
    worker.shutdown()
    await worker.stopped.catch(() => {})
    await project.stop()
  })
  return { project, worker, told }
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ')

/** Runs the sync, and gives the warnings of the run. */
async function warningsOf(project: Project, rows: number): Promise<readonly string[]> {
  project.write('contacts.csv', contactsCsv(rows))
  const handle = await project.start('contacts')
  expect(await handle.result()).toMatchObject({ state: 'complete' })
  const ledger = project.ledger()
  const [run] = await ledger.runs({ sync: 'contacts', limit: 1 })
  await ledger.close()
  return run!.warnings
}

test('an API that ends is said by the run, all commands, the console, the webhook and the metrics', async () => {
  const sunset = new Date(Math.ceil(Date.now() / day) * day + 33 * day)
  const { project, worker, told } = await scene(sunset)
  const end = sunset.toISOString().slice(0, 10)
  const words = `its service announces that this API is deprecated since 2026-01-15; from ${end} on requests may fail`
  expect(await warningsOf(project, 3)).toContainEqual(
    expect.stringContaining(`connection crm: ${words}`),
  )
  await expect.poll(() => told.map(({ event }) => event), untilHung).toEqual(['deprecated'])
  expect(told[0]!['text']).toContain(words)
  // A later run warns too, and nobody is told again.
  expect((await warningsOf(project, 4)).join()).toContain(words)
  expect(told).toHaveLength(1)

  for (const command of [['show', '1'], ['check'], ['doctor'], ['status'], ['quota']]) {
    const { out } = await project.command(...command)
    expect(oneLine(out), command[0]).toContain(words)
  }
  expect((await project.command('check')).code).toBe(0)
  const status = JSON.parse((await project.command('status', '--json')).out) as object[]
  expect(status[0]).toMatchObject({
    deprecations: [{ connection: 'crm', since: since.toISOString(), sunset: sunset.toISOString() }],
  })
  const { text } = await fetch(`http://${worker.listening}/metrics`).then(async (answer) => ({
    text: await answer.text(),
  }))
  const gauge = 'records_sync_api_sunset_timestamp_seconds'
  expect(readPage(text).value(gauge, { connection: 'crm' })).toBe(sunset.getTime() / 1_000)
})

test('a day that has come is said in strong words, and the run is carried out', async () => {
  const { project } = await scene(new Date('2026-02-01T00:00:00Z'))
  const words = 'the end of this API for 2026-02-01, and that day has come'
  expect((await warningsOf(project, 2)).join()).toContain(words)
  const doctor = await project.command('doctor')
  expect(oneLine(doctor.out)).toContain(words)
  expect(doctor.out).toMatch(/^warn +api crm/m)
})
