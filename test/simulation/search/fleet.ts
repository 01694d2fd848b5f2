// Processes that play histories, as many as there are cores. A history that ends its process, or that does not end, is a violation too.

import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { simulatedPostgres } from '../postgres/start.ts'
import type { Order, Played, Sent } from './child.ts'
import { isOnPostgres } from './database.ts'

/** Of the machine, for one history. Far more than the slowest needs. */
const HISTORY_MAX_MS = 300_000

/** What is compiled in the first histories serves those behind; whatever they leave in memory ends with their process. */
const HISTORIES_OF_PROCESS = 500

export interface FleetOptions {
  readonly program: string
  readonly workflows: string
  readonly processes: number
}

interface Job {
  readonly order: Sent
  readonly resolve: (played: Played) => void
}

class Player {
  readonly #options: FleetOptions
  #child: ChildProcess | null = null
  #job: Job | null = null
  #timer: NodeJS.Timeout | null = null
  #played = 0

  constructor(options: FleetOptions) {
    this.#options = options
  }

  get isFree(): boolean {
    return this.#job === null
  }

  play(job: Job): void {
    this.#job = job
    this.#child ??= this.#start()
    this.#timer = setTimeout(() => this.#child?.kill('SIGKILL'), HISTORY_MAX_MS)
    this.#child.stdin!.write(`${JSON.stringify(job.order)}\n`)
  }

  #start(): ChildProcess {
    const { program, workflows } = this.#options
    const child = spawn(
      process.execPath,
      ['--min-semi-space-size=16', '--max-semi-space-size=64', program, workflows],
      {
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    )
    const errors: string[] = []
    child.stderr.on('data', (text: Buffer) => {
      errors.push(text.toString())
      errors.splice(0, errors.length - 20)
    })
    child.stdin.on('error', () => {})
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Anything else that code prints is no result.
      if (line.startsWith('{"plan"')) this.#end(JSON.parse(line) as Played)
    })
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = null
      else return
      const order = this.#job?.order
      if (order === undefined) return
      const what = signal === 'SIGKILL' ? 'the history does not end' : 'the process ended'
      this.#end({
        plan: 'plan' in order ? order.plan : null,
        seed: 'seed' in order ? order.seed : order.plan.seed,
        story: errors.join(''),
        violations: [`${what} (${code ?? signal}) ${errors.join('').slice(-600)}`],
        figures: { events: 0, ms: 0, virtualMs: 0 },
        marks: [],
      })
    })
    return child
  }

  #end(played: Played): void {
    const job = this.#job
    this.#job = null
    if (this.#timer) clearTimeout(this.#timer)
    if (++this.#played % HISTORIES_OF_PROCESS === 0) {
      this.#child?.stdin?.end()
      this.#child = null
    }
    job?.resolve(played)
  }

  close(): void {
    this.#child?.stdin?.end()
    this.#child?.kill('SIGKILL')
  }
}

export class Fleet {
  readonly #players: readonly Player[]
  readonly #waiting: Job[] = []

  constructor(options: FleetOptions) {
    this.#players = Array.from({ length: options.processes }, () => new Player(options))
  }

  get size(): number {
    return this.#players.length
  }

  async play(order: Order): Promise<Played> {
    const isServed = 'plan' in order && isOnPostgres(order.plan.scene)
    const server = isServed ? await simulatedPostgres() : null
    return await new Promise((resolve) => {
      this.#waiting.push({
        order: { ...order, server },
        resolve: (played) => (resolve(played), this.#next()),
      })
      this.#next()
    })
  }

  #next(): void {
    const free = this.#players.find(({ isFree }) => isFree)
    if (free === undefined || this.#waiting.length === 0) return
    free.play(this.#waiting.shift()!)
    this.#next()
  }

  close(): void {
    for (const player of this.#players) player.close()
  }
}
