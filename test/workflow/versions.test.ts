// An upgrade while runs are under way: old and new workers take turns on one run; and with a build's name, a run stays with
// the build that began it. The new workers' workflow has a step that the old one lacks.

import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkflowHandle } from '@temporalio/client'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { isBalanced } from '../../src/core/domain/books.ts'
import { importSync } from '../../workflows/names.ts'
import { contactsCsv, createProject, fastTuning, type Project } from '../e2e/project.ts'
import { workflowBundle } from '../e2e/worker.ts'
import { startProxy } from '../faults/proxy.ts'
import { untilHung } from '../hang.ts'
import { nextVersion } from '../simulation/search/next-version.ts'
import { soakTest } from '../runs.ts'

const rows = 5_000
/** Requests of a segment. */
const perSegment = 20
const tuning = { ...fastTuning, rows_per_segment: 1_000, segments_in_flight: 1, in_flight: 4 }
const root = fileURLToPath(new URL('../../', import.meta.url))

const sync = (name: string) => `
  ${name}:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }`

let project: Project
let proxy: { close(): void }
/** Batches that the service gets; the rest wait. */
let allowed: number
let passed: number
const children = new Set<ChildProcess>()
beforeAll(async () => {
  project = await createProject({
    config: `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
syncs:${sync('first')}${sync('second')}${sync('third')}
`,
  })
  project.write('contacts.csv', contactsCsv(rows))
  const started = await startProxy(project.service.url, async (url, body) => {
    if (url.includes('/batch/')) {
      while (passed >= allowed) await new Promise((resolve) => setTimeout(resolve, 20))
      passed++
    }
    return { pass: body }
  })
  proxy = started
  project.env['RECORDS_URL'] = started.url
})
beforeEach(() => {
  allowed = passed = 0
})
afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
  children.clear()
})

const today = join(root, 'dist', 'src', 'cli', 'main.js')
let changed: string
let folder: string
/** The compiled program in a folder of its own; its import workflow rests before it pushes, which the other one does not. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-changed-'))
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const code = readFileSync(workflowBundle, 'utf8')
  writeFileSync(join(folder, 'dist', 'workflow-bundle.js'), nextVersion(code))
  changed = join(folder, 'dist', 'src', 'cli', 'main.js')
})
afterAll(async () => {
  allowed = Infinity
  proxy.close()
  await project.stop()
  rmSync(folder, { recursive: true })
})

function startWorker(main: string, ...options: string[]): ChildProcess {
  const args = [main, '--config', project.configFile, 'worker', ...options]
  const child = spawn(process.execPath, args, {
    cwd: project.dir,
    env: project.env,
    stdio: 'ignore',
  })
  children.add(child)
  return child
}
const start = async (name: string) =>
  await project.client.workflow.start(importSync, {
    taskQueue: await project.queue(),
    workflowId: project.workflowId(name),
    args: [{ sync: name, tuning }],
  })
const events = async (handle: WorkflowHandle) => (await handle.fetchHistory()).events ?? []
const refusals = async (handle: WorkflowHandle) =>
  (await events(handle)).filter(({ workflowTaskFailedEventAttributes: failed }) => failed)

/** Ends when that worker has decided what comes after a segment that it pushed. */
async function decided(
  handle: WorkflowHandle,
  { pid }: { readonly pid?: number | undefined },
  what: string,
) {
  const by = (identity: string | null | undefined) => identity?.startsWith(`${pid}@`)
  const afterSegment = async () => {
    const all = await events(handle)
    const pushed = all.findIndex(
      ({ activityTaskCompletedEventAttributes: done }) =>
        by(done?.identity) && text(done?.result?.payloads?.[0]?.data).includes('"requests"'),
    )
    const later = pushed < 0 ? [] : all.slice(pushed)
    return later.some(({ workflowTaskCompletedEventAttributes: task }) => by(task?.identity))
  }
  await expect.poll(afterSegment, { interval: 500, message: what }).toBe(true)
}
const text = (data: Uint8Array | null | undefined) => Buffer.from(data ?? []).toString()

soakTest('old and new workers take turns on one run', async () => {
  const handle = await start('first')
  let worker = startWorker(today)
  // The old one begins, the new one goes on, the old one ends it.
  allowed = perSegment
  await decided(handle, worker, 'first segment')
  worker.kill('SIGKILL')
  worker = startWorker(changed)
  allowed = 3 * perSegment
  await decided(handle, worker, 'another segment')
  worker.kill('SIGKILL')
  const last = await project.startWorker()
  allowed = Infinity
  expect(await handle.result()).toMatchObject({ state: 'complete' })
  await decided(handle, process, 'the end')
  last.shutdown()
  await last.stopped
  expect(await refusals(handle)).toEqual([])
  const ledger = project.ledger()
  expect(isBalanced(await ledger.books(1))).toBe(true)
  await ledger.close()
})

test('with a build id a run stays with the build that began it, and new runs go to the current one', async () => {
  const { workflowService } = project.client.connection
  const deploymentName = await project.queue()
  const makeCurrent = async (buildId: string) =>
    await expect
      .poll(
        () =>
          workflowService
            .setWorkerDeploymentCurrentVersion({
              namespace: 'default',
              deploymentName,
              buildId,
            })
            .then(() => 'current')
            .catch((error: unknown) => String(error)),
        untilHung,
      )
      .toBe('current')
  /** The builds whose workers decided in a run. */
  const builds = async (handle: WorkflowHandle) => [
    ...new Set(
      (await events(handle)).flatMap(({ workflowTaskCompletedEventAttributes: done }) =>
        done ? [done.deploymentVersion?.buildId] : [],
      ),
    ),
  ]
  startWorker(today, '--build-id', '1.0')
  await makeCurrent('1.0')
  const first = await start('second')
  allowed = perSegment
  await expect.poll(() => passed).toBe(allowed)
  startWorker(changed, '--build-id', '2.0')
  await makeCurrent('2.0')
  const second = await start('third')
  allowed = Infinity
  expect(await first.result()).toMatchObject({ state: 'complete' })
  expect(await second.result()).toMatchObject({ state: 'complete' })
  expect(await builds(first)).toEqual(['1.0'])
  expect(await builds(second)).toEqual(['2.0'])
  expect([...(await refusals(first)), ...(await refusals(second))]).toEqual([])
})
