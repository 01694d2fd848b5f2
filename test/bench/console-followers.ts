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
import { processorSeconds } from './postgres-server.ts'
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
  return {
    events: () => events,
    close() {
      for (const each of streams) each.destroy()
    },
  }
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
    const worker = of('worker')
    worker.stdout.resume()
    const pages = of('console', '--port', '0')
    const [line] = (await once(pages.stdout, 'data')) as [Buffer]
    const { url } = JSON.parse(line.toString()) as { url: string }
    const connection = await Connection.connect({ address: temporal.address })
    const client = new Client({ connection })
    let version = 0
    const run = async (): Promise<{ rate: number; workerUs: number; consoleShare: number }> => {
      await writeCsv(join(dir, 'contacts.csv'), rows, `v${++version}`)
      const began = Date.now()
      const spent = [worker, pages].map(({ pid }) => processorSeconds(pid!))
      const args = [{ sync: 'contacts', tuning: { in_flight: 8 } }]
      await client.workflow.execute(importSync, {
        taskQueue: queue,
        workflowId: `bench-${version}`,
        args,
      })
      const seconds = (Date.now() - began) / 1_000
      const [ofWorker = 0, ofConsole = 0] = [worker, pages].map(
        ({ pid }, at) => processorSeconds(pid!) - spent[at]!,
      )
      return {
        rate: rows / seconds,
        workerUs: (ofWorker / rows) * 1e6,
        consoleShare: ofConsole / seconds,
      }
    }
    const followed = async () => {
      const open = await openPages(url)
      const measured = await run()
      open.close()
      return { ...measured, events: open.events() / PAGES }
    }
    // The first ones fill the service, and warm everything up.
    await run()
    await run()
    const found = []
    for (let pair = 0; pair < pairs; pair++) {
      const isFirst = pair % 2 === 0
      const before = isFirst ? await run() : null
      const seen = await followed()
      const without = before ?? (await run())
      found.push({
        'rows a second': Math.round(without.rate),
        'with 20 pages': Math.round(seen.rate),
        ratio: Number((seen.rate / without.rate).toFixed(3)),
        'worker µs a row': Math.round(without.workerUs),
        'µs with 20 pages': Math.round(seen.workerUs),
        'console, share of a core': Number(seen.consoleShare.toFixed(3)),
        'events a page': Math.round(seen.events),
      })
    }
    console.table(found)
    const mean = (ratios: readonly number[]) =>
      Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length).toFixed(3)
    console.log(`rows a second, mean ratio ${mean(found.map(({ ratio }) => ratio))}`)
    const processor = found.map((each) => each['µs with 20 pages'] / each['worker µs a row'])
    console.log(`processor time of the worker a row, mean ratio ${mean(processor)}`)
    await connection.close()
  } finally {
    for (const stop of stops) stop()
    await temporal.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}
