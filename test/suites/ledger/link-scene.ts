// What the tests of links share: links of rows, outcomes, and how a run sends them.

import { LINK_STATES, type LinkState } from '../../../src/core/domain/outcomes.ts'
import {
  BEFORE_LINKS,
  type ItemOutcome,
  type KnownLink,
  type Ledger,
  type LinkBounds,
  type LinkOutcome,
  type LinkPlace,
  type PlannedLink,
  type ReportedLink,
  type StagedLink,
} from '../../../src/ledger/ledger.ts'
import type { Purpose } from '../../../src/core/domain/purpose.ts'
import { close, destination, openRun, row, send, settle, type StageOptions } from './scene.ts'

export const ASSOCIATION = 'contact_company'
export const NO_BOUNDS: LinkBounds = { oneTarget: [], oneSource: [] }
export const ONE_TARGET: LinkBounds = { oneTarget: [ASSOCIATION], oneSource: [] }
export const ONE_SOURCE: LinkBounds = { oneTarget: [], oneSource: [ASSOCIATION] }

export const link = (
  ordinal: number,
  number: number,
  key: string,
  target: string,
  more: Partial<StagedLink> = {},
): StagedLink => ({
  ordinal,
  number,
  association: ASSOCIATION,
  key,
  to: 'svc_company',
  by: 'svc_domain',
  target,
  column: 'domain',
  ...more,
})

/** A row of a source: its key, and the targets that it names. */
export type LinkedRow = readonly [key: string, ...targets: string[]]

export const linksOf = (source: readonly LinkedRow[]): StagedLink[] =>
  source.flatMap(([key, ...targets], index) =>
    targets.map((target, at) => link(index + 1, at + 1, key, target)),
  )

export interface LinkStageOptions extends StageOptions {
  readonly bounds?: LinkBounds
  readonly keysRepeat?: boolean
  readonly mode?: 'run' | 'plan'
  readonly task?: { purpose?: Purpose; of?: number }
  /** The rows of the retried run that these are, by their ordinals. */
  readonly retried?: readonly number[]
}

/** A run whose rows and links are staged; the rows have the same content in each run. */
export async function stagedLinks(
  ledger: Ledger,
  source: readonly LinkedRow[],
  { bounds, keysRepeat, mode = 'run', task, retried, ...options }: LinkStageOptions = {},
) {
  const own = { ...destination, orgId: options.orgId ?? destination.orgId, ...options.destination }
  const { id: run } = await openRun(ledger, mode, own.sync, 'import', task)
  await ledger.bindDestination(run, own, { keyFingerprint: 'fp', warnings: [], schema: {} })
  const stageFence = await ledger.beginStage(run, ['id', 'domain'])
  const items = source.map(([key], index) => ({
    ...row(index + 1, key),
    ...(retried && { of: retried[index]! }),
  }))
  for (let first = 0; first < items.length; first += 1_000)
    await ledger.stageItems(run, stageFence, items.slice(first, first + 1_000))
  const links = linksOf(source)
  for (let first = 0; first < links.length; first += 1_000)
    await ledger.stageLinks(run, stageFence, links.slice(first, first + 1_000))
  const counts = await ledger.finishStage(run, stageFence, {
    rows: items.length,
    digest: 'd',
    rowsPerSegment: 100_000,
    ...(options.skipUnchanged !== undefined && { skipUnchanged: options.skipUnchanged }),
    ...(bounds && { linkBounds: bounds }),
    ...(keysRepeat !== undefined && { keysRepeat }),
  })
  return { run, stageFence, counts }
}

/** Sends all planned rows of a run; the record of a key is `record of` it. */
export async function pushRows(
  ledger: Ledger,
  run: number,
  state: 'created' | 'updated' | 'refused' = 'created',
  more: Partial<ItemOutcome> = {},
): Promise<void> {
  for (const segment of await ledger.openSegments(run)) {
    const claim = { run, segment, fence: await ledger.claimSegment(run, segment) }
    const next = () => ledger.nextPlanned(run, segment, { after: 0, attemptsBelow: 5, limit: 1 })
    // Bounded by the rows of the segment: each pass settles some.
    while ((await next()).length > 0)
      await settle(ledger, claim, await send(ledger, claim), state, more)
  }
}

