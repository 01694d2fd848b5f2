// How long others wait while one request looks at every record: a record is read every 4 ms meanwhile, and what counts is
// the longest time that one of these reads took. `alone` is the same with nothing else to do.

import { setTimeout as after } from 'node:timers/promises'
import { json, median, startServer, type Server } from './service-server.ts'

const EVERY_MS = 4
const ROUNDS = 5

/** Milliseconds of a read of one record. */
async function readOne(server: Server, id: string): Promise<number> {
  const started = performance.now()
  const answer = await server.pool.request({
    method: 'GET',
    path: `/rest/v1/objects/svc_contact/records/${id}/`,
    headers: { authorization: `Bearer ${server.key}` },
  })
  await answer.body.dump()
  if (answer.statusCode !== 200) throw new Error(`A read of one record was ${answer.statusCode}`)
  return performance.now() - started
}

interface Waits {
  readonly tookMs: number
  readonly longestMs: number
}

async function waitsDuring(
  server: Server,
  id: string,
  work: () => Promise<unknown>,
): Promise<Waits> {
  const started = performance.now()
  let tookMs = 0
  const big = work().finally(() => (tookMs = performance.now() - started))
  const reads: Promise<number>[] = []
  do {
    reads.push(readOne(server, id))
    await after(EVERY_MS)
  } while (tookMs === 0)
  await big
  return { tookMs, longestMs: Math.max(...(await Promise.all(reads))) }
}

/** Each with a server of its own, because the first sort is the first once only. */
export async function waits(records: number): Promise<void> {
  const found: Record<string, Waits[]> = {}
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServer('service', records)
    const [first] = (await json(server, 'query/', { limit: 1 })).data as unknown as { id: string }[]
    const note = async (name: string, work: () => Promise<unknown>) =>
      (found[name] ??= []).push(await waitsDuring(server, first!.id, work))
    const groups = (offset: number) => () =>
      json(server, 'aggregate/', {
        aggregations: [{ op: 'count' }],
        group_by: ['svc_external_id'],
        offset,
      })
    const sorted = (property: string) => () =>
      json(server, 'query/', { sorts: [{ property, direction: 'asc' }] })
    const equal = { property: 'svc_first_name', op: 'eq', value: 'None' }
    await note('alone', () => after(2_000))
    await note('first page of as many groups', groups(0))
    await note('the page after it', groups(100))
    await note('a page in the middle', groups(records / 2))
    await note('first sort by a time', sorted('svc_updated_at'))
    await note('first sort by a text', sorted('svc_external_id'))
    await note('first sort by an amount', sorted('svc_lifetime_value'))
    await note('equality without an index', () => json(server, 'query/', { filter: equal }))
    await server.stop()
  }
  const heading = `service, ${records.toLocaleString('en')} contacts: what a request takes, and what others wait at most`
  console.log(`\n${heading} (ms, medians of ${ROUNDS})`)
  for (const [name, each] of Object.entries(found)) {
    const took = median(each.map(({ tookMs }) => tookMs)).toFixed(0)
    const longest = each.map(({ longestMs }) => longestMs)
    console.log(
      `  ${name.padEnd(30)} ${took.padStart(7)} ${median(longest).toFixed(0).padStart(6)}  (worst of all ${Math.max(...longest).toFixed(0)})`,
    )
  }
}
