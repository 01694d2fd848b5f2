// One server of the service's benchmark, alone in a process: the Records Service, or the least that a Fastify route can
// do with the same requests: parse them, and stringify objects of the same shape.

import Fastify from 'fastify'
import { startService, type Synchronous } from '../../src/service/index.ts'
import type { RecordRepresentation } from '../../src/contract/index.ts'

const [kind, records = '0', data, synchronous] = process.argv.slice(2)
const started = performance.now()

if (kind === 'bare') {
  const sample = await startService({ seedRecords: 100 })
  const page = sample.records('svc_contact')
  await sample.close()
  const fastify = Fastify({ bodyLimit: 4 * 1_024 * 1_024 })
  const pagination = { has_more: true, next_cursor: 'c'.repeat(400) }
  fastify.post('/rest/v1/objects/:type/records/query/', (_request, reply) => {
    void reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify({ data: page, pagination }))
  })
  fastify.post('/rest/v1/objects/:type/records/batch/upsert/', (request, reply) => {
    const { data } = request.body as { data: { properties: RecordRepresentation['properties'] }[] }
    const results = data.map(({ properties }, index) => {
      const record = { ...page[0]!, properties: { ...page[0]!.properties, ...properties } }
      return { index, status: 200, record }
    })
    const summary = { total: data.length, succeeded: data.length, failed: 0 }
    void reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(JSON.stringify({ data: results, summary }))
  })
  const url = await fastify.listen({ port: 0, host: '127.0.0.1' })
  process.stdout.write(`${JSON.stringify({ url, key: 'none', ms: 0 })}\n`)
} else {
  const { url, key } = await startService({
    seedRecords: Number(records),
    ...(data === undefined ? {} : { data }),
    ...(synchronous === undefined ? {} : { synchronous: synchronous as Synchronous }),
  })
  const ms = Math.round(performance.now() - started)
  process.stdout.write(`${JSON.stringify({ url, key, ms })}\n`)
}
