// Whether a run can be undone, as the ledger knows it, before anything is begun.

import type { SyncConfig } from '../../../config/index.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { writesRecords } from '../../core/domain/import-modes.ts'
import type { UndoTask } from '../../core/domain/purpose.ts'
import { countText } from '../../core/format.ts'
import type { BeforeImages, Removals, Run, RunReports, Runs } from '../../ledger/ledger.ts'
import { isPart } from './undone-sync.ts'
import { jobOf } from '../../runs/job.ts'

type Asked = BeforeImages & Removals & RunReports & Runs

/** Why an undo of the run cannot be begun, in one sentence that says what to do; null if it can. @param run null: there is none */
export async function undoProblem(
  ledger: Asked,
  { of, choice }: UndoTask,
  run: Run | null,
  now: SyncConfig,
): Promise<string | null> {
  if (run === null) return `there is no run ${of}`
  const cannot = (why: string) => `run ${of}: ${why}`
  if (run.mode === 'plan') return cannot('it is a plan, and has written nothing')
  if (run.kind === 'mirror' || now.kind === 'mirror')
    return cannot('it is of a mirror, which writes nothing to the service')
  if (LIVE_STATES.includes(run.state))
    return cannot(`it is ${run.state}; cancel it, or wait for its end`)
  const { sync, purpose } = jobOf(run, 'import')
  const { object_type: type, matching_property: matching, mode, properties } = sync.import
  if (purpose === 'links' || !writesRecords(mode))
    return cannot('it wrote links alone, and links are not undone')
  if (type !== now.import.object_type || matching !== now.import.matching_property)
    return cannot(
      `it wrote ${type} by ${matching}, and ${now.name} writes ${now.import.object_type} by ${now.import.matching_property} now; set the sync as it was then, and undo again`,
    )
  const unknown = [
    ...(choice.properties ?? []),
    ...(choice.where ? [choice.where.property] : []),
  ].filter((name) => !Object.hasOwn(properties, name))
  if (unknown.length > 0)
    return cannot(
      `it wrote no property ${unknown.join(', ')}; it wrote: ${Object.keys(properties).join(', ')}`,
    )
  return await nothingLeft(ledger, run, choice)
}

async function nothingLeft(
  ledger: Asked,
  run: Run,
  choice: UndoTask['choice'],
): Promise<string | null> {
  const { properties, where } = choice
  const cannot = (why: string) => `run ${run.id}: ${why}`
  const { deleted: removed = 0, cleared = 0 } = run.counts?.removals ?? {}
  if (removed > 0 && !isPart(choice)) {
    const [image] = await ledger.removedImages(run.id, { after: 0, limit: 1 })
    if (image !== undefined) return null
  }
  const { created = 0, updated = 0, outcome_unknown: failed = 0 } = run.counts?.states ?? {}
  if (created + updated + failed === 0 && cleared > 0)
    return cannot(
      `it only changed ${countText(cleared, 'record')} by missing_rows: clear, and an undo does not take that back`,
    )
  if (created + updated + failed === 0)
    return cannot('it wrote no record, so nothing is to be undone')
  const states = ['created', 'updated', 'outcome_unknown'] as const
  const [first] = await ledger.report(run.id, { states, after: 0, limit: 1 })
  if (first === undefined)
    return cannot(
      'its rows are not in the ledger any more (they are kept for 30 days), so nothing of it can be undone',
    )
  const { create, update, unknown } = await ledger.imageCounts(run.id)
  if (create + update + unknown > 0) return null
  const none = 'it kept no before-images (keep_before: true keeps them)'
  const needsImages = properties !== undefined || where !== undefined
  if (created === 0 || needsImages)
    return cannot(
      `${none}, so it is not known what the ${countText(updated, 'record')} that it updated held before${needsImages && created > 0 ? `; without --property and --where its creations (${created}) can be undone` : ''}`,
    )
  return null
}
