// An end of a link that the service does not find, although a look-up had it: it is looked up once more by its key, and the link goes to
// the record that has the key now.

import type { ServiceFailure } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { LinkOutcome } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'
import { noteRecordsGone } from '../look/gone-records.ts'
import { readDefinitions, type LinkJob, type LinkLedger } from './link-scene.ts'
import { missingOutcome, refusedLink, unanswered, type LinkToSend } from './link-outcome.ts'

type Next = { readonly outcome: LinkOutcome } | LinkToSend

/** Each end of a link is looked up again once. */
export function missingEnds(deps: ImportDeps<LinkLedger>, { run, config, scene }: LinkJob) {
  const noted = new Set<string>()
  /** What is known of links at this record does not hold, whichever sync made them. */
  const noteGone = async (objectType: string, id: string): Promise<void> => {
    const name = JSON.stringify([objectType, id])
    if (noted.has(name)) return
    // Said again it does no harm.
    if (noted.size >= LEDGER_ROWS_MAX) noted.clear()
    noted.add(name)
    await noteRecordsGone(deps, { run, objectType }, [id])
  }

  const target = async (sent: LinkToSend, failure: ServiceFailure): Promise<Next> => {
    const { link, missing, sourceId, targetId, asked } = sent
    const finder = scene.targets(link)
    if (finder === null) {
      await noteGone(link.to, targetId)
      return { outcome: missingOutcome(link, missing, 'target_missing', { sourceId }) }
    }
    if (asked?.target) return { outcome: refusedLink(sent, 'refused', failure) }
    const found = (await finder.find([link.target])).get(link.target)!
    if (typeof found === 'string' || found.id !== targetId) await noteGone(link.to, targetId)
    if (found === 'none')
      return { outcome: missingOutcome(link, missing, 'target_missing', { sourceId }) }
    if (found === 'several')
      return { outcome: unanswered(link, 'refused', 'ambiguous_target', { sourceId }) }
    // It is found, and yet the service does not take it.
    if (found.id === targetId) return { outcome: refusedLink(sent, 'refused', failure) }
    return { ...sent, targetId: found.id, asked: { ...asked, target: true } }
  }

  /** The record, the association or, where it is in the path, the target is not there. */
  const gone = async (sent: LinkToSend, failure: ServiceFailure): Promise<Next> => {
    const { link, missing, sourceId, targetId, asked } = sent
    if (asked?.source) return await target(sent, failure)
    const found = (await scene.sources.find([link.key])).get(link.key)!
    if (typeof found === 'string' || found.id !== sourceId)
      await noteGone(config.object_type, sourceId)
    if (found === 'none')
      return {
        outcome:
          config.mode === 'link'
            ? missingOutcome(link, missing, 'source_missing', { targetId })
            : unanswered(link, 'refused', 'source_missing', { targetId }),
      }
    if (found === 'several')
      return { outcome: unanswered(link, 'refused', 'ambiguous_match', { targetId }) }
    const again = { ...sent, sourceId: found.id, asked: { ...asked, source: true } }
    if (found.id !== sourceId) return again
    // Blocks the run if it is the association.
    await readDefinitions(deps, config)
    return await target(again, failure)
  }

  return { target, gone }
}
