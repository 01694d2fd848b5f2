// What it costs to know what records held: imports with `keep_before` and with `on_conflict: theirs` against the same without, by turns, each
// process with a service and a ledger of its own; and an undo of creations, in requests, seconds and memory.

import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImportConfig } from '../../config/index.ts'
import { startService } from '../../src/service/index.ts'
import { contactsImport, WORKER_FLAGS, writeCsv } from './import-parts.ts'
import { runProgram, withServiceProcess } from './import-process.ts'
import type { Ended, Job } from './sync-run.ts'

const PARTS = ['speed', 'undo'] as const
const LATENCY_MS = 20

const root = fileURLToPath(new URL('../../', import.meta.url))
const compiled = new URL('./compiled.mjs', import.meta.url).href
const program = fileURLToPath(new URL('./sync-run.ts', import.meta.url))
const FLAGS = [...WORKER_FLAGS, '--import', `${compiled}?root=${encodeURIComponent(root)}`] as const

const KINDS = {
  without: {},
  keep_before: { keep_before: true },
  'on_conflict: theirs': { on_conflict: 'theirs' },
} as const satisfies Record<string, Partial<ImportConfig>>
type Kind = keyof typeof KINDS

/** Rows that are new at the service, then the same rows with another value in each. */
const FILES = ['new', 'changed'] as const

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

interface Measured extends Ended {
  /** By which the ledger grew, its log included. */
  readonly bytes: number
}

const ledgerBytes = (ledger: string): number =>
  ['', '-wal'].reduce(
    (sum, end) => sum + (statSync(`${ledger}${end}`, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )

/** One run in a process of its own. */
async function measureRun(job: Job, place: string): Promise<Measured> {
  const before = ledgerBytes(job.ledger)
  const ended = (await runProgram(FLAGS, program, job, place)) as Ended
  if (ended.state !== 'complete') throw new Error(`the run is ${ended.state}: ${ended.message}`)
  return { ...ended, bytes: ledgerBytes(job.ledger) - before }
}

/** An import of a new file and of a changed one, into a service and a ledger of their own. */
const measureKind = (
  kind: Kind,
  dir: string,
): Promise<Readonly<Record<(typeof FILES)[number], Measured>>> =>
  withServiceProcess(
    { latencyMs: LATENCY_MS, wide: false },
    { csv: '', dir },
    async (at, place) => {
      const csv = join(place, 'contacts.csv')
      const { url, key } = at
      const plain = contactsImport(csv, false)
      const sync = { ...plain, import: { ...plain.import, ...KINDS[kind] } }
      const job: Job = { url, key, ledger: join(place, 'ledger.db'), scope: null, sync }
      const run = async (file: string) => {
        copyFileSync(join(dir, `${file}.csv`), csv)
        return await measureRun(job, place)
      }
      return { new: await run('new'), changed: await run('changed') }
    },
  )

async function benchSpeed(dir: string, rows: number, rounds: number): Promise<void> {
  for (const file of FILES) await writeCsv(join(dir, `${file}.csv`), rows, file)
  const turns: Record<Kind, Awaited<ReturnType<typeof measureKind>>>[] = []
  const names = Object.keys(KINDS) as Kind[]
  for (let round = 0; round < rounds; round++) {
    const turn: Partial<(typeof turns)[number]> = {}
    for (const kind of names) turn[kind] = await measureKind(kind, dir)
    turns.push(turn as (typeof turns)[number])
    console.error(`  turn ${round + 1} of ${rounds}, load ${loadavg()[0]!.toFixed(1)}`)
  }
  const lines = FILES.flatMap((file) =>
    names.map((kind) => {
      const of = (figure: (run: Measured, without: Measured) => number) =>
        median(turns.map((turn) => figure(turn[kind][file], turn.without[file])))
      const ratios = turns.map((turn) => turn.without[file].seconds / turn[kind][file].seconds)
      return {
        rows: file,
        kind,
        rows_s: Math.round(of((run) => run.rows / run.seconds)),
        of_without: median(ratios).toFixed(2),
        lowest: Math.min(...ratios).toFixed(2),
        highest: Math.max(...ratios).toFixed(2),
        cpu_us_a_row: of((run) => (run.cpuSeconds * 1e6) / run.rows).toFixed(1),
        peak_mb: of((run) => run.peakMb),
        ledger_bytes_a_row: Math.round(of((run) => run.bytes / run.rows)),
      }
    }),
  )
  console.log(`import of ${rows} rows, ${LATENCY_MS} ms a request`)
  console.table(lines)
}

async function benchUndo(dir: string, rows: number, rounds: number): Promise<void> {
  const csv = join(dir, 'undone.csv')
  await writeCsv(csv, rows, 'a')
  const lines: Record<string, string | number>[] = []
  for (let round = 0; round < rounds; round++) {
    const place = mkdtempSync(join(dir, 'undo-'))
    const service = await startService({ latencyMs: LATENCY_MS })
    try {
      const { url, key } = service
      const plain = contactsImport(csv, false)
      const sync = { ...plain, import: { ...plain.import, keep_before: true } }
      const job: Job = { url, key, ledger: join(place, 'ledger.db'), scope: null, sync }
      const first = await measureRun(job, place)
      const before = service.stats()
      const from = { requests: before.requests, ...before.byOperation }
      const undone = await measureRun({ ...job, undoes: 1 }, place)
      const { requests, byOperation } = service.stats()
      const of = (name: string) =>
        (byOperation[name] ?? 0) - ((from as Record<string, number>)[name] ?? 0)
      if ([...service.records('svc_contact')].length > 0) throw new Error('a record is left')
      lines.push({
        records: rows,
        requests: requests - from.requests,
        deletes: of('batchDelete'),
        look_ups: of('queryRecords'),
        seconds: undone.seconds.toFixed(1),
        of_first_run: (undone.seconds / first.seconds).toFixed(2),
        cpu_us_a_record: ((undone.cpuSeconds * 1e6) / rows).toFixed(1),
        peak_mb: undone.peakMb,
        load: loadavg()[0]!.toFixed(1),
      })
    } finally {
      await service.close()
      rmSync(place, { recursive: true, force: true })
    }
  }
  console.log(`undo of ${rows} creations, ${LATENCY_MS} ms a request`)
  console.table(lines)
}

/** Measures and prints. `words` choose among the parts; none of them means all. */
export async function benchImages(options: {
  /** Where RECORDS_SYNC_BENCH_RECORDS names no other number. */
  readonly rows: number
  readonly rounds: number
  readonly words: readonly string[]
}): Promise<void> {
  const { rounds, words } = options
  const rows = Number(process.env['RECORDS_SYNC_BENCH_RECORDS'] ?? options.rows)
  const isAll = !PARTS.some((part) => words.includes(part))
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  try {
    if (isAll || words.includes('speed')) await benchSpeed(dir, rows, rounds)
    if (isAll || words.includes('undo')) await benchUndo(dir, rows, rounds)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
