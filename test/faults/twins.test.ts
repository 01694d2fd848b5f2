// Two keys that are one record for the service: the service normalises more than we do. The later row wins, and both are
// flagged.

import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, expect, test } from 'vitest'
import { contactsCsv, createProject, type Project } from '../e2e/project.ts'
import { startProxy } from './proxy.ts'

let project: Project
let proxy: Awaited<ReturnType<typeof startProxy>>
afterEach(async () => {
  proxy.close()
  await project.stop()
})

/** Drops dashes from external ids, as a service that normalises might. */
const withoutDashes = (_: string, body: string) => ({
  pass: body.replaceAll(
    /"svc_external_id":"([^"]*)"/g,
    (__, id: string) => `"svc_external_id":"${id.replaceAll('-', '')}"`,
  ),
})

test('the later of two rows that turn out to be one record is sent once more, last', async () => {
  project = await createProject()
  proxy = await startProxy(project.service.url, withoutDashes)
  project.env['RECORDS_URL'] = proxy.url
  project.write(
    'contacts.csv',
    contactsCsv(400, (index, cells) => {
      if (index === 10) return ['same-1', 'Early', cells[2]!, cells[3]!]
      if (index === 390) return ['sa-me1', 'Late', cells[2]!, cells[3]!]
      return cells
    }),
  )
  await project.startWorker()
  expect(await (await project.start('contacts')).result()).toMatchObject({
    state: 'complete_with_differences',
    // The others are found by the form of their key that the service answered.
    message:
      '399 rows were accepted and read back otherwise: 399 different; 1 row was overwritten by a later row of the same record',
  })
  expect(project.held().get('same1')).toMatchObject({ svc_first_name: 'Late' })
  const db = new DatabaseSync(project.ledgerFile, { readOnly: true })
  expect(
    db.prepare('SELECT ordinal, twin FROM items WHERE twin IS NOT NULL ORDER BY ordinal').all(),
  ).toEqual([
    { ordinal: 10, twin: 390 },
    { ordinal: 390, twin: 10 },
  ])
  db.close()
  // 400 rows are 8 batches; the ninth request is the later twin's.
  expect(project.service.stats().byOperation['batchUpsert']).toBe(9)
})
