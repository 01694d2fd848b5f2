// The tables of `npm run bench -- pacing`: how much of a quota the pacer uses, and how often it is refused, by kind of
// service, limit, number of processes and foreign traffic; then what incidents cost. All in virtual time, on all cores.

import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Result, Scenario } from './engine.ts'
import { HABITS } from './habit-scenarios.ts'
import {
  FOREIGN_SHARES,
  INCIDENTS,
  LIMITS,
  PROCESS_COUNTS,
  avoidablePerThousand,
  incidentScenario,
  refusedPerThousand,
  steady,
  utilisation,
  type Cell,
} from './scenarios.ts'
import { SERVER_KINDS } from './servers.ts'

interface MatrixRow extends Cell {
  readonly share: number
  readonly used: number
  readonly refused: number
  readonly avoidable: number
  readonly line: string
}

/** Prints the tables. `quick`: one seed and shorter runs. */
export async function benchPacing({ quick }: { quick: boolean }): Promise<void> {
  const startedAt = performance.now()
  const seeds = quick ? [1] : [1, 2]
  await printMatrix(seeds, quick ? 300 : 600)
  await printIncidents(quick ? [1] : [1, 2, 3])
  await printHabits(seeds)
  await printCosts()
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
  console.log(`\n${seconds} s on ${availableParallelism()} cores, seeds ${seeds.join(', ')}`)
}

async function printMatrix(seeds: readonly number[], measuredS: number): Promise<void> {
  const cells = LIMITS.flatMap((limit) =>
    PROCESS_COUNTS.flatMap((processes) =>
      FOREIGN_SHARES.flatMap((share) =>
        SERVER_KINDS.map((server) => ({ server, limit, processes, share })),
      ),
    ),
  )
  const scenarios = cells.flatMap(({ share, ...cell }) =>
    seeds.map((seed) => steady(cell, share, { seed, warmUpS: 180, measuredS })),
  )
  const results = await runAll(scenarios)
  const rows = cells.map((cell, index): MatrixRow => {
    const runs = results.slice(index * seeds.length, (index + 1) * seeds.length)
    const used = mean(runs, utilisation.of)
    const refused = mean(runs, refusedPerThousand.of)
    const avoidable = mean(runs, avoidablePerThousand.of)
    const line = `${used.toFixed(1)} / ${refused.toFixed(1)} (${avoidable.toFixed(1)})`
    return { ...cell, used, refused, avoidable, line }
  })
  console.log('\nUsed % / 429 per 1,000 (avoidable ones)\n')
  printRow(['limit, processes, foreign', ...SERVER_KINDS])
  printRow(['---', ...SERVER_KINDS.map(() => '--:')])
  for (let first = 0; first < rows.length; first += SERVER_KINDS.length) {
    const { limit, processes, share } = rows[first]!
    const line = rows.slice(first, first + SERVER_KINDS.length).map((row) => row.line)
    printRow([`${limit.toLocaleString('en')}, ${processes}, ${share}`, ...line])
  }
  printAim(rows.filter(({ limit, share }) => limit >= 600 && share === 0))
}

/** The aim of the design: at least 99 % used and under one avoidable 429 per 1,000, alone on a limit of 600 or more. */
function printAim(rows: readonly MatrixRow[]): void {
  const missed = rows.filter(({ used, avoidable }) => used < 99 || avoidable >= 1)
  console.log(
    `\n${rows.length - missed.length} of ${rows.length} cells with limit >= 600 and no foreign traffic: >= 99 % and < 1 avoidable`,
  )
  const byUse = [...rows].sort((one, other) => one.used - other.used).slice(0, 3)
  const byRefusals = [...rows].sort((one, other) => other.avoidable - one.avoidable).slice(0, 3)
  const lines = new Set([...missed, ...byUse, ...byRefusals])
  for (const row of lines)
    console.log(
      `  ${missed.includes(row) ? 'missed' : 'worst '} ${row.server}, ${row.limit}, ${row.processes}: ${row.line}`,
    )
}

