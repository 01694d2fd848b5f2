// Where an import spends its processor time, step by step: one import of N rows in a process of its own, as its activities make
// it, without Temporal. First without a profiler, for the processor time of the process; then with one, for the shares.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { runImport } from './import-process.ts'
import { writeCsv } from './import-parts.ts'
import { readThread, STEP_NAMES, type CpuProfile, type ThreadProfile } from './profile-steps.ts'
import type { StepTime } from './step-times.ts'
import type { Ended } from './sync-run.ts'

/** Between two looks at the stack, µs. */
const INTERVAL_US = 500
/** A thread that worked less than this share of the busiest one is not shown. */
const SHOWN_MIN = 0.02
const FUNCTIONS_SHOWN = 6

interface Options {
  readonly rows: number
  /** Runs without the profiler; the median counts. */
  readonly rounds: number
  readonly wide: boolean
  readonly latencyMs: number
  /** Whether the dearest functions of each step are shown. */
  readonly detail: boolean
  /** Another checkout, compiled, that takes turns with this one. */
  readonly against: string | null
}

/** The threads of a run, the busiest first. */
function threadsOf(profiles: string): readonly ThreadProfile[] {
  const threads = readdirSync(profiles)
    .map((file) => readThread(JSON.parse(readFileSync(join(profiles, file), 'utf8')) as CpuProfile))
    .filter(({ isLoader }) => !isLoader)
    .toSorted((a, b) => b.activeUs - a.activeUs)
  return threads.filter(({ activeUs }) => activeUs >= threads[0]!.activeUs * SHOWN_MIN)
}

function show(thread: ThreadProfile, index: number, { rows, detail }: Options): void {
  const share = (us: number) => `${((us / thread.activeUs) * 100).toFixed(1).padStart(5)} %`
  const each = (us: number) => (us / rows).toFixed(2).padStart(7)
  console.log(`\nthread ${index + 1}:${each(thread.activeUs)} µs a row`)
  for (const step of STEP_NAMES) {
    const us = thread.steps.get(step)
    if (us === undefined) continue
    console.log(`${each(us)} µs ${share(us)}  ${step}`)
    if (!detail) continue
    for (const [place, part] of thread.functionsOf(step).slice(0, FUNCTIONS_SHOWN))
      console.log(`${each(part)} µs ${' '.repeat(11)}${place}`)
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const cpuUs = ({ cpuSeconds, rows }: Ended) => (cpuSeconds * 1e6) / rows

function tell(name: string, runs: readonly Ended[]): void {
  const of = (figure: (ended: Ended) => number) => median(runs.map(figure)).toFixed(1)
  console.log(
    `${name}, without the profiler, median of ${runs.length}: ${of(cpuUs)} µs of processor time a row, ${of(({ seconds, rows }) => rows / seconds / 1_000)} thousand rows a second, peak ${of(({ peakMb }) => peakMb)} MB`,
  )
}

/** Prints what each step takes, µs a row: by the clock, and processor time of each thread and of the service. */
function tellSteps(name: string, runs: readonly Ended[]): void {
  const lines = (runs[0]!.steps ?? []).map(({ step }) => {
    const of = (figure: keyof Omit<StepTime, 'step'>) => {
      const spent = runs.map(
        ({ steps, rows }) => (steps.find((one) => one.step === step)![figure] * 1e6) / rows,
      )
      return Number(median(spent).toFixed(1))
    }
    const [main, ledger, others] = [of('main'), of('ledger'), of('others')]
    return { step, clock: of('seconds'), main, ledger, others, service: of('service') }
  })
  if (lines.length === 0) return
  console.log(`${name}, µs a row, medians of ${runs.length}`)
  console.table(lines)
}

/** Measures and prints a table for each thread that works. */
export async function benchProfile(options: Options): Promise<void> {
  const { rows, rounds, wide, latencyMs, against } = options
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  try {
    const csv = join(dir, 'contacts.csv')
    await writeCsv(csv, rows, 'a', { wide })
    console.error(`import of ${rows} rows, ${wide ? 19 : 10} columns, ${latencyMs} ms`)
    const [ours, others]: [Ended[], Ended[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      ours.push(await runImport(options, { csv, dir }))
      if (against !== null)
        others.push(await runImport(options, { csv, dir }, { root: resolve(against, '.') + sep }))
    }
    tell('this checkout', ours)
    tellSteps('this checkout', ours)
    if (against !== null) {
      tell('the other one', others)
      tellSteps('the other one', others)
      const ratios = ours.map((ended, round) => cpuUs(ended) / cpuUs(others[round]!))
      console.log(`processor time ÷ the other one, median of turns: ${median(ratios).toFixed(3)}`)
      return
    }
    const profiles = mkdtempSync(join(dir, 'profiles-'))
    await runImport(
      options,
      { csv, dir },
      {
        flags: ['--cpu-prof', '--cpu-prof-interval', `${INTERVAL_US}`, '--cpu-prof-dir', profiles],
      },
    )
    threadsOf(profiles).forEach((thread, index) => show(thread, index, options))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