export const outcome = (
  { ordinal, number }: LinkPlace,
  state: LinkState,
  more: Partial<LinkOutcome> = {},
): LinkOutcome => ({
  ordinal,
  number,
  state,
  sourceId: null,
  targetId: null,
  httpStatus:
    { linked: 201, refused: 422, outcome_unknown: 503, pending: 503 }[state as string] ?? null,
  requestId: state === 'linked' ? 'req' : null,
  code: null,
  reason: state === 'target_missing' ? 'target_missing' : null,
  detail: null,
  ...more,
})

/** All planned links of a run, page by page. */
export async function plannedLinks(
  ledger: Ledger,
  run: number,
  options: { limit?: number; attemptsBelow?: number } = {},
): Promise<PlannedLink[]> {
  const { limit = 1_000, attemptsBelow = 5 } = options
  const found: PlannedLink[] = []
  let after: LinkPlace | null = BEFORE_LINKS
  while (after !== null) {
    const page = await ledger.plannedLinks(run, { after, limit, attemptsBelow })
    found.push(...page.links)
    after = page.next
  }
  return found
}

/** All links of a run. */
export async function allLinks(ledger: Ledger, run: number): Promise<ReportedLink[]> {
  const found: ReportedLink[] = []
  let after: LinkPlace | null = BEFORE_LINKS
  while (after !== null) {
    const page = await ledger.reportLinks(run, { states: LINK_STATES, after, limit: 1_000 })
    found.push(...page.links)
    after = page.next
  }
  return found
}

/** The links of a run: `key→target state`, in their order. */
export const linkTexts = async (ledger: Ledger, run: number): Promise<string[]> =>
  (await allLinks(ledger, run)).map(({ key, target, state }) => `${key}→${target} ${state}`)

/** The link step of a run: each planned link gets the state that `stateOf` gives for it. */
export async function sendLinks(
  ledger: Ledger,
  run: number,
  stateOf: (link: PlannedLink) => LinkState = () => 'linked',
  bounds: LinkBounds = NO_BOUNDS,
) {
  const fence = await ledger.claimLinks(run)
  const links = await plannedLinks(ledger, run)
  let replaced = 0
  for (let first = 0; first < links.length; first += 1_000) {
    const some = links.slice(first, first + 1_000)
    const wanted = some.map((one) => {
      const { ordinal, number, key, target } = one
      const ids = { sourceId: one.sourceId ?? `id of ${key}`, targetId: `id of ${target}` }
      return { place: { ordinal, number, ...ids }, state: stateOf(one), ids }
    })
    const sent = wanted.filter(({ state }) => state !== 'target_missing' && state !== 'not_wanted')
    await ledger.recordLinksSent(
      run,
      fence,
      sent.map(({ place }) => place),
    )
    const settled = await ledger.settleLinks(
      run,
      fence,
      wanted.map(({ place, state, ids }) => outcome(place, state, state === 'linked' ? ids : {})),
      bounds,
    )
    replaced += settled.replaced
  }
  return { fence, replaced }
}

/** A closed run that read these rows, accepted them, and settled their links. */
export async function linkedRun(
  ledger: Ledger,
  source: readonly LinkedRow[],
  stateOf?: (link: PlannedLink) => LinkState,
  options: LinkStageOptions = {},
) {
  const { run, counts } = await stagedLinks(ledger, source, options)
  await pushRows(ledger, run)
  const { replaced } = await sendLinks(ledger, run, stateOf, options.bounds)
  await close(ledger, run)
  return { run, counts, replaced }
}

/** What is known in the destination of a run: `key→target state`, in order. */
export async function knownTexts(ledger: Ledger, run: number, limit = 2): Promise<string[]> {
  const found: KnownLink[] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<Ledger['knownLinks']>> = await ledger.knownLinks(run, {
      after,
      limit,
    })
    found.push(...page.links)
    after = page.next
  } while (after !== null)
  return found.map(({ key, target, state }) => `${key}→${target} ${state}`).toSorted()
}
