// The service measured. Throughput: requests per second of one server process, against a bare Fastify route in the same
// run, by turns. Scale: what single requests cost with 10,000 and with 1,000,000 contacts; memory; the start from a file.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  contact,
  json,
  median,
  post,
  rate,
  residentMb,
  startServer,
  upsertPath,
  type Server,
} from './service-server.ts'
import { starts, synchronousCosts } from './service-file.ts'
import { waits } from './service-waits.ts'

async function throughput(dir: string, seconds: number): Promise<void> {
  const bare = await startServer('bare')
  const memory = await startServer('service', 10_000)
  const durable = await startServer('service', 10_000, join(dir, 'throughput.db'))
  const query = JSON.stringify({ limit: 100 })
  const read = (server: Server) => rate(seconds, () => post(server, 'query/', query))
  let version = 0
  const upsert = (server: Server) => {
    version += 1
    return rate(seconds, (turn) => {
      const first = (turn % 200) * 50
      const data = Array.from({ length: 50 }, (_, index) => contact(first + index, version + turn))
      return post(server, upsertPath, JSON.stringify({ data }))
    })
  }
  const figures: Record<string, number[]> = {}
  const note = (name: string, value: number) => (figures[name] ??= []).push(value)
  for (let round = 0; round < 5; round++) {
    note('bare read', await read(bare))
    note('read', await read(memory))
    note('bare upsert', await upsert(bare))
    note('upsert in memory', await upsert(memory))
    note('upsert durable', await upsert(durable))
  }
  await Promise.all([bare.stop(), memory.stop(), durable.stop()])
  const of = (name: string) => median(figures[name]!)
  console.log('\nservice, requests a second (median of 5 turns), and the share of the bare route')
  for (const [name, base] of [
    ['read', 'bare read'],
    ['upsert in memory', 'bare upsert'],
    ['upsert durable', 'bare upsert'],
  ] as const) {
    const row = `${of(name).toFixed(0).padStart(6)} of ${of(base).toFixed(0).padStart(6)}`
    console.log(`  ${name.padEnd(18)} ${row}  ${(of(name) / of(base)).toFixed(2)}`)
  }
}

async function timed(times: number, send: () => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (let turn = 0; turn < times; turn++) {
    const started = performance.now()
    await send()
    took.push(performance.now() - started)
  }
  return median(took)
}

async function costs(records: number, data?: string): Promise<Record<string, number>> {
  const server = await startServer('service', records, data)
  // Seed contacts were made one second apart.
  const at = (share: number) =>
    new Date(Date.UTC(2026, 0, 1) + records * share * 1_000).toISOString()
  const sorted = (share: number) => ({
    filter: { property: 'svc_updated_at', op: 'gte', value: at(share) },
    sorts: [{ property: 'svc_updated_at', direction: 'asc' }],
  })
  let cursor = ''
  for (let page = 0; page < 95; page++) {
    const body = cursor === '' ? {} : { cursor }
    cursor = (await json(server, 'query/', { limit: 100, ...body })).pagination.next_cursor
  }
  const firstSort = await timed(1, () => json(server, 'query/', sorted(0.5)))
  const ids = Array.from({ length: 100 }, (_, i) => `seed-${1 + i * Math.floor(records / 101)}`)
  const result = {
    'start, s': server.startMs / 1_000,
    'deep page, ms': await timed(50, () => json(server, 'query/', { cursor })),
    'first sort, ms': firstSort,
    'incremental query, ms': await timed(50, () => json(server, 'query/', sorted(0.5))),
    'in filter on a unique property, ms': await timed(50, () =>
      json(server, 'query/', { filter: { property: 'svc_external_id', op: 'in', value: ids } }),
    ),
    'equality on an unindexed property, ms': await timed(5, () =>
      json(server, 'query/', { filter: { property: 'svc_first_name', op: 'eq', value: 'Nobody' } }),
    ),
    'count by group, ms': await timed(5, () =>
      json(server, 'aggregate/', {
        aggregations: [{ op: 'count' }],
        group_by: ['svc_lifecycle_stage'],
      }),
    ),
    'batch upsert of 50, ms': await timed(50, () =>
      json(server, upsertPath, { data: Array.from({ length: 50 }, (_, i) => contact(i, i)) }),
    ),
    'resident memory, MB': residentMb(server),
  }
  await server.stop()
  return result
}

async function scale(dir: string, large: number): Promise<void> {
  const small = await costs(10_000)
  const big = await costs(large)
  const file = join(dir, 'scale.db')
  const made = await costs(large, file)
  const again = await startServer('service', 0, file)
  console.log(`\nservice, ${large.toLocaleString('en')} contacts against 10,000`)
  for (const name of Object.keys(small)) {
    const [few, many] = [small[name]!, big[name]!]
    console.log(
      `  ${name.padEnd(40)} ${few.toFixed(1).padStart(9)} ${many.toFixed(1).padStart(9)}  ${(many / few).toFixed(2)}`,
    )
  }
  console.log(`  made in a data file, s ${made['start, s']!.toFixed(1)}`)
  console.log(
    `  started again from it, s ${(again.startMs / 1_000).toFixed(1)}, ${residentMb(again)} MB`,
  )
  await again.stop()
}

export async function benchService(options: {
  seconds: number
  large: number
  words: readonly string[]
}): Promise<void> {
  const { seconds, large } = options
  const parts = {
    throughput: (dir: string) => throughput(dir, seconds),
    scale: (dir: string) => scale(dir, large),
    waits: () => waits(large),
    start: (dir: string) => starts(dir, large),
    synchronous: (dir: string) => synchronousCosts(dir, seconds),
  }
  const named = Object.keys(parts).some((part) => options.words.includes(part))
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  try {
    for (const [name, part] of Object.entries(parts))
      if (!named || options.words.includes(name)) await part(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
