// What becomes of planned links before any is sent: those whose row was not written, or whose target does not exist, are settled; the
// others get the records of both ends.

import type { ItemState } from '../../core/domain/item-states.ts'
import type { ImportMode } from '../../core/domain/import-modes.ts'
import type { LinkOutcome, PlannedLink } from '../../ledger/ledger.ts'
import type { LinkScene } from './link-scene.ts'
import { missingOutcome, unanswered, type LinkToSend } from './link-outcome.ts'
import type { FoundRecord, RecordFinder } from './record-finder.ts'

export interface ChosenLinks {
  readonly send: readonly LinkToSend[]
  readonly settled: readonly LinkOutcome[]
}

/** What the state of its row means for a link. */
function rowMeaning(row: ItemState | null, mode: ImportMode): 'send' | 'spared' | 'absent' | 'not' {
  switch (row) {
    // Carried over: its row was of another run.
    case null:
    case 'created':
    case 'updated':
    case 'unchanged':
      return 'send'
    case 'exists':
      return mode === 'link' ? 'send' : 'spared'
    case 'absent':
      return mode === 'link' ? 'absent' : 'spared'
    default:
      return 'not'
  }
}

/** Decides about a page of links. @param mode of the import */
export async function chooseLinks(
  scene: LinkScene,
  mode: ImportMode,
  links: readonly PlannedLink[],
): Promise<ChosenLinks> {
  const settled: LinkOutcome[] = []
  const open: PlannedLink[] = []
  for (const link of links) {
    const outcome = beforeLookUp(scene, mode, link)
    if (outcome === null) open.push(link)
    else settled.push(outcome)
  }
  const sources = await findSources(scene, mode, open)
  const found = open.filter((link) => isRecord(sources(link)))
  for (const link of open)
    if (!isRecord(sources(link))) settled.push(withoutSource(scene, mode, link, sources(link)))
  const targets = await findTargets(scene, found)
  const send: LinkToSend[] = []
  for (const link of found) {
    const source = sources(link)
    const target = targets(link)
    const { missing } = scene.configured(link)!
    const ends = isRecord(source) ? { sourceId: source.id } : {}
    if (isRecord(target) && isRecord(source))
      send.push({ link, missing, sourceId: source.id, targetId: target.id })
    else if (target === 'several')
      settled.push(unanswered(link, 'rejected', 'ambiguous_target', ends))
    else settled.push(missingOutcome(link, missing, 'target_missing', ends))
  }
  return { send, settled }
}

const isRecord = (found: FoundRecord): found is { readonly id: string } => typeof found !== 'string'

function beforeLookUp(scene: LinkScene, mode: ImportMode, link: PlannedLink): LinkOutcome | null {
  const configured = scene.configured(link)
  if (configured === null) return unanswered(link, 'skipped', 'not_configured')
  switch (rowMeaning(link.row, mode)) {
    case 'send':
      return null
    case 'spared':
      return unanswered(link, 'skipped', 'row_spared')
    case 'absent':
      return missingOutcome(link, configured.missing, 'source_missing')
    case 'not':
      return unanswered(link, 'unsent', 'row_not_written')
  }
}

/** The records that links begin at: as the ledger has them with the row, else by the row's key. */
async function findSources(scene: LinkScene, mode: ImportMode, links: readonly PlannedLink[]) {
  // A row of an import that no run has brought in has no record of its own, whatever the service has under its key.
  const asked = links.filter(
    ({ sourceId, row }) => sourceId === null && (mode === 'link' || row !== null),
  )
  const found = await scene.sources.find(asked.map(({ key }) => key))
  return ({ key, sourceId }: PlannedLink): FoundRecord =>
    sourceId === null ? (found.get(key) ?? 'none') : { id: sourceId }
}

function withoutSource(
  scene: LinkScene,
  mode: ImportMode,
  link: PlannedLink,
  found: FoundRecord,
): LinkOutcome {
  if (found === 'several') return unanswered(link, 'rejected', 'ambiguous_match')
  if (mode === 'link')
    return missingOutcome(link, scene.configured(link)!.missing, 'source_missing')
  return link.row === null
    ? unanswered(link, 'unsent', 'row_not_written')
    : unanswered(link, 'rejected', 'source_missing')
}

async function findTargets(scene: LinkScene, links: readonly PlannedLink[]) {
  const groups = new Map<RecordFinder | null, PlannedLink[]>()
  for (const link of links) {
    const finder = scene.targets(link)
    const group = groups.get(finder)
    if (group) group.push(link)
    else groups.set(finder, [link])
  }
  const found = new Map<string, FoundRecord>()
  const nameOf = ({ to, by, target }: PlannedLink) => JSON.stringify([to, by, target])
  for (const [finder, group] of groups) {
    if (finder === null) continue
    const records = await finder.find(group.map(({ target }) => target))
    for (const link of group) found.set(nameOf(link), records.get(link.target)!)
  }
  return (link: PlannedLink): FoundRecord =>
    link.by === null ? { id: link.target } : found.get(nameOf(link))!
}
