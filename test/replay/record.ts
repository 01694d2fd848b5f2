// Records the histories that test/replay/replay.test.ts replays. Run it on released code, never on the change that the
// histories are to judge: npx vitest run --config test/replay/vitest.record.ts

import { writeFileSync } from 'node:fs'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import type { WorkflowHandle } from '@temporalio/client'
import { afterEach, expect, test } from 'vitest'
import { contactsCsv, createProject, type Project } from '../e2e/project.ts'

let project: Project
afterEach(async () => await project.stop())

const save = async (name: string, handle: WorkflowHandle) => {
  const path = new URL(`./${name}.json`, import.meta.url)
  const json = historyToJSON(await handle.fetchHistory())
  // The machine's name is nobody's business.
  writeFileSync(path, `${json.replaceAll(/\d+@[\w.-]+/g, 'worker')}\n`)
}

test('an import that completes with rejects, in three segments', async () => {
  project = await createProject()
  project.write(
    'contacts.csv',
    contactsCsv(2_500, (index, cells) =>
      index === 5 ? [cells[0]!, cells[1]!, cells[2]!, 'x'] : cells,
    ),
  )
  await project.startWorker()
  const handle = await project.start('contacts')
  await handle.result()
  await save('import-complete', handle)
})

test('an import that is cancelled', async () => {
  project = await createProject({ service: { latencyMs: 100 } })
  project.write('contacts.csv', contactsCsv(2_500))
  await project.startWorker()
  const handle = await project.start('contacts')
  await expect.poll(() => project.held().size, { timeout: 30_000 }).toBeGreaterThan(0)
  await handle.cancel()
  await handle.result().catch(() => {})
  await save('import-cancelled', handle)
})

test('an import whose mapping is hopeless', async () => {
  project = await createProject()
  project.write('contacts.csv', 'id,first_name\nc-1,Ada\n')
  await project.startWorker()
  const handle = await project.start('contacts')
  await handle.result().catch(() => {})
  await save('import-failed', handle)
})
