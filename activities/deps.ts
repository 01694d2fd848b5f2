// What the composition root hands in for every kind of run, and what a workflow may tune.

import type { Clock, Logger } from '../src/core/ports.ts'
import type { SyncConfig } from '../config/index.ts'
import type { Ledger } from '../src/ledger/ledger.ts'
import type { ActivityAttempt, RunHolder } from '../src/runs/open.ts'
import type { RunObserver } from '../src/runs/observers.ts'

export interface SharedDeps {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly logger: Logger
  /**
   * Reads the configuration file now.
   * @throws ConfigError if there is no such sync, or it is of another kind
   */
  loadSync(name: string, kind: SyncConfig['kind']): Promise<SyncConfig>
  /** Whether a workflow execution is still open and, if one is named, an attempt the newest of its activity. */
  isLive(holder: RunHolder, attempt?: ActivityAttempt): Promise<boolean>
  /** Gets every change of a run's state. */
  readonly watch: RunObserver
  /** The error, with its places in the configuration file if it is one of a mapping. Default: as it is. */
  placed?(error: unknown): Promise<unknown>
  /** What the services of a sync announce of the end of their APIs, in words. Default: nothing. */
  announced?(sync: SyncConfig): Promise<readonly string[]>
  /** Of the worker. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A tuning as the workflows pass it on: what is left out has its default. */
export type PartialTuning<Tuning> = { readonly [Name in keyof Tuning]?: Tuning[Name] | undefined }

export function withDefaults<Tuning extends object>(
  defaults: Tuning,
  given: PartialTuning<Tuning>,
): Tuning {
  const set = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...(Object.fromEntries(set) as Partial<Tuning>) }
}
