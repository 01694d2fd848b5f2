// What people did to runs and schedules: noted before it is carried out, completed after. Promise kept here: what was carried out has a
// row, whatever became of the process that did it.

import type { ActionName } from '../../core/domain/actions.ts'

/** What is known of an action before it is carried out. */
export interface BeganAction {
  readonly action: ActionName
  /** `anna@desk-3`, or the name of a login. */
  readonly who: string
  readonly via: 'command' | 'console' | 'api'
  /** The sync, or the group. */
  readonly sync: string
  /** The run that it is about. */
  readonly run: number | null
  /** What was asked for beyond that, for people: `plan 12, 3f2a9c01d4e5`. It has no value of a row. */
  readonly details: string | null
  /** The same for each sending of one form: a form that is sent twice is one action. Null: it is asked for once. */
  readonly token: string | null
}

export interface Action extends Omit<BeganAction, 'token'> {
  readonly number: number
  readonly beganAt: string
  /** Null while it is carried out, and for ever if the process that did it has ended first. */
  readonly endedAt: string | null
  /** `refused`: nothing was done; `failed`: it is not known whether it was. */
  readonly state: 'begun' | 'done' | 'refused' | 'failed'
  /** What came of it, in one line. */
  readonly result: string | null
  /** Of an action that starts a run: its workflow. */
  readonly workflowId: string | null
}

export interface Actions {
  /** Notes an action that is about to be carried out. One whose token is known already is `earlier`, and must not be carried out. */
  beginAction(action: BeganAction): Promise<{ begun: Action } | { earlier: Action }>
  /** Notes what came of it. */
  endAction(
    number: number,
    end: {
      readonly state: 'done' | 'refused' | 'failed'
      readonly result: string | null
      readonly workflowId?: string | null
    },
  ): Promise<void>
  /** The newest first: of a run, also the one that started it; of a sync, also those of its runs; or of all. */
  actions(of: {
    readonly run?: number
    readonly sync?: string
    readonly limit: number
  }): Promise<readonly Action[]>
}
