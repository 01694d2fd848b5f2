// Slices of what is looked up: as much as one request can ask for.

import { IN_VALUES_MAX } from '../../contract/index.ts'

/** At most 100 items each, in order. */
export function slicesOf<Item>(items: readonly Item[]): (readonly Item[])[] {
  const slices: (readonly Item[])[] = []
  for (let first = 0; first < items.length; first += IN_VALUES_MAX)
    slices.push(items.slice(first, first + IN_VALUES_MAX))
  return slices
}
