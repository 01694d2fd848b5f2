// The part of a Temporal server that runs of imports need: activities are begun on workers, begun again after a failure or when their
// worker has sent no heartbeat, and cancelled by the answer to a heartbeat. An attempt that was given up may live on: nobody hears of it.

import { ApplicationFailure } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import type { Activities } from '../../../activities/index.ts'
import type { Dice } from '../scheduler.ts'
import type { Loop } from './loop.ts'
import type { Worker } from './worker.ts'

export interface ActivityOptions {
  readonly startToCloseMs: number
  readonly heartbeatMs: number | null
}

const FIRST_RETRY_MS = 1_000
const RETRY_MAX_MS = 10_000
/** Between a task and its worker. */
const POLL_MS = 5
const ATTEMPTS_MAX = 100_000

export class Cancelled extends Error {
  override readonly name = 'Cancelled'
}
/** Its workflow was ended by a person. */
export class Terminated extends Error {
  override readonly name = 'Terminated'
}

export interface Execution {
  readonly workflowId: string
  readonly runId: string
  isCancelled: boolean
  isTerminated: boolean
  isOpen: boolean
}

type Ended = { readonly result: unknown } | { readonly error: unknown } | 'timed out'

export class Server {
  readonly #loop: Loop
  readonly #dice: Dice
  readonly #workers: () => readonly Worker[]
  readonly #tell: (line: string) => void
  readonly executions: Execution[] = []
  /** All that crosses it: inputs, results and failures. */
  readonly crossed: string[] = []
  attempts = 0

  constructor(parts: {
    loop: Loop
    dice: Dice
    workers(): readonly Worker[]
    tell(line: string): void
  }) {
    this.#loop = parts.loop
    this.#dice = parts.dice
    this.#workers = parts.workers
    this.#tell = parts.tell
  }

  begin(workflowId: string): Execution {
    const execution = {
      workflowId,
      runId: `run-${this.executions.length + 1}`,
      isCancelled: false,
      isTerminated: false,
      isOpen: true,
    }
    this.executions.push(execution)
    return execution
  }

  isLive = ({ workflowRunId }: { workflowRunId: string }): boolean =>
    this.executions.some(({ runId, isOpen }) => runId === workflowRunId && isOpen)

  /** Carries an activity out, however often it takes. @throws Cancelled, Terminated, ApplicationFailure */
  async activity(
    execution: Execution,
    name: keyof Activities,
    input: object,
    options: ActivityOptions,
    isCancellable = true,
  ): Promise<unknown> {
    this.crossed.push(JSON.stringify(input))
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      this.#check(execution, isCancellable)
      const worker = this.#free()
      if (worker === null) {
        await this.#loop.wait(1_000)
        continue
      }
      const ended = await this.#attempt(worker, execution, name, input, options, attempt, isCancellable)
      if (ended === 'timed out') {
        this.#tell(`${name} of ${execution.workflowId} timed out on ${worker.process.name}`)
        await this.#loop.wait(FIRST_RETRY_MS)
        continue
      }
      if ('result' in ended) {
        this.crossed.push(JSON.stringify(ended.result) ?? '')
        return ended.result
      }
      const { error } = ended
      this.crossed.push(textOf(error))
      this.#check(execution, isCancellable)
      if (error instanceof ApplicationFailure && error.nonRetryable) throw error
      const retryMs = Math.min(RETRY_MAX_MS, FIRST_RETRY_MS * 2 ** Math.min(10, attempt - 1))
      const delay = error instanceof ApplicationFailure ? error.nextRetryDelay : undefined
      await this.#loop.wait(typeof delay === 'number' ? delay : retryMs)
    }
    throw new Error(`${name}: too many attempts`)
  }

  #check(execution: Execution, isCancellable: boolean): void {
    if (execution.isTerminated) throw new Terminated()
    if (execution.isCancelled && isCancellable) throw new Cancelled()
  }

  #free(): Worker | null {
    const polling = this.#workers().filter(({ process }) => process.state === 'running')
    return polling.length === 0 ? null : this.#dice.one(...polling)
  }

  #attempt(
    worker: Worker,
    execution: Execution,
    name: keyof Activities,
    input: object,
    { startToCloseMs, heartbeatMs }: ActivityOptions,
    attempt: number,
    isCancellable: boolean,
  ): Promise<Ended> {
    this.attempts++
    const loop = this.#loop
    const { process } = worker
    return new Promise((resolve) => {
      let isOver = false
      const end = (ended: Ended) => {
        if (isOver) return
        isOver = true
        for (const timer of timers) timer.cancel()
        resolve(ended)
      }
      // The way to the server and back.
      const report = (ended: Ended) => void loop.after(POLL_MS, `${name} ends`, () => end(ended))
      const timers = [loop.after(startToCloseMs, `${name} times out`, () => end('timed out'))]
      const beats = () => loop.after(heartbeatMs!, `${name} without heartbeat`, () => end('timed out'))
      let beat = heartbeatMs === null ? null : beats()
      if (beat) timers.push(beat)
      loop.after(
        POLL_MS,
        `${name} begins`,
        () =>
          process.run(() => {
            const { workflowId, runId } = execution
            const environment = new MockActivityEnvironment(
              { attempt, workflowExecution: { workflowId, runId } },
              { logger: new DefaultLogger('ERROR') },
            )
            environment.on('heartbeat', (details: unknown) => {
              this.crossed.push(JSON.stringify(details) ?? '')
              if (isOver || process.state === 'dead') return environment.cancel('NOT_FOUND')
              beat?.cancel()
              if (heartbeatMs !== null) timers.push((beat = beats()))
              const isGone = execution.isTerminated || (execution.isCancelled && isCancellable)
              if (isGone) environment.cancel('CANCELLED')
            })
            const activity = worker.activities![name] as (...given: unknown[]) => Promise<unknown>
            // What crosses the server is JSON.
            const given = JSON.parse(JSON.stringify(input)) as object
            environment.run(activity, given).then(
              (result) => process.state !== 'dead' && report({ result: jsonOf(result) }),
              (error: unknown) => process.state !== 'dead' && report({ error }),
            )
          }),
        process,
      )
    })
  }
}

const jsonOf = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown)

const textOf = (error: unknown): string =>
  error instanceof ApplicationFailure
    ? JSON.stringify([error.type, error.message, error.details, error.stack])
    : String(error)
