// Rows a second of one import, with nothing set, against the bare loop; by turns, each in a process and into a service of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { runBareLoop, runImport } from './import-process.ts'
import { WORKER_FLAGS, writeCsv } from './import-parts.ts'
import type { Figures } from './mirror-figures.ts'

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** The bare loop has to be given what an import finds by itself. */
const CASES = [
  { latencyMs: 0, inFlight: 8 },
  { latencyMs: 20, inFlight: 32 },
] as const

/** Measures and prints one table for each latency: medians, and the ratios to the bare loop of the same turn. */
export async function benchImportSpeed(options: {
  readonly rows: number
  readonly rounds: number
  /** Another checkout, compiled, that takes turns with this one. */
  readonly against: string | null
}): Promise<void> {
  const { rows, rounds, against } = options
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  try {
    const files = { csv: join(dir, 'contacts.csv'), dir }
    await writeCsv(files.csv, rows, 'a')
    for (const { latencyMs, inFlight } of CASES) {
      console.error(`import of ${rows} rows, ${latencyMs} ms a request`)
      const around = { latencyMs, wide: false }
      const programs: Record<string, () => Promise<Figures>> = {
        'bare loop': () => runBareLoop(around, files, { rows, inFlight }),
        import: () => runImport(around, files),
        "import, a worker's heap": () => runImport(around, files, { flags: WORKER_FLAGS }),
      }
      if (against !== null)
        programs['other checkout'] = () =>
          runImport(around, files, { root: resolve(against, '.') + sep })
      const turns: Record<string, Figures>[] = []
      for (let round = 0; round < rounds; round++) {
        const turn: Record<string, Figures> = {}
        for (const [name, run] of Object.entries(programs)) turn[name] = await run()
        turns.push(turn)
      }
      const lines = Object.keys(programs).map((name) => {
        const of = (figure: (run: Figures, bare: Figures) => number) =>
          median(turns.map((turn) => figure(turn[name]!, turn['bare loop']!)))
        const ratios = turns.map((turn) => turn['bare loop']!.seconds / turn[name]!.seconds)
        return {
          program: name,
          rows_s: Math.round(of((run) => run.rows / run.seconds)),
          of_bare: of((run, bare) => bare.seconds / run.seconds).toFixed(3),
          lowest: Math.min(...ratios).toFixed(3),
          highest: Math.max(...ratios).toFixed(3),
          cpu_us_a_row: of((run) => (run.cpuSeconds * 1e6) / run.rows).toFixed(1),
          peak_mb: of((run) => run.peakMb),
        }
      })
      console.log(`${latencyMs} ms a request; the bare loop has ${inFlight} in flight`)
      console.table(lines)
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
