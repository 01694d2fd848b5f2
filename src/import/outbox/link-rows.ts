// The link step of a run: links that are not known to be there are sent, once all rows of the run are. The state of a link is the
// checkpoint, as that of an item is.

import { IN_VALUES_MAX } from '../../contract/index.ts'
import { ITEM_ATTEMPTS_MAX } from '../../core/limits.ts'
import { isWholeScope } from '../../core/domain/purpose.ts'
import type { LinkPage, LinkPlace, PlannedLink, Run } from '../../ledger/ledger.ts'
import { jobOf } from '../../runs/job.ts'
import type { ImportDeps } from '../ports.ts'
import { PushSlice } from './push-slice.ts'
import { readsAll } from '../look/run-configs.ts'
import { stepPosition } from '../step-position.ts'
import { chooseLinks } from '../judge/choose-links.ts'
import { LinkDelivery, type LinkProgress } from './deliver-links.ts'
import { readLinkScene, type LinkLedger } from '../judge/link-scene.ts'
import { FIRST_LINK_PLACE } from '../look/places.ts'
import { verifyLinks } from './verify-links.ts'

/** What is kept from slice to slice: whether the step has begun, and how many links in a row were refused. */
const BEGUN = 'links_begun'
const REFUSED = 'links_refused'

/**
 * Sends the links of a run and reads some back, until none is left or time runs out. Returns whether none is left.
 * @throws Blocked if a person or the service has to mend something first; QuotaWait for a long wait; FenceLost if another worker has
 * taken the step over
 */
export async function linkRows(deps: ImportDeps<LinkLedger>, row: Run): Promise<boolean> {
  const { ledger } = deps
  const { id: run } = row
  const config = jobOf(row, 'import').sync.import
  const fence = await ledger.claimLinks(run)
  await begin(deps, row, fence)
  const isOpen = await hasOpen(deps, run)
  // What was read and looked up is lost with a slice that ends before a link is settled.
  const progress = { isMade: !isOpen }
  const slice = new PushSlice(deps, () => progress.isMade)
  try {
    if (isOpen && !(await sendOpen(deps, row, fence, { slice, progress }))) return false
    progress.isMade = true
    const isRepair = jobOf(row, 'import').reconcile?.repair === true
    return await verifyLinks(deps, { run, config, isRepair }, slice.isOver)
  } finally {
    slice.end()
  }
}

/** Sends what is open. Returns whether nothing is left. */
async function sendOpen(
  deps: ImportDeps<LinkLedger>,
  row: Run,
  fence: number,
  { slice, progress }: { readonly slice: PushSlice; readonly progress: LinkProgress },
): Promise<boolean> {
  const { ledger } = deps
  const { id: run, schema } = row
  const config = jobOf(row, 'import').sync.import
  const refused = await stepPosition(ledger, run, REFUSED, { inRow: 0 })
  const scene = await readLinkScene(deps, { run, config, schema })
  const job = { run, config, fence, scene }
  const { links } = await ledger.progress(run)
  const delivery = new LinkDelivery(deps, job, slice, {
    progress,
    refusedInRow: refused.kept.inRow,
    takesLinks: (links?.linked ?? 0) > 0,
  })
  const work = async (links: readonly PlannedLink[], isReplayed: boolean) => {
    const { send, settled } = await chooseLinks(scene, config.mode, links)
    await delivery.settle(settled)
    await delivery.send(send, isReplayed)
  }
  try {
    return await rounds(deps, run, slice, work)
  } finally {
    await refused.keep({ inRow: delivery.refusedInRow })
  }
}

/** What has to be done once before anything is sent: what is known and has changed is planned again, what is gone is forgotten. */
async function begin(deps: ImportDeps<LinkLedger>, row: Run, fence: number): Promise<void> {
  const { ledger, signal } = deps
  const begun = await stepPosition(ledger, row.id, BEGUN, { isDone: false })
  if (begun.kept.isDone) return
  const onSlice = () => {
    signal.throwIfAborted()
    deps.beat()
  }
  const { purpose, reconcile } = jobOf(row, 'import')
  await ledger.reopenLinks(row.id, fence, onSlice)
  if (purpose !== 'links' && (reconcile === undefined || isWholeScope(reconcile))) {
    const of = readsAll(row) ? 'all' : 'read keys'
    await ledger.forgetLinks(row.id, fence, { of }, onSlice)
  }
  await begun.keep({ isDone: true })
}

type Work = (links: readonly PlannedLink[], isReplayed: boolean) => Promise<void>

/**
 * First what was in flight when the last attempt ended, then everything planned; then, with growing waits, what the service failed
 * at. Returns whether nothing is left.
 */
async function rounds(
  deps: ImportDeps<LinkLedger>,
  run: number,
  slice: PushSlice,
  work: Work,
): Promise<boolean> {
  const { ledger, clock, tuning, signal } = deps
  // As many as one look-up has keys: it is not old when they are sent.
  const limit = IN_VALUES_MAX
  for (let round = 1; round <= ITEM_ATTEMPTS_MAX; round++) {
    await eachPage(
      slice,
      (after) => ledger.sentLinks(run, { after, limit }),
      (links) => work(links, true),
    )
    await eachPage(
      slice,
      (after) => ledger.plannedLinks(run, { after, limit, attemptsBelow: round }),
      (links) => work(links, false),
    )
    signal.throwIfAborted()
    if (slice.isOver()) return false
    if (!(await hasOpen(deps, run))) return true
    const waits = tuning.item_backoff_ms
    await clock.sleep(waits[Math.min(round, waits.length) - 1] ?? 0, signal)
  }
  return true
}

/** Bounded by the links: every page goes on behind the one before it. */
async function eachPage(
  slice: PushSlice,
  read: (after: LinkPlace) => Promise<LinkPage<PlannedLink>>,
  work: (links: readonly PlannedLink[]) => Promise<void>,
): Promise<void> {
  for (let after: LinkPlace | null = FIRST_LINK_PLACE; after !== null && !slice.mustStop();) {
    const { links, next }: LinkPage<PlannedLink> = await read(after)
    if (links.length > 0) await work(links)
    after = next
  }
}

/** Whether links may be sent still. */
async function hasOpen({ ledger }: ImportDeps<LinkLedger>, run: number): Promise<boolean> {
  const attemptsBelow = ITEM_ATTEMPTS_MAX
  const pages = [
    (after: LinkPlace) => ledger.plannedLinks(run, { after, limit: 1, attemptsBelow }),
    (after: LinkPlace) => ledger.sentLinks(run, { after, limit: 1 }),
  ]
  for (const read of pages)
    for (let after: LinkPlace | null = FIRST_LINK_PLACE; after !== null;) {
      const { links, next }: LinkPage<PlannedLink> = await read(after)
      if (links.length > 0) return true
      after = next
    }
  return false
}
