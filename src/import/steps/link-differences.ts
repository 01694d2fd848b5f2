// Links that differ, as a reconciliation notes them: each is a record of its own, of the stream `links: ASSOCIATION`.

import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { excerpt, LINKS_STREAM, type Difference } from '../../core/domain/differences.ts'
import type { Differences, LinkPlace, LinkReports, PlannedLink } from '../../ledger/ledger.ts'
import { FIRST_LINK_PLACE } from '../look/places.ts'

const shown = (text: string): string => excerpt(JSON.stringify(text))

const ofLink = (association: string, key: string, target: string) => ({
  stream: `${LINKS_STREAM}${association}`,
  key: `${key} → ${target}`,
  // A repair of the row is none of the link.
  ordinal: null,
  field: null,
})

/** A row asks for it, and the service does not have it. */
export const missingLink = (
  { association, key, target }: Pick<PlannedLink, 'association' | 'key' | 'target'>,
  sourceId: string | null,
): Difference => ({
  ...ofLink(association, key, target),
  recordId: sourceId,
  kind: 'missing',
  whose: 'source',
  ours: shown(target),
  theirs: null,
})

/** The service has it, and no row asks for it. `unknown`: nothing is ever deleted for it. */
export const extraLink = ({
  association,
  key,
  sourceId,
  targetId,
}: {
  readonly association: string
  readonly key: string
  readonly sourceId: string
  readonly targetId: string
}): Difference => ({
  ...ofLink(association, key, targetId),
  recordId: sourceId,
  kind: 'extra',
  whose: 'unknown',
  ours: null,
  theirs: shown(targetId),
})

/** Notes that the links which a repair has made differ no more. */
export async function noteRepairedLinks(
  ledger: Differences & LinkReports,
  run: number,
): Promise<void> {
  const choice = { states: ['linked'] as const, limit: LEDGER_ROWS_MAX }
  // Bounded by the links: every page goes on behind the one before it.
  for (let after: LinkPlace | null = FIRST_LINK_PLACE; after !== null;) {
    const page: Awaited<ReturnType<LinkReports['reportLinks']>> = await ledger.reportLinks(run, {
      ...choice,
      after,
    })
    const repaired = page.links.map((link) => missingLink(link, link.sourceId))
    if (repaired.length > 0) await ledger.noteDifferences(run, repaired, { repaired: true })
    after = page.next
  }
}
