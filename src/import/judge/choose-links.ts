// What becomes of planned links before any is sent: those whose row was not written, or whose target does not exist, are settled; the
// others get the records of both ends.

import type { ItemState } from '../../core/domain/outcomes.ts'
import type { ImportMode } from '../../core/domain/import-modes.ts'
import type { LinkOutcome, OvertakenReason, PlannedLink } from '../../ledger/ledger.ts'
import type { LinkScene } from './link-scene.ts'
import { missingOutcome, unanswered, type LinkToSend } from './link-outcome.ts'
import { isRecord, type FoundRecord, type RecordFinder } from '../look/record-finder.ts'

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
    case 'protected':
      return 'send'
    case 'exists':
      return mode === 'link' ? 'send' : 'spared'
    case 'not_found':
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
      settled.push(unanswered(link, 'refused', 'ambiguous_target', ends))
    else settled.push(missingOutcome(link, missing, 'target_missing', ends))
  }
  const overtaken = await overtakenBy(scene, send)
  for (const { link, sourceId, targetId } of send) {
    const reason = overtaken.get(link)
    if (reason !== undefined)
      settled.push(unanswered(link, 'not_wanted', reason, { sourceId, targetId }))
  }
  return { send: send.filter(({ link }) => !overtaken.has(link)), settled }
}

/**
 * Links whose only place, by their records, a later link of the run has: one of the page, or one that was sent before or is known.
 * Values may name the same record in several ways, so staging cannot know. Of a page only the last one is sent, so that no two of
 * them are in flight at a time.
 */
async function overtakenBy(
  scene: LinkScene,
  send: readonly LinkToSend[],
): Promise<ReadonlyMap<PlannedLink, OvertakenReason>> {
  const { oneTarget, oneSource } = scene.bounds
  const isBound = ({ link: { association } }: LinkToSend) =>
    oneTarget.includes(association) || oneSource.includes(association)
  const found = new Map<PlannedLink, OvertakenReason>()
  const bound = send.filter(isBound)
  const targets = new Map<string, string>()
  const sources = new Map<string, string>()
  for (const { link, sourceId, targetId } of bound.toReversed()) {
    const [source, target] = [sourceId, targetId].map((id) =>
      JSON.stringify([link.association, id]),
    )
    const other = oneTarget.includes(link.association) ? targets.get(source!) : undefined
    const owner = oneSource.includes(link.association) ? sources.get(target!) : undefined
    if (other !== undefined && other !== targetId) found.set(link, 'one_target')
    else if (owner !== undefined && owner !== sourceId) found.set(link, 'one_source')
    else {
      targets.set(source!, targetId)
      sources.set(target!, sourceId)
    }
  }
  const left = bound.filter(({ link }) => !found.has(link))
  const byPlace = new Map(left.map(({ link }) => [`${link.ordinal} ${link.number}`, link]))
  for (const { ordinal, number, reason } of await scene.overtaken(left))
    found.set(byPlace.get(`${ordinal} ${number}`)!, reason)
  return found
}

function beforeLookUp(scene: LinkScene, mode: ImportMode, link: PlannedLink): LinkOutcome | null {
  const configured = scene.configured(link)
  if (configured === null) return unanswered(link, 'not_wanted', 'not_configured')
  switch (rowMeaning(link.row, mode)) {
    case 'send':
      return null
    case 'spared':
      return unanswered(link, 'not_wanted', 'row_spared')
    case 'absent':
      return missingOutcome(link, configured.missing, 'source_missing')
    case 'not':
      return unanswered(link, 'not_sent', 'row_not_written')
  }
}

/** A row of an import that no run has brought in has no record of its own, whatever the service has under its key. */
const hasRecord = (mode: ImportMode, { row, isAccepted, sourceId }: PlannedLink): boolean =>
  mode === 'link' || row !== null || isAccepted || sourceId !== null

/** The records that have the keys of the rows now. Of several records of a key, that of the row itself counts. */
async function findSources(scene: LinkScene, mode: ImportMode, links: readonly PlannedLink[]) {
  const asked = links.filter((link) => hasRecord(mode, link))
  const own = asked.flatMap(({ key, sourceId }) =>
    sourceId === null || mode === 'link' ? [] : [[key, sourceId] as const],
  )
  const found = await scene.sources.find(
    asked.map(({ key }) => key),
    new Map(own),
  )
  return ({ key }: PlannedLink): FoundRecord => found.get(key) ?? 'none'
}

function withoutSource(
  scene: LinkScene,
  mode: ImportMode,
  link: PlannedLink,
  found: FoundRecord,
): LinkOutcome {
  if (found === 'several') return unanswered(link, 'refused', 'ambiguous_match')
  if (mode === 'link')
    return missingOutcome(link, scene.configured(link)!.missing, 'source_missing')
  return hasRecord(mode, link)
    ? unanswered(link, 'refused', 'source_missing')
    : unanswered(link, 'not_sent', 'row_not_written')
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
