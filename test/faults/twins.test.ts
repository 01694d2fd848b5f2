// Two keys that are one record for the service: the service normalises more than we do. The later row wins, and both are
// flagged.

import { DatabaseSync } from '@photostructure/sqlite'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { contactsCsv, createProject, type Project } from '../e2e/project.ts'

let project: Project
let server: Server
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await project.stop()
})

/** A service in front of the real one that drops dashes from external ids, as a normalising service might. */
async function normalising(target: string): Promise<string> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
        .toString()
        .replaceAll(
          /"svc_external_id":"([^"]*)"/g,
          (_, id: string) => `"svc_external_id":"${id.replaceAll('-', '')}"`,
        )
      void (async () => {
        const answer = await fetch(`${target}${request.url}`, {
          method: request.method ?? 'GET',
          headers: {
            authorization: request.headers.authorization ?? '',
            'content-type': 'application/json',
          },
          ...(body === '' ? {} : { body }),
        })
        const text = await answer.text()
        response.writeHead(answer.status, Object.fromEntries(answer.headers))
        response.end(text)
      })()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('the later of two rows that turn out to be one record is sent once more, last', async () => {
  project = await createProject()
  project.env['RECORDS_URL'] = await normalising(project.service.url)
  project.write(
    'contacts.csv',
    contactsCsv(400, (index, cells) => {
      if (index === 10) return ['same-1', 'Early', cells[2]!, cells[3]!]
      if (index === 390) return ['sa-me1', 'Late', cells[2]!, cells[3]!]
      return cells
    }),
  )
  await project.startWorker()
  expect(await (await project.start('contacts')).result()).toMatchObject({ state: 'complete' })
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
