// Plans, and the runs that apply them. A plan is a run too: the number that people know it by is its id without the sign.

import type { Run } from './runs.ts'

export interface Plans {
  /** The runs of a sync that were opened to apply the plan of this number, oldest first. */
  runsOfPlan(sync: string, plan: number): Promise<readonly Run[]>
  /**
   * Keys of items that a staged run plans and a whole plan does not, the other way round, or with other values: how many, and the
   * first of them.
   * @param plan the plan's run
   */
  plannedOtherwise(
    run: number,
    plan: number,
    limit: number,
  ): Promise<{ readonly rows: number; readonly keys: readonly string[] }>
}
