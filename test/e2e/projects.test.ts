// Two projects on one Temporal server, with syncs of the same names: no worker takes the work of the other project, and a
// command says whose workers there are. Runs of a release that knew no projects go on to their end.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLogger } from '../../src/core/ports.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { backupFile } from '../../src/sqlite/backup.ts'
import { orHung, untilHung } from '../hang.ts'
import { contactsCsv, createProject, defaultConfig, type Project } from './project.ts'
import { startWorkerHere, type RunningWorker } from './worker.ts'

let project: Project
let neighbour: { readonly file: string; readonly ledger: string }
let workers: RunningWorker[]
/** What the workers log. */
let told: string[]
beforeEach(async () => {
  workers = []
  told = []
  project = await createProject({ server: 'own' })
  project.write('contacts.csv', contactsCsv(40))
  const dir = join(project.dir, 'neighbour')
  mkdirSync(dir)
  neighbour = { file: join(dir, 'records-sync.yaml'), ledger: join(dir, 'ledger.db') }
  writeFileSync(neighbour.file, defaultConfig.replace('./key', '../key'))
  writeFileSync(join(dir, 'contacts.csv'), contactsCsv(3))
})
afterEach(async () => {
  for (const worker of workers) worker.shutdown()
  await orHung('the workers', Promise.allSettled(workers.map(({ stopped }) => stopped)))
  await project.stop()
})

async function serve(configFile: string): Promise<RunningWorker> {
  const worker = await startWorkerHere({
    configFile,
    env: project.env,
    temporal: { address: project.address, namespace: 'default' },
    logger: { ...silentLogger, info: (_, message) => void told.push(message) },
    upkeepMs: 500,
  })
  workers.push(worker)
  return worker
}

async function runsIn(file: string) {
  const ledger = openSqliteLedger(file)
  const runs = await ledger.runs({ limit: 10 })
  await ledger.close()
  return runs.map(({ state, counts }) => ({ state, rows: counts?.read }))
}

test('a run is done by workers of its own project alone', async () => {
  await serve(project.configFile)
  const run = ['--config', neighbour.file, 'run', 'contacts']
  const refused = await project.command(...run)
  expect(refused.code).toBe(3)
  expect(refused.err).toMatch(/No worker of this project polls yet; waiting/)
  expect(refused.err.replaceAll(/\s+/g, ' ')).toMatch(
    /No worker .*The workers there serve [\w-]+\/records-sync\.yaml on .* \(project [\da-f]{8}\); yours is neighbour\/records-sync\.yaml/,
  )
  expect(await runsIn(project.ledgerFile)).toEqual([])

  await serve(neighbour.file)
  expect((await project.command(...run)).code).toBe(0)
  expect((await project.command('run', 'contacts')).code).toBe(0)
  expect(await runsIn(neighbour.ledger)).toEqual([{ state: 'complete', rows: 3 }])
  expect(await runsIn(project.ledgerFile)).toEqual([{ state: 'complete', rows: 40 }])
}, 180_000)

test('a folder that was copied with its ledger is the same project: its worker is told, and no other', async () => {
  const ill: string[] = []
  const watching = async (configFile: string) => {
    const worker = await startWorkerHere({
      configFile,
      env: project.env,
      temporal: { address: project.address, namespace: 'default' },
      logger: {
        ...silentLogger,
        info: (_, message) => void told.push(message),
        error: (fields, message) =>
          void ill.push(`${message} ${JSON.stringify({ of: configFile, ...fields })}`),
      },
      upkeepMs: 500,
    })
    workers.push(worker)
    return worker
  }
  const first = await watching(project.configFile)
  // Another worker of the very ledger, by another path.
  const link = join(project.dir, 'linked')
  symlinkSync(project.dir, link)
  await watching(join(link, 'records-sync.yaml'))
  backupFile(project.ledgerFile, neighbour.ledger)
  const third = await watching(neighbour.file)
  expect(third.project).toBe(first.project)
  await vi.waitFor(() => expect(ill.join()).toContain('neighbour/records-sync.yaml on'), untilHung)
  const copied = ill.filter((line) => line.includes('"ledger_copy"'))
  expect(copied[0]).toMatch(/^not_well .*"why":"Another copy of this ledger is worked with/)
  expect(copied.filter((line) => line.includes('linked/records-sync.yaml on'))).toEqual([])
  third.shutdown()
  await third.stopped
})
