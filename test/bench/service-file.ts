// The data file measured: how long a start from it takes, and what each `synchronous` costs.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  contact,
  median,
  post,
  rate,
  residentMb,
  startServer,
  upsertPath,
  type Server,
} from './service-server.ts'

const ROUNDS = 5

/** Each start is a process of its own. */
export async function starts(dir: string, records: number): Promise<void> {
  const file = join(dir, 'start.db')
  const made = await startServer('service', records, file)
  const [seconds, mb] = [[] as number[], [] as number[]]
  await made.stop()
  for (let round = 0; round < ROUNDS; round++) {
    const again = await startServer('service', 0, file)
    seconds.push(again.startMs / 1_000)
    mb.push(residentMb(again))
    await again.stop()
  }
  rmSync(file)
  console.log(
    `\nservice, started from a data file of ${records.toLocaleString('en')} contacts (median of ${ROUNDS}): ${median(seconds).toFixed(1)} s, ${median(mb)} MB`,
  )
}

/** Requests a second by each `synchronous`, by turns: batches of 50, and one record a request. */
export async function synchronousCosts(dir: string, seconds: number): Promise<void> {
  const servers: [string, Server][] = []
  for (const each of ['off', 'normal', 'full'] as const)
    servers.push([each, await startServer('service', 10_000, join(dir, `${each}.db`), each)])
  const writes = (server: Server, size: number, version: number) =>
    rate(seconds, (turn) => {
      const first = (turn % 200) * 50
      const data = Array.from({ length: size }, (_, index) =>
        contact(first + index, version + turn),
      )
      return post(server, upsertPath, JSON.stringify({ data }))
    })
  const found: Record<string, number[]> = {}
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, server] of servers)
      for (const size of [50, 1])
        (found[`${name} ${size}`] ??= []).push(await writes(server, size, round * 1_000_000))
  await Promise.all(servers.map(([, server]) => server.stop()))
  console.log(`\nservice, requests a second by synchronous (median of ${ROUNDS} turns)`)
  for (const [name] of servers) {
    const row = [50, 1].map((size) => {
      const [value, normal] = [median(found[`${name} ${size}`]!), median(found[`normal ${size}`]!)]
      return `batches of ${size} ${value.toFixed(0).padStart(6)} ${(value / normal).toFixed(2)}`
    })
    console.log(`  ${name.padEnd(8)} ${row.join('   ')}`)
  }
}
