// A list in slices of a number of items, or of a size.

/** At most `size` items each, in order. */
export function slicesOf<Item>(items: readonly Item[], size: number): (readonly Item[])[] {
  const slices: (readonly Item[])[] = []
  for (let first = 0; first < items.length; first += size)
    slices.push(items.slice(first, first + size))
  return slices
}

/** The list in order, in parts whose sizes sum up to at most `max`, or of one element that is larger. */
export function partition<Element>(
  list: readonly Element[],
  sizeOf: (element: Element) => number,
  max: number,
): Element[][] {
  const parts: Element[][] = []
  let room = 0
  for (const element of list) {
    const size = sizeOf(element)
    if (size > room || parts.length === 0) {
      parts.push([])
      room = max
    }
    parts.at(-1)!.push(element)
    room -= size
  }
  return parts
}
