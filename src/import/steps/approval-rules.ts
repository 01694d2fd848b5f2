// When an import asks a person first: the rules of the configuration, wherever they are written. Most of them can be known from what
// was staged; some count what the rows change at the service, so that all of them are looked up.

import { writesRecords } from '../../core/domain/import-modes.ts'
import type { Purpose } from '../../core/domain/purpose.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { RunJob } from '../../runs/job.ts'

type Limits = Exclude<NonNullable<ImportConfig['approve']>, string>

export interface ApprovalRules extends Limits {
  /** Whether every run asks. */
  readonly always: boolean
}

export function rulesOf(config: Partial<ImportConfig>): ApprovalRules {
  const { approve } = config
  const { rows_min, rows_max, creates_max_percent, clears_max_percent, missing_rows_max_percent } =
    config
  const own = {
    rows_min,
    rows_max,
    creates_max_percent,
    clears_max_percent,
    missing_rows_max_percent,
  }
  return { ...own, ...(typeof approve === 'object' && approve), always: approve === 'plan' }
}

/** Whether rows are looked up before a person is asked. */
export const countsChanges = (
  config: Pick<ImportConfig, 'mode'> & Partial<ImportConfig>,
): boolean => {
  const { always, updates_max, updates_max_percent } = rulesOf(config)
  const isAsked = always || updates_max !== undefined || updates_max_percent !== undefined
  return isAsked && writesRecords(config.mode)
}

const PLANNING: readonly Purpose[] = ['sync', 'backfill', 'retry']

/**
 * Whether a run makes a plan of its own before it sends anything. One that applies a plan has it; a reconciliation compares all of its
 * rows itself, an undo reads those of another run, and a run of links has none.
 */
export const makesPlan = (
  config: ImportConfig,
  { purpose, plan }: Pick<RunJob, 'purpose' | 'plan'>,
): boolean => plan === undefined && PLANNING.includes(purpose) && countsChanges(config)

/** Whether the sync has any rule about rows. */
export function hasLimits(config: ImportConfig): boolean {
  const { always, missing_rows_max_percent: _of, ...limits } = rulesOf(config)
  return always || Object.values(limits).some((limit) => limit !== undefined)
}
