// What the weather of a history does with the pieces of its traffic.

import type { Dice } from '../scheduler.ts'
import { CALM, type Scene, type Weather as Rates } from '../search/plan.ts'
import type { Process } from '../world/process.ts'
import type { Direction, Fate, Weather } from './network.ts'

/**
 * A piece that is slow takes so much longer, at most. docs/guarantees.md excludes requests that the network holds back for longer than the
 * third of a heartbeat time-out: the shortest that a run is tuned to is 15 s.
 */
const SLOW_MS = 2_000

export class NetworkWeather implements Weather {
  readonly #dice: Dice
  readonly #latencyMs: number
  readonly #tell: (line: string) => void
  rates: Rates
  /** Processes that are cut off, until when. */
  readonly #cutOff = new Map<Process, number>()
  readonly #now: () => number

  constructor(parts: {
    dice: Dice
    scene: Scene
    rates: Rates
    now(): number
    tell(line: string): void
  }) {
    this.#dice = parts.dice
    this.#latencyMs = parts.scene.latencyMs
    this.#tell = parts.tell
    this.#now = parts.now
    this.rates = parts.rates
  }

  rest(): void {
    this.rates = CALM
    this.#cutOff.clear()
  }

  /** Nothing passes between the process and others for a while. */
  cutOff(process: Process, forMs: number): void {
    this.#cutOff.set(process, this.#now() + forMs)
  }

  #isCutOff = (process: Process): boolean => (this.#cutOff.get(process) ?? 0) > this.#now()

  /** Of a message to the Temporal server, or from it. */
  wire({ often, random }: Dice): number | null {
    if (often(this.rates.unheard)) return null
    return this.#latencyMs * 0.2 * random() + (often(this.rates.slow) ? SLOW_MS * random() : 0)
  }

  #delay(): number {
    const { often, random } = this.#dice
    const usual = this.#latencyMs * (0.5 + random())
    return often(this.rates.slow) ? usual + SLOW_MS * random() : usual
  }

  connecting(from: Process, to: string): number | null | 'refused' {
    const { often } = this.#dice
    if (this.#isCutOff(from)) return null
    if (often(this.rates.refused)) {
      this.#tell(`network: ${to} refuses ${from.name}`)
      return 'refused'
    }
    if (often(this.rates.unconnected)) {
      this.#tell(`network: no connection from ${from.name} to ${to}`)
      return null
    }
    return this.#delay()
  }

  /** How much later a request that was answered arrives once more, ms; null: it does not. */
  repeating(from: Process, to: string): number | null {
    // Nothing is drawn where none is repeated: kept stories stay as they are.
    if (this.rates.repeated === 0 || !this.#dice.often(this.rates.repeated)) return null
    this.#tell(`network: request of ${from.name} to ${to} arrives twice`)
    return SLOW_MS * this.#dice.random()
  }

  sending(from: Process, to: string, direction: Direction): Fate {
    const { often, below, random } = this.#dice
    const fate = {
      delayMs: this.#delay(),
      parts: often(this.rates.split) ? 2 + below(4) : 1,
      partMs: this.#latencyMs * random(),
      torn: null,
      isStalled: false,
    }
    if (this.#isCutOff(from)) return { ...fate, isStalled: true }
    const torn = direction === 'request' ? this.rates.tornBefore : this.rates.tornAfter
    const what = `network: ${direction} of ${from.name} ${direction === 'request' ? 'to' : 'from'} ${to}`
    if (often(torn)) {
      this.#tell(`${what} is lost, the connection is torn`)
      return { ...fate, torn: direction === 'request' && often(0.3) ? 'all' : 'none' }
    }
    if (often(this.rates.half)) {
      this.#tell(`${what} arrives in part, the connection is torn`)
      return { ...fate, torn: 'half' }
    }
    if (often(this.rates.stalled)) {
      this.#tell(`${what} stands still`)
      return { ...fate, isStalled: true }
    }
    return fate
  }
}
