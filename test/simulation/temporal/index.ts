// A small Temporal server in memory; see README.md.

import type { Client } from '@temporalio/client'
import { createClient, createConnection } from './connection.ts'
import type { temporal } from '@temporalio/proto'
import { wireEvent, type HistoryEvent } from './history.ts'
import { Server, type ServerOptions } from './server.ts'
import type { Bundle } from './vm.ts'
import { Worker, type SimulatedWorker, type WorkerOptions } from './worker.ts'

export type { Activities, QueueOptions, SimulatedWorker, WorkerOptions } from './worker.ts'
export type { AttemptInfo } from './activity-run.ts'
export type { HistoryEvent } from './history.ts'
export type { Wire } from './server.ts'
export type { Bundle } from './vm.ts'
export { SERVER } from './server.ts'

export interface SimulatedTemporalOptions extends ServerOptions {
  /** Workflow code of the workers. */
  readonly bundle: Bundle
}

export class SimulatedTemporal {
  readonly server: Server
  readonly #bundle: Bundle
  readonly #workers: Worker[] = []

  constructor({ bundle, ...options }: SimulatedTemporalOptions) {
    this.#bundle = bundle
    this.server = new Server(options)
  }

  addWorker(options: WorkerOptions): SimulatedWorker {
    const worker = new Worker(this.server, options, this.#bundle)
    this.#workers.push(worker)
    return worker
  }

  /** The SDK's own client, for a process of that name. */
  client(name: string): Client {
    return createClient(this.server, name)
  }

  connection(name: string) {
    return createConnection(this.server, name)
  }

  /** Events of a run; of the newest one if none is named. Empty if it is unknown. */
  history(workflowId: string, runId?: string): readonly HistoryEvent[] {
    return this.server.find(workflowId, runId)?.events ?? []
  }

  /** Every run that the server knows, with its history in the protocol's form: the SDK's native part can replay it. */
  wireHistories(): { workflowId: string; history: temporal.api.history.v1.IHistory }[] {
    return [...this.server.runs.values()]
      .flat()
      .map(({ id, events }) => ({ workflowId: id, history: { events: events.map(wireEvent) } }))
  }

  /** The server is away: calls fail or wait, and nothing happens until `up`. */
  down(): void {
    this.server.down()
  }
  up(): void {
    this.server.up()
  }
  /** The server has lost its database. */
  wipe(): void {
    this.server.wipe()
  }

  /** Forgets everything, and frees the memory of the workflows. */
  dispose(): void {
    for (const worker of this.#workers) worker.kill()
  }
}
