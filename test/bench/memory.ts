// The memory of a whole worker, and what bounding it costs: one import, by turns with Node's own ways, with the flags that workers
// were once started with, and as the command bounds itself. Processor time, because it moves less than the clock.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { silentLogger } from '../../src/core/ports.ts'
import { findTemporalCli } from '../../src/dev/temporal-cli.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { importSync } from '../../workflows/names.ts'
import { taskQueueOf } from '../../workflows/queues.ts'
import { contactsConfig } from '../e2e/contacts.ts'
import { COLUMNS, main, startServiceProcess, writeCsv } from './import-parts.ts'

/** Flags by form. A user's own count, so that those of V8's defaults give Node's own ways. */
const FORMS = {
  node: ['--heap-growing-percent=0', '--semi-space-growth-factor=2'],
  limits: ['--max-old-space-size=256', '--max-semi-space-size=8', '--heap-growing-percent=0'],
  command: [],
} as const
type Form = keyof typeof FORMS

interface Figures {
  readonly restMb: number
  readonly peakMb: number
  readonly cpuSeconds: number
}

const TICKS_A_SECOND = 100

/** Processor time of a process so far, all threads, s. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

const statusMb = (pid: number, name: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) /
  1_024

/** One import by one worker of its own. */
async function measure(form: Form, csv: string, address: string): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const service = await startServiceProcess(0)
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  const configFile = join(dir, 'records-sync.yaml')
  const properties = JSON.stringify(COLUMNS)
  const config = contactsConfig({ service: `"${service.url}"`, properties })
  writeFileSync(configFile, config.replace('./contacts.csv', csv))
  const ledger = openSqliteLedger(join(dir, 'ledger.db'))
  const taskQueue = taskQueueOf(await ledger.project())
  await ledger.close()
  const args = [...FORMS[form], main, '--config', configFile, 'worker']
  const worker = spawn(process.execPath, args, {
    env: { ...process.env, TEMPORAL_ADDRESS: address },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const connection = await Connection.connect({ address })
  try {
    const [line] = (await once(worker.stderr!, 'data')) as [Buffer]
    if (!line.includes('worker_started')) throw new Error(`the worker says: ${line.toString()}`)
    worker.stderr!.resume()
    await wait(1_000)
    const pid = worker.pid!
    const [restMb, before] = [statusMb(pid, 'VmRSS'), cpuSeconds(pid)]
    const workflowId = `bench-${form}-${pid}`
    const client = new Client({ connection })
    await client.workflow.execute(importSync, {
      taskQueue,
      workflowId,
      args: [{ sync: 'contacts' }],
    })
    return { restMb, peakMb: statusMb(pid, 'VmHWM'), cpuSeconds: cpuSeconds(pid) - before }
  } finally {
    await connection.close()
    const gone = once(worker, 'exit')
    worker.kill('SIGKILL')
    await gone
    service.child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
}

const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)]!

/** Prints a line for each form. */
export async function benchMemory({ rows, rounds }: { rows: number; rounds: number }) {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const csv = join(dir, 'contacts.csv')
  await writeCsv(csv, rows, 'a')
  const { path } = await findTemporalCli({ env: process.env, progress: console.error })
  const temporal = await startTemporal({ cliPath: path, headless: true, logger: silentLogger })
  const found: Record<Form, Figures[]> = { node: [], limits: [], command: [] }
  const forms = Object.keys(found) as Form[]
  try {
    for (let round = 0; round < rounds; round++)
      for (const form of forms) {
        console.error(`memory, ${rows} rows, round ${round + 1}: ${form}`)
        found[form].push(await measure(form, csv, temporal.address))
      }
  } finally {
    await temporal.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  console.table(
    forms.map((form) => {
      const of = (figure: (one: Figures, round: number) => number) =>
        median(found[form].map(figure))
      return {
        form,
        rest_mb: Math.round(of(({ restMb }) => restMb)),
        peak_mb: Math.round(of(({ peakMb }) => peakMb)),
        cpu_us_a_row: Math.round(of((one) => (one.cpuSeconds * 1e6) / rows)),
        of_node: of((one, round) => one.cpuSeconds / found.node[round]!.cpuSeconds).toFixed(2),
      }
    }),
  )
}
