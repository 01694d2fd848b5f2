// What twenty open pages of a console cost the worker whose run they follow: imports with and without them, by turns, in pairs.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { silentLogger } from '../../src/core/ports.ts'
import { findTemporalCli } from '../../src/dev/temporal-cli.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { importSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { contactsConfig } from '../e2e/contacts.ts'
import { COLUMNS, main, startServiceProcess, writeCsv } from './import-parts.ts'

const PAGES = 20

/** Opens pages as browsers have them: each loaded once, and its stream. */
async function openPages(url: string): Promise<{ events(): number; close(): void }> {
  let events = 0
  const streams: { destroy(): void }[] = []
  for (let page = 0; page < PAGES; page++) {
    await (await fetch(page % 2 === 0 ? url : `${url}/syncs/contacts`)).text()
    const asked = get(`${url}/live`, (answer) =>
      answer.on(
        'data',
        (text: Buffer) => (events += text.toString().split('event: live').length - 1),
      ),
    )
    asked.on('error', () => {})
    streams.push(asked)
  }
  return { events: () => events, close: () => streams.forEach((each) => void each.destroy()) }
}

export async function benchFollowers({
  rows,
  pairs,
}: {
  readonly rows: number
  readonly pairs: number
}): Promise<void> {
  console.error(`followers: imports of ${rows} rows, ${pairs} pairs`)
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const temporal = await startTemporal({
    cliPath: (await findTemporalCli({ env: process.env, progress: console.error })).path,
    headless: true,
    logger: silentLogger,
  })
  const stops: (() => void)[] = []
  try {
    const service = await startServiceProcess(0)
    stops.push(() => service.child.kill('SIGTERM'))
    writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
    const config = join(dir, 'records-sync.yaml')
    const settings = { service: `"${service.url}"`, properties: JSON.stringify(COLUMNS) }
    writeFileSync(config, contactsConfig(settings))
    const ledger = openSqliteLedger(join(dir, 'ledger.db'))
    const queue = taskQueueOf(await ledger.project())
    await ledger.close()
    const env = { ...process.env, TEMPORAL_ADDRESS: temporal.address }
    const of = (...args: string[]) => {
      const child = spawn(process.execPath, [main, '--config', config, '--json', ...args], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stderr.resume()
      stops.push(() => child.kill('SIGKILL'))
      return child
    }
    of('worker').stdout.resume()
    const [line] = (await once(of('console', '--port', '0').stdout, 'data')) as [Buffer]
    const { url } = JSON.parse(line.toString()) as { url: string }
    const connection = await Connection.connect({ address: temporal.address })
    const client = new Client({ connection })
    let version = 0
    const run = async (): Promise<number> => {
      await writeCsv(join(dir, 'contacts.csv'), rows, `v${++version}`)
      const began = Date.now()
      const args = [{ sync: 'contacts', tuning: { in_flight: 8 } }]
      await client.workflow.execute(importSync, {
        taskQueue: queue,
        workflowId: `bench-${version}`,
        args,
      })
      return rows / ((Date.now() - began) / 1_000)
    }
    const followed = async () => {
      const pages = await openPages(url)
      const rate = await run()
      pages.close()
      return { rate, events: pages.events() / PAGES }
    }
    // The first ones fill the service, and warm everything up.
    await run()
    await run()
    const found = []
    for (let pair = 0; pair < pairs; pair++) {
      const isFirst = pair % 2 === 0
      const before = isFirst ? await run() : null
      const { rate, events } = await followed()
      const without = before ?? (await run())
      found.push({
        'rows a second': Math.round(without),
        'with 20 pages': Math.round(rate),
        ratio: Number((rate / without).toFixed(3)),
        'events a page': Math.round(events),
      })
    }
    console.table(found)
    const ratios = found.map(({ ratio }) => ratio).toSorted((a, b) => a - b)
    console.log(`median ratio ${ratios[Math.floor(ratios.length / 2)]}`)
    await connection.close()
  } finally {
    for (const stop of stops) stop()
    await temporal.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}
