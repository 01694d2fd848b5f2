// Links that a run has made are read back: the edges of their records are listed, of as many as the sync says. A link that the service
// answered and does not list is `not_kept`: it is not known as linked, and the next run sends it again.

import { forEachConcurrent } from '../../core/concurrency.ts'
import { ServiceFailure } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX, VERIFY_SAMPLE_LINKED } from '../../core/limits.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { LinkPage, LinkPlace, ReportedLink } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { stepPosition } from '../step-position.ts'
import type { LinkLedger } from '../judge/link-scene.ts'
import { FIRST_LINK_PLACE } from '../look/places.ts'
import { readEdges } from '../look/read-edges.ts'

/** How far it is: the last link that was looked at, and of how many records. */
const VERIFIED = 'links_verified'
const LISTED = 'listAssociationEdges'

interface LinksToVerify {
  readonly run: number
  readonly config: ImportConfig
  /** Of every linked record its links are read, whatever the sync says. */
  readonly isRepair: boolean
}

/** How many of the records that a run has linked there are to each one whose links are read back; null: none is read. */
export function verifyStep(
  { mode, verify }: Pick<ImportConfig, 'mode' | 'verify'>,
  linked: number,
): number | null {
  // A sync that only links writes no row that could be read back; its links are.
  const how = mode === 'link' ? 'sample' : verify
  if (how === 'none') return null
  return how === 'all' ? 1 : Math.max(1, Math.floor(linked / VERIFY_SAMPLE_LINKED))
}

/** Returns whether it came to the end before its time was over; what it did is in the ledger. */
export async function verifyLinks(
  deps: ImportDeps<LinkLedger>,
  { run, config, isRepair }: LinksToVerify,
  isLate: () => boolean,
): Promise<boolean> {
  const { ledger, logger, signal } = deps
  const place = await stepPosition<Position>(ledger, run, VERIFIED, {
    after: FIRST_LINK_PLACE,
    records: 0,
    every: null,
  })
  if (place.kept.after === null) return true
  const linked = (await ledger.progress(run)).links?.linked ?? 0
  const every =
    place.kept.every ?? (isRepair ? 1 : linked === 0 ? null : verifyStep(config, linked))
  if (every === null) return true
  const fence = await ledger.claimLinks(run)
  let { records } = place.kept
  let after: LinkPlace | null = place.kept.after
  let [read, lost] = [0, 0]
  // Bounded by the links: every page goes on behind the one before it.
  while (after !== null) {
    signal.throwIfAborted()
    const page: LinkPage<ReportedLink> = await ledger.reportLinks(run, {
      states: ['linked'],
      after,
      limit: LEDGER_ROWS_MAX,
    })
    const groups = recordsOf(page.links)
    const chosen = groups.filter((_, at) => (records + at) % every === 0)
    const missing: LinkPlace[] = []
    try {
      await forEachConcurrent(chosen, deps.tuning.in_flight, async (links) => {
        missing.push(...(await missingOf(deps, config.object_type, links)))
        deps.beat()
      })
    } catch (error) {
      if (!isNotOffered(error)) throw error
      await ledger.addWarnings(run, [NOT_READ])
      await place.keep({ after: null, records, every })
      return true
    }
    lost += await ledger.noteNotKept(run, fence, missing)
    read += chosen.length
    records += groups.length
    after = page.next
    await place.keep({ after, records, every })
    if (after !== null && isLate()) break
  }
  logger.info({ run, records: read, not_kept: lost }, 'links_verified')
  return after === null
}

interface Position {
  readonly after: LinkPlace | null
  readonly records: number
  readonly every: number | null
}

/** Links that follow each other and begin at the same record. */
function recordsOf(links: readonly ReportedLink[]): ReportedLink[][] {
  const groups: ReportedLink[][] = []
  for (const link of links) {
    const last = groups.at(-1)
    if (last?.[0]?.sourceId === link.sourceId) last.push(link)
    else groups.push([link])
  }
  return groups
}

async function missingOf(
  deps: ImportDeps,
  type: string,
  links: readonly ReportedLink[],
): Promise<readonly ReportedLink[]> {
  const { edges, isWhole } = await readEdges(deps, type, links[0]!.sourceId!)
  if (!isWhole) return []
  return links.filter(
    (link) =>
      !edges.some(
        ({ association, targetId }) =>
          association === link.association && targetId === link.targetId,
      ),
  )
}

const NOT_READ = `links were not read back: the key in use may not list the links of records, or the service does not offer ${LISTED}`

/** The service has no such operation, or does not let the key use it: links can be made without it. */
const isNotOffered = (error: unknown): boolean =>
  error instanceof ServiceFailure &&
  error.kind === 'problem' &&
  (error.status === 403 || error.status === 405 || error.status === 501)
