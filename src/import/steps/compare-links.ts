// Compares the links of a reconciliation with the edges that the service has: one listing for each record with links. What a row asks
// for and the service has is `unchanged`; what it lacks stays planned, for a repair to send; what no row asks for is reported and left,
// because the service has no operation that unlinks.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { forEachConcurrent } from '../../core/concurrency.ts'
import { isWholeScope, type ReconcileScope } from '../../core/domain/purpose.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type {
  Differences,
  KnownLink,
  LinkOutcome,
  LinkPage,
  LinkPlace,
  PlannedLink,
  RowStaging,
  RunReports,
} from '../../ledger/ledger.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { stepPosition } from '../step-position.ts'
import { keysOfRows } from '../look/open-keys.ts'
import { chooseLinks } from '../judge/choose-links.ts'
import { extraLink, missingLink } from './link-differences.ts'
import { unanswered, type LinkToSend } from '../judge/link-outcome.ts'
import { readLinkScene, type LinkLedger, type LinkScene } from '../judge/link-scene.ts'
import { FIRST_LINK_PLACE } from '../look/places.ts'
import { readEdges, type ListedEdge } from '../look/read-edges.ts'

type ComparingLedger = LinkLedger & Differences & RowStaging & RunReports
type Deps = ImportDeps<ComparingLedger>

export interface LinkComparison extends StagedImport {
  readonly scope: ReconcileScope
}

/** Steps: how far the rows of the run are compared, and what else is known. */
const ROWS = 'links_compared'
const KNOWN = 'known_links_compared'

/** Returns whether it came to the end before its time was over; what it did is in the ledger. */
export async function compareLinks(
  deps: Deps,
  job: LinkComparison,
  isLate: () => boolean,
): Promise<boolean> {
  const { ledger, signal } = deps
  const { run, config } = job
  if (config.links === undefined) return true
  const fence = await ledger.claimLinks(run)
  const scene = await readLinkScene(deps, job)
  const place = await stepPosition<{ after: LinkPlace | null }>(ledger, run, ROWS, {
    after: FIRST_LINK_PLACE,
  })
  // Bounded by the links: every page goes on behind the one before it.
  for (let { after } = place.kept; after !== null;) {
    signal.throwIfAborted()
    const { links, next } = await wholeRows(deps, run, after)
    await compareRows(deps, job, { scene, fence, links })
    after = next
    await place.keep({ after })
    if (isLate()) return false
  }
  return !isWholeScope(job.scope) || (await compareKnown(deps, job, scene, isLate))
}

/** A page that ends with the last link of a row; of a row with more links than a page has, all of them. */
async function wholeRows(
  { ledger }: Deps,
  run: number,
  first: LinkPlace,
): Promise<LinkPage<PlannedLink>> {
  const links: PlannedLink[] = []
  // Bounded by the links of one row and a page.
  for (let after = first; ;) {
    const page = await ledger.plannedLinks(run, {
      after,
      limit: IN_VALUES_MAX,
      attemptsBelow: Number.MAX_SAFE_INTEGER,
    })
    links.push(...page.links)
    if (page.next === null) return { links, next: null }
    after = page.next
    const last = links.at(-1)
    const isOfLast = ({ ordinal }: PlannedLink) => ordinal === last?.ordinal
    const from = links.findIndex(isOfLast)
    if (from <= 0) continue
    const whole = links.slice(0, from)
    const { ordinal, number } = whole.at(-1)!
    return { links: whole, next: { ordinal, number } }
  }
}

const placeText = ({ ordinal, number }: LinkPlace) => `${ordinal} ${number}`

async function compareRows(
  deps: Deps,
  { run, config }: LinkComparison,
  { scene, fence, links }: { scene: LinkScene; fence: number; links: readonly PlannedLink[] },
): Promise<void> {
  const { ledger, tuning } = deps
  // A record that is missing itself is made by the repair of its row, and its links after that.
  const isMissing = ({ row, sourceId }: PlannedLink) => row === 'pending' && sourceId === null
  const missing = links.filter(isMissing)
  const there = links
    .filter((link) => !isMissing(link))
    .map((link) => (link.row === 'pending' ? { ...link, row: 'unchanged' as const } : link))
  const { send, settled } = await chooseLinks(scene, config.mode, there)
  // A row whose key no record has now is a difference itself; so are its links.
  const isLost = ({ state, reason }: LinkOutcome) =>
    config.mode !== 'link' && state === 'refused' && reason === 'source_missing'
  const lost = new Set(settled.filter(isLost).map(placeText))
  missing.push(...there.filter((link) => lost.has(placeText(link))))
  const groups = new Map<string, LinkToSend[]>()
  for (const one of send) groups.set(one.sourceId, [...(groups.get(one.sourceId) ?? []), one])
  const outcomes = settled.filter((outcome) => !isLost(outcome))
  const differences = missing.map((link) => missingLink(link, null))
  await forEachConcurrent([...groups], tuning.in_flight, async ([sourceId, group]) => {
    const { edges } = await readEdges(deps, config.object_type, sourceId)
    const compared = compareRecord(group, edges)
    outcomes.push(...compared.equal)
    differences.push(...compared.missing.map(({ link }) => missingLink(link, sourceId)))
    // Rows of a source of links may share a record: what the others ask for is not known here.
    if (config.mode !== 'link')
      for (const edge of compared.extra)
        differences.push(extraLink({ ...edge, key: group[0]!.link.key, sourceId }))
    deps.beat()
  })
  for (let at = 0; at < differences.length; at += LEDGER_ROWS_MAX)
    await ledger.noteDifferences(run, differences.slice(at, at + LEDGER_ROWS_MAX), {
      repaired: false,
    })
  for (let at = 0; at < outcomes.length; at += LEDGER_ROWS_MAX)
    await ledger.settleLinks(run, fence, outcomes.slice(at, at + LEDGER_ROWS_MAX), scene.bounds)
}

