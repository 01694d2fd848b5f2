// Work that comes one by one and is carried out together: what comes while a group is at work is the next one.

interface Waiting<Work, Result> {
  readonly work: Work
  readonly size: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Carries out one group at a time. If a group of several fails, each of them is carried out alone.
 * @param sizeMax of a group; work that is larger is alone in one
 * @param carryOut gives the result of each, or fails without having carried out any
 */
export function inGroups<Work, Result>(
  sizeMax: number,
  carryOut: (group: readonly Work[]) => Promise<readonly Result[]>,
) {
  const waiting: Waiting<Work, Result>[] = []
  let isAtWork = false

  const next = (): readonly Waiting<Work, Result>[] => {
    let size = 0
    const end = waiting.findIndex((one, index) => (size += one.size) > sizeMax && index > 0)
    return waiting.splice(0, end === -1 ? waiting.length : end)
  }
  const end = async (group: readonly Waiting<Work, Result>[]): Promise<void> => {
    try {
      const results = await carryOut(group.map(({ work }) => work))
      group.forEach(({ resolve }, index) => resolve(results[index]!))
    } catch (error) {
      if (group.length === 1) group[0]!.reject(error)
      else for (const one of group) await end([one])
    }
  }
  const start = async (): Promise<void> => {
    isAtWork = true
    // What is asked for in one turn of the event loop is one group.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) await end(next())
    isAtWork = false
  }

  return (work: Work, size: number): Promise<Result> =>
    new Promise((resolve, reject) => {
      waiting.push({ work, size, resolve, reject })
      if (!isAtWork) void start()
    })
}
