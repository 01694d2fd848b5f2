// What the console reads and acts with, as its command gives it. Promises kept here: pages ask no service for anything; whatever is away
// now is asked again later.

import type { Config } from '../../config/index.ts'
import type { ActionPlace } from '../actions/place.ts'
import type { QuotaStore } from '../core/ports.ts'
import type { UiLocation } from '../core/temporal/temporal-ui.ts'
import type { Ledger, Run } from '../ledger/ledger.ts'

/** A schedule as the Temporal server has it. */
export interface ScheduleState {
  readonly state: 'active' | 'paused' | 'missing' | 'foreign'
  readonly when: string
  readonly note: string | null
  readonly next: Date | null
  /** The next times, the first of them `next`. */
  readonly times: readonly Date[]
}

/** The schedules by the name of their sync or group; null if the server does not answer, and why. */
export interface ScheduleStates {
  readonly views: ReadonlyMap<string, ScheduleState> | null
  readonly unknown: string | null
}

/** How live runs are worked on, as far as the Temporal server knows. */
export interface WorkState {
  /** Why nobody works on them, as half a sentence; null if a worker polls, or if that is not known. */
  readonly idle: string | null
  /** The runs that the server knows to be held up, as it knows them. */
  readonly held: ReadonlyMap<number, Pick<Run, 'reason' | 'message'>>
}

export interface ConsoleParts {
  loadConfig(): Promise<Config>
  /** Opens the ledger for reading; null if no run has made it yet. @throws LedgerError */
  openLedger(): Promise<Ledger | null>
  /** The quotas that all processes share; null if they cannot be opened. */
  openQuotas(): Promise<QuotaStore | null>
  readSchedules(config: Config): Promise<ScheduleStates>
  workOn(config: Config, live: readonly Run[]): Promise<WorkState>
  /** Where the Temporal UI is; null if that is not known. */
  uiOf(config: Config): UiLocation | null
  /** What actions are carried out with, and who acts where nobody logs in. */
  readonly place: ActionPlace
  readonly user: string
  /** A command line for a person to type. */
  hint(command: string): string
}
