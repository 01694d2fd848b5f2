// The baseline: the least a program can do. It reads the CSV, cuts it into batches of 50 and sends them, so many in
// flight, believing whatever comes back. No ledger, no validation, no durability.

import { createReadStream } from 'node:fs'
import { parse } from 'csv-parse'
import { Pool } from 'undici'

/** Sends the file; returns the seconds it took. */
export async function bareLoop(options: {
  file: string
  url: string
  key: string
  inFlight: number
  properties: readonly string[]
  numbers: ReadonlySet<string>
}): Promise<number> {
  const { properties, numbers } = options
  const pool = new Pool(options.url, { connections: options.inFlight })
  const path =
    '/rest/v1/objects/svc_contact/records/batch/upsert/?matching_property=svc_external_id'
  const headers = { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' }
  const send = async (rows: string[][]) => {
    const data = rows.map((cells) => ({
      properties: Object.fromEntries(
        properties.map((name, index) => {
          const cell = cells[index]!
          return [name, name === 'svc_email' ? [cell] : numbers.has(name) ? Number(cell) : cell]
        }),
      ),
    }))
    const answer = await pool.request({
      method: 'POST',
      path,
      headers,
      body: JSON.stringify({ data }),
    })
    const body = (await answer.body.json()) as { summary: { failed: number } }
    if (answer.statusCode !== 200 || body.summary.failed > 0)
      throw new Error(`refused: ${answer.statusCode}`)
  }
  const startedAt = performance.now()
  const inFlight = new Set<Promise<void>>()
  let batch: string[][] = []
  const flush = async () => {
    const sending = send(batch).finally(() => inFlight.delete(sending))
    inFlight.add(sending)
    batch = []
    if (inFlight.size >= options.inFlight) await Promise.race(inFlight)
  }
  const parser = createReadStream(options.file, { highWaterMark: 262_144 }).pipe(
    parse({ from_line: 2 }),
  )
  for await (const row of parser as AsyncIterable<string[]>) {
    batch.push(row)
    if (batch.length === 50) await flush()
  }
  if (batch.length > 0) await flush()
  await Promise.all(inFlight)
  await pool.close()
  return (performance.now() - startedAt) / 1_000
}
