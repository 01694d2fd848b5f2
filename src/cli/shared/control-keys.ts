// What the keys of `watch` do: one of the live runs is chosen, and paused, resumed or cancelled. Promises kept here: a run is
// cancelled only if a person has said yes to that very run; a run is told what was pressed in the order of the keys, each key once
// the one before is answered.

import { osActor } from '../../actions/recorded.ts'
import { controlRun } from '../../actions/control-run.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { safeText } from './terminal.ts'

export type ControlVerb = 'pausing' | 'resuming' | 'cancelling'

const ACTION_OF = { pausing: 'pause', resuming: 'resume', cancelling: 'cancel' } as const

/** Sends the message to the workflow of the run. */
export type SendControl = (run: Run, verb: ControlVerb) => Promise<unknown>

export const controlSender =
  (context: CommandContext): SendControl =>
  (run, verb) =>
    controlRun(context, osActor(), run, { action: ACTION_OF[verb] })

/** What a run was told last, and has not done yet as far as the ledger shows. */
interface Asked {
  readonly verb: ControlVerb
  isAnswered: boolean
}

/** Whether a run of that state has done what it was told; one that was cancelled is live until it is not. */
const IS_DONE: Readonly<Record<ControlVerb, (run: Run) => boolean>> = {
  pausing: ({ state }) => state === 'paused',
  resuming: ({ state }) => state !== 'paused',
  cancelling: () => false,
}

export class ControlKeys {
  readonly #send: SendControl
  readonly #print: (line: string) => void
  readonly #asked = new Map<number, Asked>()
  /** What is being sent to each run; never fails. */
  readonly #sending = new Map<number, Promise<void>>()
  #runs: readonly Run[] = []
  #selected: number | null = null
  #isAsking = false

  constructor(send: SendControl, print: (line: string) => void) {
    this.#send = send
    this.#print = print
  }

  /** The run that keys are for. */
  get selected(): number | null {
    return this.#selected
  }

  /** Whether the next key says if that run is cancelled. */
  get isAsking(): boolean {
    return this.#isAsking
  }

  /** What a run was asked for and has not done yet; null where nothing is. */
  asked(run: number): ControlVerb | null {
    return this.#asked.get(run)?.verb ?? null
  }

  /** Whether a run has still to be told of a key. */
  get isSending(): boolean {
    return this.#sending.size > 0
  }

  /** Until the runs are told of every key that was pressed. */
  async sent(): Promise<void> {
    await Promise.all(this.#sending.values())
  }

  /** The runs that are live now. */
  show(runs: readonly Run[]): void {
    this.#runs = runs
    for (const [id, { verb, isAnswered }] of this.#asked) {
      const run = runs.find((one) => one.id === id)
      if (!run || (isAnswered && IS_DONE[verb](run))) this.#asked.delete(id)
    }
    if (runs.some(({ id }) => id === this.#selected)) return
    this.#selected = runs[0]?.id ?? null
    this.#isAsking = false
  }

  press(key: string): void {
    const at = this.#runs.findIndex(({ id }) => id === this.#selected)
    const run = this.#runs[at]
    if (!run) return
    if (this.#isAsking) {
      this.#isAsking = false
      if (key === 'y') this.#tell(run, 'cancelling')
      return
    }
    if (key === 'up' || key === 'k') this.#selected = this.#runs[Math.max(0, at - 1)]!.id
    else if (key === 'down' || key === 'j') this.#selected = (this.#runs[at + 1] ?? run).id
    else if (key === 'p') this.#tell(run, 'pausing')
    else if (key === 'r') this.#tell(run, 'resuming')
    else if (key === 'c') this.#isAsking = true
  }

  /** Reports that it is sent, and what goes wrong: the run's state shows the rest. */
  #tell(run: Run, verb: ControlVerb): void {
    const what = `${verb} run ${run.id} of ${safeText(run.sync, 63)}`
    this.#print(what)
    const asked = { verb, isAnswered: false }
    this.#asked.set(run.id, asked)
    const send = async () => {
      try {
        await this.#send(run, verb)
        asked.isAnswered = true
      } catch (error) {
        if (this.#asked.get(run.id) === asked) this.#asked.delete(run.id)
        const why = error instanceof Error ? error.message : String(error)
        this.#print(`${what}: ${safeText(why, 1_000)}`)
      }
    }
    const before = this.#sending.get(run.id)
    const sending: Promise<void> = (before ? before.then(send) : send()).then(() => {
      if (this.#sending.get(run.id) === sending) this.#sending.delete(run.id)
    })
    this.#sending.set(run.id, sending)
  }
}
