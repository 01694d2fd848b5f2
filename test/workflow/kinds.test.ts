// A sync of one kind, started as the other: refused before anything is opened, with what to start instead.

import { afterEach, expect, test } from 'vitest'
import { importSync, mirrorSync } from '../../workflows/names.ts'
import { createProject, type Project } from '../e2e/project.ts'

let project: Project
afterEach(async () => await project.stop())

const config = `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  lake: { duckdb: ./lake.duckdb }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
  crm_copy:
    mirror: { from: crm, to: lake }
`

test('an import is not mirrored, and a mirror is not imported', async () => {
  project = await createProject({ config })
  await project.startWorker()
  const started = await Promise.all(
    [
      { workflow: mirrorSync, sync: 'contacts' },
      { workflow: importSync, sync: 'crm_copy' },
    ].map(
      async ({ workflow, sync }) =>
        await project.client.workflow.start(workflow, {
          taskQueue: await project.queue(),
          workflowId: project.workflowId(sync),
          args: [{ sync }],
        }),
    ),
  )
  const [asMirror, asImport] = started.map((handle) => handle.result())
  // The second may fail while the first is waited for.
  asImport!.catch(() => {})
  const refusal = (text: string) => ({
    cause: { cause: { type: 'ConfigInvalid', message: expect.stringContaining(text) } },
  })
  await expect(asMirror).rejects.toMatchObject(
    refusal(
      'it is an import, which the workflow importSync runs; "records-sync run contacts" starts the right one',
    ),
  )
  await expect(asImport).rejects.toMatchObject(
    refusal(
      'it is a mirror, which the workflow mirrorSync runs; "records-sync run crm_copy" starts the right one',
    ),
  )
  const ledger = project.ledger()
  expect(await ledger.runs({ limit: 10 })).toEqual([])
  await ledger.close()
})
