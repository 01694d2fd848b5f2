// `kill -9` of the service at random moments, while batches, links and deletes arrive. After each restart it holds every
// write that it acknowledged, and of the one that it did not, all or nothing.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { HANG_MS } from '../hang.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { seededRandom } from '../../src/service/limits/faults.ts'
import { mintStoredKey } from '../../src/service/index.ts'
import { main } from '../e2e/project.ts'
import { rounds, seed } from '../runs.ts'

const kills = rounds(1, 100)
const batchSize = 20

let dir: string
let child: ChildProcess | undefined
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-service-kill-'))
})
afterEach(() => {
  child?.kill('SIGKILL')
  rmSync(dir, { recursive: true })
})

async function startChild(data: string): Promise<string> {
  child = spawn(process.execPath, [main, '--json', 'service', '--port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  return (JSON.parse(line) as { url: string }).url
}

interface Held {
  readonly id: string
  readonly properties: { svc_external_id: string; svc_score: number }
}

test(
  `${kills} kills at random moments (RECORDS_SYNC_SEED=${seed}) lose nothing that was acknowledged`,
  async () => {
    const data = join(dir, 'crm.db')
    const { token } = mintStoredKey(data, { reach: 'org' })
    const next = seededRandom(seed)
    /** The version of each batch that was acknowledged, and the one in flight at the kill. */
    const acknowledged = new Map<number, number>()
    const deleted = new Set<string>()
    let version = 0
    let unanswered = 0
    for (let killed = 0; killed < kills; killed++) {
      const url = await startChild(data)
      const send = async (method: string, path: string, body?: object) => {
        const response = await fetch(`${url}/rest/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(body ? { body: JSON.stringify(body) } : {}),
        })
        const text = await response.text()
        expect(response.status, text).toBeLessThan(300)
        return text === '' ? null : JSON.parse(text)
      }
      const inFlight = new Map<number, number>()
      const dying = new Set<string>()
      const upsert = async (batch: number) => {
        const mine = (version += 1)
        inFlight.set(batch, mine)
        const items = Array.from({ length: batchSize }, (_, index) => ({
          properties: { svc_external_id: `${batch}-${index}`, svc_score: mine },
        }))
        const path = '/objects/svc_contact/records/batch/upsert/?matching_property=svc_external_id'
        const answer = await send('POST', path, { data: items })
        expect(answer.summary.failed).toBe(0)
        acknowledged.set(batch, mine)
        timer ??= setTimeout(() => child!.kill('SIGKILL'), afterMs)
        inFlight.delete(batch)
        for (let index = 0; index < batchSize; index++) deleted.delete(`${batch}-${index}`)
        return answer.data as { record: Held }[]
      }
      // At a random moment after the first acknowledgement of this life: before it there is nothing that could be lost.
      const afterMs = next() * 450
      let timer: NodeJS.Timeout | undefined
      const gone = once(child!, 'close')
      // One writer, so that what is in flight at the kill is known; it ends when its request fails.
      try {
        for (let turn = 0; turn < 100_000; turn++) {
          const [first] = await upsert(Math.floor(next() * 10))
          if (next() < 0.3) {
            const name = first!.record.properties.svc_external_id
            dying.add(name)
            await send('DELETE', `/objects/svc_contact/records/${first!.record.id}/`)
            deleted.add(name)
            dying.delete(name)
          }
        }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error
        unanswered += 1
      }
      clearTimeout(timer)
      await gone

      const again = await startChild(data)
      const held = new Map<string, number>()
      let cursor: string | null = null
      do {
        const response: Response = await fetch(
          `${again}/rest/v1/objects/svc_contact/records/query/`,
          {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            body: JSON.stringify(cursor === null ? {} : { cursor }),
          },
        )
        const page = (await response.json()) as {
          data: Held[]
          pagination: { next_cursor: string | null }
        }
        for (const { properties } of page.data) {
          expect(held.has(properties.svc_external_id)).toBe(false)
          held.set(properties.svc_external_id, properties.svc_score)
        }
        cursor = page.pagination.next_cursor
      } while (cursor !== null)
      for (const [batch, acked] of acknowledged) {
        const versions = new Set<number>()
        for (let index = 0; index < batchSize; index++) {
          const name = `${batch}-${index}`
          const value = held.get(name)
          if (value !== undefined) versions.add(value)
          else expect(deleted.has(name) || dying.has(name), `${name} is lost`).toBe(true)
          if (value !== undefined && deleted.has(name)) {
            expect(value, `${name} came back`).toBe(inFlight.get(batch))
          }
        }
        expect(versions.size, `batch ${batch} is torn`).toBe(1)
        expect([acked, inFlight.get(batch)]).toContain([...versions][0])
        // What was not acknowledged and is there counts from now on.
        acknowledged.set(batch, [...versions][0]!)
        for (const name of dying) if (!held.has(name)) deleted.add(name)
        for (const name of deleted) if (held.has(name)) deleted.delete(name)
      }
      child!.kill('SIGKILL')
      await once(child!, 'close')
    }
    expect(unanswered).toBe(kills)
    expect(acknowledged.size).toBeGreaterThan(0)
  },
  HANG_MS * (2 + kills),
)
