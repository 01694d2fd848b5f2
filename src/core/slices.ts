// A list in slices of a size.

/** At most `size` items each, in order. */
export function slicesOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const slices: (readonly Item[])[] = []
  for (let first = 0; first < items.length; first += size)
    slices.push(items.slice(first, first + size))
  return slices
}
