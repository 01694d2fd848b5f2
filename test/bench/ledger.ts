// The ledgers alone, side by side: what a row of an import costs each of them, by step.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dearestStatements, startBenchServer, type BenchServer } from './postgres-server.ts'

const program = fileURLToPath(new URL('./ledger-run.ts', import.meta.url))
const compiled = new URL('./compiled.mjs', import.meta.url).href

const KINDS = ['sqlite', 'sqlite-thread', 'postgres'] as const
const ORDERS = ['sorted', 'random'] as const
const STEPS = ['stage', 'decide', 'push', 'close'] as const
const STATEMENTS_SHOWN = 16

type Kind = (typeof KINDS)[number]
type Figures = Readonly<Record<string, number>>

interface Options {
  readonly rows: number
  readonly rounds: number
  readonly words: readonly string[]
  /** Whether the statements that cost PostgreSQL most are shown. */
  readonly detail: boolean
}

/** One run of `rows` rows on a new ledger. */
async function measure(
  kind: Kind,
  order: string,
  server: BenchServer | null,
  { rows, detail }: Options,
): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-bench-'))
  const url = kind === 'postgres' ? await server!.newDatabase() : null
  try {
    const place = url === null ? { sqlite: join(dir, 'ledger.db') } : { url, schema: 'ledger' }
    const child = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        '--import',
        compiled,
        program,
        JSON.stringify(place),
        String(rows),
        order,
        kind === 'sqlite-thread' ? 'thread' : '',
        server && kind === 'postgres' ? String(server.pid) : '',
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let output = ''
    child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number]
    if (code !== 0) throw new Error(`the run on ${kind} ended with ${code}`)
    if (url !== null && detail) console.table(await dearestStatements(url, STATEMENTS_SHOWN))
    return JSON.parse(output) as Figures
  } finally {
    if (url !== null) await server!.drop(url)
    rmSync(dir, { recursive: true, force: true })
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Measures by turns, and prints the medians of each ledger and order of keys. */
export async function benchLedger(options: Options): Promise<void> {
  const { rows, rounds, words } = options
  const chosenOf = <Name extends string>(names: readonly Name[]) =>
    names.some((name) => words.includes(name))
      ? names.filter((name) => words.includes(name))
      : names
  const kinds = chosenOf(KINDS)
  const orders = chosenOf(ORDERS)
  console.error(`ledgers: ${rows} rows, ${rounds} rounds`)
  const server = kinds.includes('postgres') ? await startBenchServer() : null
  try {
    const found = new Map<string, Figures[]>()
    for (let round = 0; round < rounds; round++)
      for (const order of orders)
        for (const kind of kinds) {
          const figures = await measure(kind, order, server, options)
          const name = `${kind} ${order}`
          found.set(name, [...(found.get(name) ?? []), figures])
        }
    const lines: Record<string, Record<string, string>> = {}
    for (const [name, all] of found) {
      const of = (figure: string) => median(all.map((figures) => figures[figure]!))
      const steps = STEPS.map((step) => [
        step,
        [of(`${step}_us`), of(`${step}_cpu_us`), of(`${step}_server_us`)]
          .map((us) => us.toFixed(1))
          .join(' / '),
      ])
      const sum = (suffix: string) =>
        median(
          all.map((figures) =>
            STEPS.reduce((total, step) => total + figures[`${step}_${suffix}`]!, 0),
          ),
        )
      lines[name] = {
        ...(Object.fromEntries(steps) as Record<string, string>),
        all: [sum('us'), sum('cpu_us'), sum('server_us')].map((us) => us.toFixed(1)).join(' / '),
        'rows/s': String(Math.round(1e6 / sum('us'))),
      }
    }
    console.log('µs a row by the clock / processor time of the process / of the server')
    console.table(lines)
  } finally {
    await server?.stop()
  }
}
