// One import of millions of rows, in a process of its own, against a server that stores nothing: what each million takes to stage
// and to push, the memory of the process, and the bytes of the ledger. Then the run's items are pruned while another process
// writes, and a second import shows whether the file's pages are used again.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { openLedger } from '../../src/ledger/open.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/index.ts'
import { peakMbOf } from './fleet-parts.ts'
import { COLUMNS, contactsImport, WORKER_FLAGS } from './import-parts.ts'
import { processorSeconds } from './postgres-server.ts'
import type { Ended, Job } from './sync-run.ts'

const compiled = new URL('./compiled.mjs', import.meta.url).href
const fileOf = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url))
const LOOK_EVERY_MS = 200

export interface ScaleOptions {
  readonly rows: number
  /** Rows of a line of the table. */
  readonly step: number
  /** Whether the keys come in no order. */
  readonly random: boolean
}

/** A permutation of 32 bits: every key is another one, in no order. */
const mixed = (index: number): number => Math.imul(index, 2_654_435_761) >>> 0

async function writeRows(path: string, { rows, random }: ScaleOptions): Promise<void> {
  const out = createWriteStream(path)
  out.write(`${Object.values(COLUMNS).join(',')}\n`)
  for (let index = 1; index <= rows; index++) {
    const id = String(random ? mixed(index) : index).padStart(10, '0')
    const day = String((index % 28) + 1).padStart(2, '0')
    const line = `k-${id},First ${index},Last,Engineer,person${index}@example.com,https://example.com/${index},1980-01-${day},${index % 100},2026-01-${day}T08:00:00Z,"A note, about row ${index}"\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
}

const startProgram = (name: string, ...words: readonly string[]): ChildProcess =>
  spawn(
    process.execPath,
    [
      ...(name === 'sync-run.ts' ? WORKER_FLAGS : []),
      '--import',
      'tsx',
      '--import',
      compiled,
      fileOf(name),
      ...words,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )

const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** How far a run has come. */
class Progress {
  readonly #db: DatabaseSyncInstance
  readonly #staged
  readonly #settled

  /** Of the next run of a ledger, which is made where it is missing. */
  constructor(file: string) {
    openSqliteLedger(file)
      .close()
      .catch(() => {})
    this.#db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    const { last } = this.#db.prepare('SELECT coalesce(max(id), 0) AS last FROM runs').get() as {
      last: number
    }
    this.#staged = this.#db.prepare(
      `SELECT max(id) AS run, rows_staged AS rows FROM runs WHERE id > ${last}`,
    )
    this.#settled = this.#db.prepare(
      'SELECT count(*) AS segments, coalesce(sum(created + updated + rejected + failed), 0) AS rows FROM segments WHERE run = ?',
    )
  }

  /** Null before the run is opened. */
  look(): { staged: number; isDecided: boolean; pushed: number } | null {
    const { run, rows } = this.#staged.get() as { run: number | null; rows: number | null }
    if (run === null) return null
    const settled = this.#settled.get(run) as { segments: number; rows: number }
    return { staged: rows ?? 0, isDecided: settled.segments > 0, pushed: settled.rows }
  }

  close(): void {
    this.#db.close()
  }
}

interface Line {
  readonly step: string
  readonly rows: string
  readonly seconds: number
  readonly 'processor s': number
  readonly 'peak MB': number
  readonly 'ledger bytes a row': number
  readonly 'WAL MB': number
}

/** Makes one import, and watches it. */
async function runImport(
  dir: string,
  job: Job,
  { step }: ScaleOptions,
): Promise<{ ended: Ended; lines: Line[] }> {
  const file = join(dir, 'job.json')
  writeFileSync(file, JSON.stringify(job))
  const progress = new Progress(job.ledger)
  const child = startProgram('sync-run.ts', file)
  let last = ''
  createInterface(child.stdout!).on('line', (text) => {
    last = text
  })
  const over = once(child, 'close') as Promise<[number]>
  let isOver = false
  void over.then(() => {
    isOver = true
  })
  const lines: Line[] = []
  let cpu = 0
  let mark = { at: performance.now(), cpu, next: step }
  const note = (name: string, done: number, rows: number) => {
    const at = performance.now()
    const line = {
      step: name,
      rows: `${(done / 1e6).toFixed(1)} M`,
      seconds: Number(((at - mark.at) / 1_000).toFixed(1)),
      'processor s': Number((cpu - mark.cpu).toFixed(1)),
      'peak MB': peakMbOf(child.pid!),
      'ledger bytes a row': Math.round((bytesOf(job.ledger) + bytesOf(`${job.ledger}-wal`)) / rows),
      'WAL MB': Math.round(bytesOf(`${job.ledger}-wal`) / 1e6),
    }
    lines.push(line)
    console.error(JSON.stringify(line))
    mark = { at, cpu, next: (Math.floor(done / step) + 1) * step }
  }
  let phase: 'stage' | 'decide' | 'push' | 'close' = 'stage'
  while (!isOver) {
    await wait(LOOK_EVERY_MS)
    const now = progress.look()
    cpu = Math.max(cpu, processorSeconds(child.pid!))
    // The start of the process is not measured.
    if (now === null || (now.staged === 0 && lines.length === 0))
      mark = { at: performance.now(), cpu, next: step }
    if (now === null) continue
    const { staged, isDecided, pushed } = now
    if (phase === 'stage') {
      if (staged >= mark.next) note('stage', staged, staged)
      if (isDecided) {
        note('stage, last part, and decide', staged, staged)
        mark = { ...mark, next: step }
        phase = 'push'
      }
    } else if (phase === 'push' && pushed >= Math.min(mark.next, staged)) {
      note('push', pushed, staged)
      if (pushed >= staged) phase = 'close'
    }
  }
  const [code] = await over
  progress.close()
  if (code !== 0) throw new Error(`the import ended with ${code}`)
  const ended = JSON.parse(last) as Ended
  if (ended.state !== 'complete') throw new Error(`the run is ${ended.state}: ${ended.message}`)
  lines.push({
    step: 'close',
    rows: `${(ended.rows / 1e6).toFixed(1)} M`,
    seconds: Number(((performance.now() - mark.at) / 1_000).toFixed(1)),
    'processor s': Number((cpu - mark.cpu).toFixed(1)),
    'peak MB': ended.peakMb,
    'ledger bytes a row': Math.round(bytesOf(job.ledger) / ended.rows),
    'WAL MB': Math.round(bytesOf(`${job.ledger}-wal`) / 1e6),
  })
  return { ended, lines }
}

/** Pages of the file, and those of them that nothing uses. */
function pagesOf(file: string): { pages: number; free: number } {
  const db = new DatabaseSync(file, { readOnly: true })
  const one = (pragma: string) =>
    Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() as Record<string, unknown>)[0])
  const found = { pages: one('page_count'), free: one('freelist_count') }
  db.close()
  return found
}

const quantile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))]!

/** Removes the items of all closed runs, as a worker does when the next run begins, while another process writes. */
async function benchPrune(file: string): Promise<void> {
  const before = new Date().toISOString()
  const writer = startProgram('ledger-writer.ts', file)
  const lines: string[] = []
  const reader = createInterface(writer.stdout!).on('line', (line) => lines.push(line))
  await once(reader, 'line')
  const ALONE_MS = 5_000
  const begun = performance.now()
  await wait(ALONE_MS)
  const ledger = await openLedger({ sqlite: file }, { thread: true })
  const started = performance.now()
  const cpu = process.cpuUsage()
  const removed = await ledger.prune(before)
  const seconds = (performance.now() - started) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  await ledger.close()
  writer.stdin!.end()
  await once(writer, 'close')
  const times = JSON.parse(lines.at(-1)!) as number[]
  // As many writes in the time alone as fit there; the others met the pruning.
  let spent = 0
  const alone = times.filter((ms) => (spent += ms + 6) < started - begun)
  const during = times.slice(alone.length)
  const told = (some: readonly number[]) =>
    `${some.length} writes, median ${quantile(some, 0.5)} ms, 99 of 100 within ${quantile(some, 0.99)} ms, longest ${Math.max(...some)} ms`
  console.log(
    `prune: ${removed} rows of all tables in ${seconds.toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s of processor time`,
  )
  console.log(`another process that writes, alone: ${told(alone)}`)
  console.log(`another process that writes, meanwhile: ${told(during)}`)
}

/** Measures and prints. */
export async function benchScale(options: ScaleOptions): Promise<void> {
  const { rows, random } = options
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-scale-'))
  const server = startProgram('upsert-server.ts')
  try {
    const [chunk] = (await once(server.stdout!, 'data')) as [Buffer]
    const { url } = JSON.parse(chunk.toString()) as { url: string }
    const csv = join(dir, 'contacts.csv')
    await writeRows(csv, options)
    console.error(`import of ${rows} rows, keys ${random ? 'in no order' : 'in order'}`)
    const ledger = join(dir, 'ledger.db')
    const job = jobOf(url, csv, ledger)
    const { ended, lines } = await runImport(dir, job, options)
    console.table(lines)
    console.log(
      `${(ended.rows / ended.seconds).toFixed(0)} rows a second, ${((ended.cpuSeconds * 1e6) / ended.rows).toFixed(1)} µs of processor time a row, peak ${ended.peakMb} MB`,
    )
    const told = (name: string) => {
      const { pages, free } = pagesOf(ledger)
      console.log(
        `${name}: file ${Math.round(bytesOf(ledger) / 1e6)} MB, ${pages} pages, ${free} of them free`,
      )
    }
    told('after the import')
    await benchPrune(ledger)
    told('after prune')
    await writeRows(csv, { ...options, rows: Math.round(rows / 10) })
    await runImport(dir, { ...job, sync: { ...job.sync, name: 'again' } }, options)
    told('after another import of a tenth of the rows')
  } finally {
    server.kill()
    rmSync(dir, { recursive: true, force: true })
  }
}

const jobOf = (url: string, csv: string, ledger: string): Job => ({
  url,
  key: 'bench-key',
  ledger,
  scope: null,
  sync: contactsImport(csv, false),
})
