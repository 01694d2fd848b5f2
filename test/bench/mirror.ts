// The mirror measured. Speed: rows per second of a complete pull, without a rate limit, against the bare loop in the same
// run, by turns, each in a process of its own. Size: peak memory of a pull, and the requests of the runs after it. What
// answers both is a server of pages that is faster than either.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import type { StreamBooks } from '../../src/ledger/ledger.ts'
import type { MirrorPlace } from '../mirror-oracle.ts'
import { WORKER_FLAGS } from './import-parts.ts'
import type { Figures } from './mirror-figures.ts'
import type { Control } from './pages-server.ts'
import { processorSeconds, startBenchServer, type BenchServer } from './postgres-server.ts'

const PARTS = ['duckdb', 'postgres', 'memory', 'incremental'] as const
const WAREHOUSES = ['duckdb', 'postgres'] as const
type WarehouseKind = (typeof WAREHOUSES)[number]
type MirrorFigures = Figures & { readonly books: StreamBooks }
/** With the processor time of the warehouse's server, where it has one. */
type SpeedFigures = Figures & { readonly serverSeconds: number }

const compiled = new URL('./compiled.mjs', import.meta.url).href

const start = (program: string, args: readonly string[], flags: readonly string[] = []) =>
  spawn(
    process.execPath,
    [
      ...flags,
      '--import',
      'tsx',
      '--import',
      compiled,
      fileURLToPath(new URL(program, import.meta.url)),
      ...args,
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )

/** Runs a program to its end; its last line is what it measured. */
async function measured<Result extends Figures>(
  program: string,
  args: readonly string[],
  flags: readonly string[] = [],
): Promise<Result> {
  const child = start(program, args, flags)
  let last = ''
  createInterface(child.stdout).on('line', (line) => {
    last = line
  })
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
  return JSON.parse(last) as Result
}

/** A server of pages of so many records. */
class PagesServer {
  readonly url: string
  readonly #child: ChildProcess

  static async start(records: number): Promise<PagesServer> {
    const child = start('./pages-server.ts', [String(records)])
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    return new PagesServer((JSON.parse(line) as { url: string }).url, child)
  }

  constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#child = child
  }

  /** What was changed and deleted since it began. Returns the requests it has seen. */
  async control(control?: Control): Promise<number> {
    const answer = await fetch(
      `${this.url}/control/`,
      control && { method: 'POST', body: JSON.stringify(control) },
    )
    return ((await answer.json()) as { requests: number }).requests
  }

  /** Pages a second that it gives to eight who throw them away. */
  async rate(seconds: number): Promise<number> {
    const pool = new Pool(this.url, { connections: 8 })
    const startedAt = performance.now()
    let pages = 0
    const lane = async () => {
      while (performance.now() - startedAt < seconds * 1_000) {
        const answer = await pool.request({
          method: 'POST',
          path: '/rest/v1/objects/svc_contact/records/query/',
          body: JSON.stringify({ sorts: [{ property: 'svc_created_at', direction: 'asc' }] }),
        })
        for await (const _ of answer.body) continue
        pages++
      }
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    const took = (performance.now() - startedAt) / 1_000
    await pool.close()
    return pages / took
  }

  async stop(): Promise<void> {
    this.#child.stdin!.end()
    await once(this.#child, 'close')
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
const perSecond = ({ rows, seconds }: Figures): number => rows / seconds
const whole = (value: number) => Math.round(value)

/** A new folder, and a place in a new warehouse of that kind; `use` has both to itself. */
async function inNewPlace<Result>(
  kind: WarehouseKind,
  postgres: BenchServer | null,
  use: (place: MirrorPlace, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const url = kind === 'postgres' ? await postgres!.newDatabase() : null
  try {
    const place =
      url === null
        ? { duckdb: join(folder, 'warehouse.duckdb'), folder }
        : { postgres: url, folder }
    return await use(place, folder)
  } finally {
    if (url !== null) await postgres!.drop(url)
    rmSync(folder, { recursive: true, force: true })
  }
}

const targetOf = (place: MirrorPlace) => ('duckdb' in place ? place.duckdb : place.postgres)

/** The bare loop, our pull, and our pull in as much memory as a worker has; `rounds` times by turns. */
async function speed(
  kind: WarehouseKind,
  postgres: BenchServer | null,
  { rows, rounds }: { rows: number; rounds: number },
): Promise<void> {
  const server = await PagesServer.start(rows)
  try {
    await server.rate(0.5)
    const pages = await server.rate(2)
    const runs = {
      bare: [] as SpeedFigures[],
      pull: [] as SpeedFigures[],
      worker: [] as SpeedFigures[],
    }
    const ofServer = () => (kind === 'postgres' ? processorSeconds(postgres!.pid) : 0)
    const note = async (name: keyof typeof runs, run: () => Promise<Figures>) => {
      const before = ofServer()
      const figures = await run()
      runs[name].push({ ...figures, serverSeconds: ofServer() - before })
      console.error(`  ${name} ${whole(perSecond(figures))} rows/s`)
    }
    for (let round = 1; round <= rounds; round++) {
      console.error(`mirror of ${rows} records into ${kind}, round ${round} of ${rounds}`)
      await inNewPlace(kind, postgres, async (place) => {
        const args = [kind, server.url, targetOf(place)]
        await note('bare', () => measured('./mirror-bare.ts', args))
      })
      for (const [name, flags] of [
        ['pull', []],
        ['worker', WORKER_FLAGS],
      ] as const)
        await inNewPlace(kind, postgres, async (place, folder) => {
          const args = [server.url, folder, JSON.stringify(place)]
          await note(name, () => measured('./mirror-run.ts', args, flags))
        })
    }
    const bare = median(runs.bare.map(perSecond))
    console.log(
      `\nmirror, ${kind}, ${rows} records; the server alone: ${whole(pages)} pages a second`,
    )
    console.table(
      Object.fromEntries(
        Object.entries(runs).map(([name, figures]) => {
          const rate = median(figures.map(perSecond))
          const perRow = (seconds: (one: SpeedFigures) => number) =>
            (median(figures.map((one) => seconds(one) / one.rows)) * 1e6).toFixed(1)
          return [
            name,
            {
              rows_s: whole(rate),
              of_bare: (rate / bare).toFixed(2),
              cpu_us_per_row: perRow((one) => one.cpuSeconds),
              server_us_per_row: perRow((one) => one.serverSeconds),
              peak_mb: Math.max(...figures.map(({ peakMb }) => peakMb)),
            },
          ]
        }),
      ),
    )
  } finally {
    await server.stop()
  }
}

const CHANGES = 100

/** A complete pull as a worker makes it, and, where asked for, runs after some changes and after a deletion. */
async function size(
  kind: WarehouseKind,
  postgres: BenchServer | null,
  rows: number,
  isFollowed: boolean,
): Promise<Record<string, string | number>> {
  console.error(`mirror of ${rows} records into ${kind}, and what comes after`)
  const server = await PagesServer.start(rows)
  try {
    return await inNewPlace(kind, postgres, async (place, folder) => {
      const run = async () => {
        const before = await server.control()
        const args = [server.url, folder, JSON.stringify(place)]
        const figures = await measured<MirrorFigures>('./mirror-run.ts', args, WORKER_FLAGS)
        return { ...figures, requests: (await server.control()) - before }
      }
      const full = await run()
      const line = { warehouse: kind, records: rows, peak_mb: full.peakMb }
      if (!isFollowed) return line
      const changed = Array.from({ length: CHANGES }, (_, turn) =>
        Math.floor(((turn + 0.5) * rows) / CHANGES),
      )
      await server.control({ changed, deleted: [] })
      const after = await run()
      await server.control({ changed, deleted: [Math.floor(rows / 3)] })
      const gone = await run()
      if (after.books.changed !== CHANGES || gone.books.deleted !== 1)
        throw new Error(`not what was changed: ${JSON.stringify([after.books, gone.books])}`)
      return {
        ...line,
        requests_after_changes: after.requests,
        seconds_after_changes: after.seconds.toFixed(1),
        requests_after_deletion: gone.requests,
        seconds_after_deletion: gone.seconds.toFixed(1),
        peak_mb_after: Math.max(after.peakMb, gone.peakMb),
      }
    })
  } finally {
    await server.stop()
  }
}

/** Measures and prints. `words` choose among the parts; none of them means all. */
export async function benchMirror(options: {
  readonly rows: number
  readonly rounds: number
  readonly sizes: readonly number[]
  readonly words: readonly string[]
}): Promise<void> {
  const { rows, rounds, sizes, words } = options
  const isAll = !PARTS.some((part) => words.includes(part))
  const wants = (part: (typeof PARTS)[number]) => isAll || words.includes(part)
  const postgres = wants('postgres') || wants('memory') ? await startBenchServer() : null
  try {
    for (const kind of WAREHOUSES) if (wants(kind)) await speed(kind, postgres, { rows, rounds })
    const lines = []
    if (wants('memory') || wants('incremental'))
      for (const kind of wants('memory') ? WAREHOUSES : (['duckdb'] as const))
        for (const records of sizes)
          lines.push(await size(kind, postgres, records, wants('incremental')))
    if (lines.length > 0) console.table(lines)
  } finally {
    await postgres?.stop()
  }
}
