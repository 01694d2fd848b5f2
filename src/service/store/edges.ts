// The association edges of an org (section 2.6): from a source to a target, by association type.
// Promise kept here: no edge outlives one of its ends; a new edge replaces those that its creator sees and the cardinality
// excludes.

import type { Cardinality } from '../../contract/index.ts'

export interface Edge {
  readonly association: string
  readonly source: string
  readonly target: string
}

/** Ids of the records at the other end, by association type. */
type Ends = Map<string, Map<string, Set<string>>>

export class Edges {
  private readonly targets: Ends = new Map()
  private readonly sources: Ends = new Map()

  has({ association, source, target }: Edge): boolean {
    return this.targets.get(source)?.get(association)?.has(target) ?? false
  }

  /** The edges that `edge` replaces, because an end may have one partner only. */
  replacedBy(edge: Edge, cardinality: Cardinality): Edge[] {
    const { association, source, target } = edge
    const replaced: Edge[] = []
    if (cardinality === 'many_to_one' || cardinality === 'one_to_one') {
      for (const other of this.targets.get(source)?.get(association) ?? []) {
        if (other !== target) replaced.push({ association, source, target: other })
      }
    }
    if (cardinality === 'one_to_many' || cardinality === 'one_to_one') {
      for (const other of this.sources.get(target)?.get(association) ?? []) {
        if (other !== source) replaced.push({ association, source: other, target })
      }
    }
    return replaced
  }

  add({ association, source, target }: Edge): void {
    addEnd(this.targets, source, association, target)
    addEnd(this.sources, target, association, source)
  }

  remove({ association, source, target }: Edge): void {
    removeEnd(this.targets, source, association, target)
    removeEnd(this.sources, target, association, source)
  }

  /** The edges of a source, by association type and target id. */
  from(source: string): Edge[] {
    return edgesOf(this.targets, source, (association, target) => ({ association, source, target }))
  }

  /** Every edge that has the record as an end. */
  touching(id: string): Edge[] {
    const incoming = edgesOf(this.sources, id, (association, source) => ({
      association,
      source,
      target: id,
    }))
    return [...this.from(id), ...incoming]
  }
}

function addEnd(ends: Ends, from: string, association: string, to: string): void {
  let byType = ends.get(from)
  if (!byType) ends.set(from, (byType = new Map()))
  const ids = byType.get(association)
  if (ids) ids.add(to)
  else byType.set(association, new Set([to]))
}

function removeEnd(ends: Ends, from: string, association: string, to: string): void {
  const byType = ends.get(from)
  const ids = byType?.get(association)
  ids?.delete(to)
  if (ids?.size === 0) byType!.delete(association)
  if (byType?.size === 0) ends.delete(from)
}

function edgesOf(
  ends: Ends,
  id: string,
  edge: (association: string, other: string) => Edge,
): Edge[] {
  const found: Edge[] = []
  const byType = ends.get(id) ?? new Map<string, Set<string>>()
  for (const association of [...byType.keys()].sort()) {
    for (const other of [...byType.get(association)!].sort()) found.push(edge(association, other))
  }
  return found
}
