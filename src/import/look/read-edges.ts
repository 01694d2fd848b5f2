// The links of one record, as the service lists them.

import { isNotFound } from '../../core/errors.ts'
import { heartbeatEach } from '../../runs/heartbeat.ts'
import type { ImportDeps } from '../ports.ts'

/** Pages of a listing. */
const PAGES_MAX = 1_000

export interface ListedEdge {
  readonly association: string
  readonly targetId: string
}

/** The edges of a record, none of one that is gone; and whether they are all of them. */
export async function readEdges(
  deps: Pick<ImportDeps, 'client' | 'signal' | 'priority' | 'clock' | 'tuning' | 'beat'>,
  type: string,
  id: string,
): Promise<{ readonly edges: readonly ListedEdge[]; readonly isWhole: boolean }> {
  const { client, signal, priority } = deps
  const edges: ListedEdge[] = []
  let pages = 0
  try {
    const read = client.associationEdgePages(type, id, { signal, priority })
    for await (const { data } of heartbeatEach(deps, read)) {
      for (const { association_type: association, target_id: targetId } of data)
        edges.push({ association, targetId })
      if (++pages >= PAGES_MAX) return { edges, isWhole: false }
    }
  } catch (error) {
    if (isNotFound(error)) return { edges: [], isWhole: true }
    throw error
  }
  return { edges, isWhole: true }
}