function compareRecord(group: readonly LinkToSend[], edges: readonly ListedEdge[]) {
  const has = (association: string, id: string) =>
    edges.some((edge) => edge.association === association && edge.targetId === id)
  const equal: LinkOutcome[] = []
  const missing: LinkToSend[] = []
  const named = new Set<string>()
  for (const sent of group) {
    const { link, sourceId, targetId } = sent
    named.add(JSON.stringify([link.association, targetId]))
    if (has(link.association, targetId))
      equal.push(unanswered(link, 'unchanged', null, { sourceId, targetId }))
    else missing.push(sent)
  }
  const associations = new Set(group.map(({ link }) => link.association))
  const extra = edges.filter(
    ({ association, targetId }) =>
      associations.has(association) && !named.has(JSON.stringify([association, targetId])),
  )
  return { equal, missing, extra }
}

/** Links that earlier runs made, and that no row of this run asks for: which of them the service still has. */
async function compareKnown(
  deps: Deps,
  { run, config }: LinkComparison,
  scene: LinkScene,
  isLate: () => boolean,
): Promise<boolean> {
  const { ledger, signal, tuning } = deps
  const place = await stepPosition<{ after: string | null; isDone: boolean }>(ledger, run, KNOWN, {
    after: null,
    isDone: false,
  })
  // Links that a correction has brought in stay with its row, as its values do.
  const corrected = await keysOfRows(ledger, run, ['corrected'])
  // Bounded by what is known: every page goes on behind the one before it.
  for (let { after, isDone } = place.kept; !isDone;) {
    signal.throwIfAborted()
    const { links, next } = await ledger.knownLinks(run, { after, limit: LEDGER_ROWS_MAX })
    const stale = links.filter(
      (link) =>
        link.state === 'linked' &&
        link.run !== run &&
        scene.configured(link) !== null &&
        !corrected.has(link.key),
    )
    const bySource = new Map<string, KnownLink[]>()
    // Of records that were compared all edges of the association were looked at.
    for (const link of stale)
      if (link.sourceId !== null && (config.mode === 'link' || !link.isCompared))
        bySource.set(link.sourceId, [...(bySource.get(link.sourceId) ?? []), link])
    await forEachConcurrent([...bySource], tuning.in_flight, async ([sourceId, known]) => {
      const { edges } = await readEdges(deps, config.object_type, sourceId)
      const there = known.filter(({ association, targetId }) =>
        edges.some((edge) => edge.association === association && edge.targetId === targetId),
      )
      const extra = there.length === 0 ? [] : await ofNoOtherKey(deps, scene, run, there)
      const differences = extra.map(({ association, key, targetId }) =>
        extraLink({ association, key, sourceId, targetId: targetId! }),
      )
      if (differences.length > 0)
        await ledger.noteDifferences(run, differences, { repaired: false })
      deps.beat()
    })
    after = next
    isDone = next === null
    await place.keep({ after, isDone })
    if (isLate()) return isDone
  }
  return true
}

/** Links of a record without those that rows of another key ask for, which the record has by now. */
async function ofNoOtherKey(
  { ledger }: Deps,
  scene: LinkScene,
  run: number,
  links: readonly KnownLink[],
): Promise<readonly KnownLink[]> {
  const keys = (await scene.sources.keysOf(links[0]!.sourceId!)).filter((key) => key !== null)
  const asked = [...(await ledger.knownLinksOf(run, keys)).values()].flat()
  return links.filter(
    ({ association, key, targetId }) =>
      !asked.some(
        (other) =>
          other.key !== key &&
          other.association === association &&
          other.targetId === targetId &&
          other.isCompared,
      ),
  )
}
