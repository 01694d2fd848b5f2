// What the keys of `watch` do: one of the live runs is chosen, and paused, resumed or cancelled. Promise kept here: a run is
// cancelled only if a person has said yes to that very run.

import { pause, resume } from '../../../workflows/names.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { withRunMessenger } from './run-messenger.ts'
import { safeText } from './terminal.ts'

export type ControlVerb = 'pausing' | 'resuming' | 'cancelling'

/** Sends the message to the workflow of the run. */
export type SendControl = (run: Run, verb: ControlVerb) => Promise<unknown>

export const controlSender =
  (context: CommandContext): SendControl =>
  (run, verb) =>
    withRunMessenger<unknown>(context, run, verb !== 'cancelling', ({ update, handle }) => {
      if (verb === 'cancelling') return handle.cancel()
      return verb === 'pausing' ? update(pause, { reason: null }) : update(resume, undefined)
    })

export class ControlKeys {
  readonly #send: SendControl
  readonly #print: (line: string) => void
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

  /** The runs that are live now. */
  show(runs: readonly Run[]): void {
    this.#runs = runs
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
    this.#send(run, verb).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      this.#print(`${what}: ${safeText(why, 1_000)}`)
    })
  }
}
