// A server of the service's benchmark in a process of its own, and requests to it.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import type { Synchronous } from '../../src/service/index.ts'

const program = fileURLToPath(new URL('./service-process.ts', import.meta.url))

export interface Server {
  readonly child: ChildProcess
  readonly pool: Pool
  readonly key: string
  /** Until it listened. */
  readonly startMs: number
  stop(): Promise<void>
}

export async function startServer(
  kind: 'service' | 'bare',
  records = 0,
  data?: string,
  synchronous?: Synchronous,
): Promise<Server> {
  const args = ['--max-old-space-size=8192', '--import', 'tsx', program, kind, String(records)]
  const file = [data, synchronous].filter((each) => each !== undefined)
  const child = spawn(process.execPath, [...args, ...file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  const { url, key, ms } = JSON.parse(line) as { url: string; key: string; ms: number }
  const pool = new Pool(url, { connections: 8 })
  const stop = async () => {
    await pool.destroy()
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  return { child, pool, key, startMs: ms, stop }
}

export async function post(server: Server, path: string, body: string): Promise<Buffer> {
  const answer = await server.pool.request({
    method: 'POST',
    path: `/rest/v1/objects/svc_contact/records/${path}`,
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body,
  })
  const bytes = Buffer.from(await answer.body.arrayBuffer())
  if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${bytes.toString()}`)
  return bytes
}

export const json = async (server: Server, path: string, body: object) =>
  JSON.parse((await post(server, path, JSON.stringify(body))).toString()) as {
    data: { properties: Record<string, unknown> }[]
    pagination: { next_cursor: string }
  }

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

export const residentMb = (server: Server): number =>
  Math.round(
    Number(
      /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1] ?? 0,
    ) / 1_024,
  )

/** Requests per second with eight in flight. */
export async function rate(
  seconds: number,
  send: (turn: number) => Promise<unknown>,
): Promise<number> {
  const until = performance.now() + seconds * 1_000
  const started = performance.now()
  let turn = 0
  let done = 0
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (performance.now() < until) {
        await send((turn += 1))
        done += 1
      }
    }),
  )
  return (done * 1_000) / (performance.now() - started)
}

export function contact(index: number, version: number) {
  return {
    properties: {
      svc_external_id: `K-${index}`,
      svc_first_name: `First ${index}`,
      svc_last_name: `Last ${version}`,
      svc_job_title: 'Engineer',
      svc_email: [`person${index}@example.com`],
      svc_website: `https://example.com/${index}`,
      svc_birthday: '1980-01-07',
      svc_score: index % 100,
      svc_last_contacted_at: '2026-01-07T08:00:00.000Z',
      svc_notes: `A note about row ${index}`,
    },
  }
}

export const upsertPath = 'batch/upsert/?matching_property=svc_external_id'
