// Work done side by side, a few things at a time. Deterministic, so that workflows may use it.

/**
 * Runs at most `limit` at a time; the first failure stops the rest from starting. Ends when every one that was begun has
 * ended, so that nobody works on after that.
 * @throws the first failure, in the order of the lanes
 */
export async function forEachConcurrent<Item>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items]
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await work(item)
      } catch (error) {
        queue.length = 0
        throw error
      }
    }
  }
  const lanes = Array.from({ length: Math.min(limit, items.length) }, lane)
  const results = await Promise.allSettled(lanes)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}
