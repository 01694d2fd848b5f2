// The service of the benchmark of scale, alone in a process: it answers batch upserts of contacts, and stores nothing, so that ten
// million rows need no memory for ten million records. Each key is a record of its own, whose id follows from the key.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CONTACT, typeAnswer } from './type-answers.ts'

const UNLIMITED = '1000000000'
const CREATED = '2026-01-01T00:00:00.000Z'

interface Item {
  readonly properties: Readonly<Record<string, unknown>>
}

/** What the service adds to every record. */
const OWN = JSON.stringify({
  svc_created_at: CREATED,
  svc_updated_at: CREATED,
  svc_created_by: 'usr_admin',
}).slice(1)

function upserted(body: string): string {
  const { data } = JSON.parse(body) as { data: readonly Item[] }
  const results = data.map(({ properties }, index) => {
    const id = `rec_${String(properties['svc_external_id']).padStart(24, '0')}`
    const held = `${JSON.stringify(properties).slice(0, -1)},${OWN}`
    return `{"index":${index},"status":201,"record":{"id":"${id}","object_type":"${CONTACT}","properties":${held}}}`
  })
  const summary = { total: data.length, succeeded: data.length, failed: 0 }
  return `{"data":[${results.join(',')}],"summary":${JSON.stringify(summary)}}`
}

/** The body of an answer; null where there is no such operation. */
function answer(request: string, body: string): string | null {
  if (request === `POST /objects/${CONTACT}/records/batch/upsert/`) return upserted(body)
  const types = typeAnswer(request)
  return types === undefined ? null : JSON.stringify({ data: types })
}

function respond(request: IncomingMessage, response: ServerResponse, body: string): void {
  const path = request.url!.replace(/^\/rest\/v1/, '').replace(/[?].*$/, '')
  const found = answer(`${request.method} ${path}`, body)
  const problem = { type: 'about:blank', title: 'Not found', status: 404, code: 'not_found' }
  const bytes = Buffer.from(found ?? JSON.stringify({ ...problem, detail: 'no such operation' }))
  response.writeHead(found === null ? 404 : 200, {
    'content-type': found === null ? 'application/problem+json' : 'application/json',
    'content-length': bytes.length,
    'cache-control': 'no-store',
    'ratelimit-limit': UNLIMITED,
    'ratelimit-remaining': UNLIMITED,
    'svc-request-id': 'req_bench',
  })
  response.end(bytes)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => respond(request, response, Buffer.concat(chunks).toString()))
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
// It ends with whoever started it.
process.stdin.resume().once('end', () => process.exit())
