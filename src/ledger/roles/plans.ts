// Plans, and the runs that apply them. A plan is a run too: the number that people know it by is its id without the sign.

export interface Plans {
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