async function printIncidents(seeds: readonly number[]): Promise<void> {
  const scenarios = INCIDENTS.flatMap((incident) =>
    SERVER_KINDS.flatMap((server) => seeds.map((seed) => incidentScenario(server, incident, seed))),
  )
  const results = await runAll(scenarios)
  console.log('\nIncidents, limit 600\n')
  printRow(['what', 'figures', ...SERVER_KINDS])
  printRow(['---', '---', ...SERVER_KINDS.map(() => '--:')])
  for (const { name, figures } of INCIDENTS) {
    const line = SERVER_KINDS.map(() => {
      const runs = results.splice(0, seeds.length)
      return figures.map(({ of, digits }) => mean(runs, of).toFixed(digits)).join(' / ')
    })
    printRow([name, figures.map((figure) => figure.name).join(' / '), ...line])
  }
}

/** Services that refuse for other reasons, tell less, or tell what is not so. */
async function printHabits(seeds: readonly number[]): Promise<void> {
  const scenarios = HABITS.flatMap(({ habits }) =>
    SERVER_KINDS.flatMap((server) =>
      seeds.map((seed): Scenario => {
        const cell = { server, limit: 600, processes: 2 }
        return { ...steady(cell, 0, { seed, warmUpS: 180, measuredS: 600 }), habits }
      }),
    ),
  )
  const results = await runAll(scenarios)
  console.log(
    '\nHabits, limit 600, 2 processes: used % / 429 per 1,000, those of other limits apart\n',
  )
  printRow(['what the service does', ...SERVER_KINDS])
  printRow(['---', ...SERVER_KINDS.map(() => '--:')])
  for (const { name } of HABITS) {
    const line = SERVER_KINDS.map(() => {
      const runs = results.splice(0, seeds.length)
      return `${mean(runs, utilisation.of).toFixed(1)} / ${mean(runs, refusedPerThousand.of).toFixed(1)}`
    })
    printRow([name, ...line])
  }
}

/** What exchanges take of the processor, one after the other so that nothing else disturbs. */
async function printCosts(): Promise<void> {
  console.log('\nOne exchange, on a sliding log\n')
  printRow(['limit, processes', 'exchanges a second', 'µs each', 'longest row, characters'])
  printRow(['---', '--:', '--:', '--:'])
  for (const limit of LIMITS)
    for (const kind of [{ processes: 1, inMemory: true }, { processes: 1 }, { processes: 8 }]) {
      const { processes, inMemory = false } = kind
      const cell = { server: 'sliding log', limit, processes } as const
      const times = { seed: 1, warmUpS: 120, measuredS: 120 }
      const [result] = await runAll([{ ...steady(cell, 0, times), inMemory, asText: !inMemory }])
      const { exchanges, exchangesMs, longestState } = result!
      printRow([
        `${limit.toLocaleString('en')}, ${inMemory ? '1 in memory' : processes}`,
        (exchanges / 240).toFixed(1),
        ((1_000 * exchangesMs) / exchanges).toFixed(0),
        inMemory ? '' : String(longestState),
      ])
    }
}

/** Results in the order of the scenarios, from one child for each core. */
async function runAll(scenarios: readonly Scenario[]): Promise<Result[]> {
  const results: Result[] = []
  let taken = 0
  const work = () =>
    new Promise<void>((resolve, reject) => {
      const child = fork(fileURLToPath(new URL('child.ts', import.meta.url)))
      let index = -1
      const next = () => {
        if (taken === scenarios.length) return child.disconnect()
        index = taken++
        child.send(scenarios[index]!)
      }
      child.on('message', (result: Result) => {
        results[index] = result
        next()
      })
      child.on('exit', (code) => {
        if (code === 0) resolve()
        else reject(new Error(`A child of the simulation ended with ${code}: 0 was expected`))
      })
      next()
    })
  await Promise.all(
    Array.from({ length: Math.min(availableParallelism(), scenarios.length) }, work),
  )
  return results
}

function mean(runs: readonly Result[], of: (run: Result) => number): number {
  return runs.reduce((total, run) => total + of(run), 0) / runs.length
}

function printRow(cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`)
}
