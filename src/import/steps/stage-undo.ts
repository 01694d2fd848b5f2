// Stages an undo: the values that a run has changed become items, the records that it has made become removals. Each record is looked up,
// and what it holds of the values that are restored is stored as the image of its row: right before a batch is sent it is compared with
// that again. An interrupted stage starts again from the first row.

import { createHash } from 'node:crypto'
import type { RecordRepresentation } from '../../contract/index.ts'
import { ownValue } from '../../core/json.ts'
import { RETENTION_MS } from '../../core/limits.ts'
import type { DeletionCounts } from '../../core/domain/deletions.ts'
import type {
  AcceptedRecords,
  BeforeImage,
  BeforeImages,
  Removals,
  RowStaging,
  Run,
  RunClosing,
  RunReports,
  Runs,
  StageCounts,
} from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { itemKey } from '../mapping/key.ts'
import { readTarget, type Target } from '../mapping/target.ts'
import { propertyTypes, stagedMatchingProperty } from '../mapping/types.ts'
import type { ImportDeps } from '../ports.ts'
import type { StageJob } from './stage.ts'
import { stagedParts } from './staged-parts.ts'
import {
  lookUpItems,
  lookUpKeys,
  readRecordById,
  type Found,
  type PropertyValues,
} from '../look/look-up.ts'
import { changedFields } from '../look/as-written.ts'
import { changedProperties, changedSince } from '../judge/restorable.ts'
import {
  restoredRow,
  watermarkOnceUndone,
  type Restored,
  type RestoredValues,
} from './restored-row.ts'
import { undoWarnings, type UndoFindings } from './undo-warnings.ts'
import type { ReportChanges } from './undone-change.ts'
import { bindUndo, checkUndoRights, type UndoJob } from './bind-undo.ts'
import { isPart } from './undone-sync.ts'
import { undoActionOf, valuesOf, writtenRows, type UndoneRow } from '../judge/undo-rows.ts'

export type UndoStagingLedger = AcceptedRecords &
  BeforeImages &
  Removals &
  RowStaging &
  RunClosing &
  RunReports &
  Runs

export interface StagedUndo extends StageCounts {
  readonly fence: number
  readonly rows: number
  readonly findings: UndoFindings
  readonly warnings: readonly string[]
  readonly removals: DeletionCounts
}

/** @throws SyncError if the run wrote elsewhere, or the key may not take back what it wrote; nothing was sent then */
export async function stageUndo(
  deps: ImportDeps<UndoStagingLedger>,
  job: UndoJob & Pick<StageJob, 'stageFence'>,
  tell: ReportChanges = async () => {},
): Promise<StagedUndo> {
  const { ledger, tuning } = deps
  const { run, sync, task } = job
  const old = (await ledger.run(task.of))!
  const target = await withHeartbeat(deps, readTarget(deps, sync))
  await bindUndo(deps, job, old, target)
  await withHeartbeat(deps, ledger.prune(new Date(deps.clock.now() - RETENTION_MS).toISOString()))
  const fence = await ledger.beginStage(run, [ROW_COLUMN], job.stageFence)
  const stager = new UndoStager(deps, job, { old, fence, tell, target })
  for await (const rows of writtenRows(ledger, task)) {
    deps.signal.throwIfAborted()
    await stager.add(rows)
    deps.beat(rows.length)
  }
  await stager.addRemoved()
  const { findings, rows, digest } = stager.end()
  await withHeartbeat(deps, checkUndoRights(deps, target, { rows, ...findings }))
  const counts = await ledger.finishStage(run, fence, {
    rows,
    digest,
    skipUnchanged: false,
    rowsPerSegment: tuning.rows_per_segment,
  })
  const warnings = undoWarnings(findings, old)
  await ledger.addWarnings(run, warnings)
  return { ...counts, fence, rows, findings, warnings, removals: await ledger.removalCounts(run) }
}

/** The only cell of a row of an undo: the row of the run that it undoes. */
const ROW_COLUMN = 'row'
/** Keys that are looked up in one request. */
const LOOKED_UP_MAX = 100

/** Looks rows up, and stages them. */
class UndoStager {
  readonly #deps: ImportDeps<UndoStagingLedger>
  readonly #job: UndoJob
  readonly #old: Run
  readonly #fence: number
  readonly #tell: ReportChanges
  /** Properties that cannot be given another value. */
  readonly #fixed: ReadonlySet<string>
  readonly #typeOf: (property: string) => string
  readonly #matching: ReturnType<typeof stagedMatchingProperty>
  readonly #digest = createHash('sha256')
  readonly #counts = {
    restored: 0,
    kept: 0,
    keysChanged: 0,
    keysTaken: 0,
    valuesKept: 0,
    valuesFixed: 0,
    gone: 0,
    deletions: 0,
    made: 0,
    lost: 0,
    unknown: 0,
    cleared: 0,
    links: 0,
  }
  #rows = 0

  constructor(
    deps: ImportDeps<UndoStagingLedger>,
    job: UndoJob,
    {
      old,
      fence,
      tell,
      target,
    }: {
      readonly old: Run
      readonly fence: number
      readonly tell: ReportChanges
      readonly target: Target
    },
  ) {
    const config = job.sync.import
    this.#deps = deps
    this.#job = job
    this.#old = old
    this.#fence = fence
    this.#tell = tell
    const { properties } = target.schema
    this.#fixed = new Set(
      properties.filter(({ writability }) => writability !== 'writable').map(({ name }) => name),
    )
    this.#typeOf = propertyTypes(config, old.schema)
    this.#matching = stagedMatchingProperty(config, old.schema)
  }

  end() {
    return { findings: this.#counts, rows: this.#rows, digest: this.#digest.digest('hex') }
  }

  /** Of at most 100 rows. */
  async add(rows: readonly UndoneRow[]): Promise<void> {
    const { properties } = this.#job.task.choice
    const part = (action: ReturnType<typeof undoActionOf>) =>
      rows.filter((row) => undoActionOf(row) === action)
    this.#counts.unknown += part('unknown_before').length
    await this.#restore(part('restore'))
    if (properties === undefined) await this.#remove(part('delete'))
  }

  /** Records that the run has deleted are made again. */
  async addRemoved(): Promise<void> {
    const { ledger } = this.#deps
    const { sync, task } = this.#job
    if (isPart(task.choice)) return
    let images = 0
    for (let after = 0; ;) {
      const page = await ledger.removedImages(task.of, { after, limit: LOOKED_UP_MAX })
      if (page.length === 0) break
      after = page.at(-1)!.number
      images += page.length
      const keys = page.map(({ key }) => key)
      const names = [this.#matching.name]
      const found = await lookUpKeys(this.#deps, sync.import, this.#matching, keys, names)
      // One whose key has a record by now is sent as well, and left: that is looked up once more.
      const missing = page.filter(({ key }) => (found.ofKey.get(key)?.size ?? 0) === 0)
      const staged = page.map(({ number, key, before, watermark }) => {
        const held = Object.entries(valuesOf(before)).filter(([, value]) => value !== null)
        const values = Object.fromEntries(held)
        const item = { ordinal: number, line: 0, key }
        return this.#staged(item, { recordId: null, values, expected: null, watermark })
      })
      await this.#stage(staged)
      await this.#tell(
        missing.map(({ key, before }) => ({
          line: 0,
          key,
          verdict: 'make',
          recordId: null,
          changes: Object.entries(valuesOf(before)).flatMap(([property, after]) =>
            after === null ? [] : [{ property, before: null, after }],
          ),
        })),
      )
      this.#counts.made += missing.length
      this.#counts.kept += page.length - missing.length
      this.#counts.keysTaken += page.length - missing.length
      this.#deps.beat(page.length)
    }
    const { deleted: removed = 0, cleared = 0 } = await ledger.removalCounts(task.of)
    this.#counts.lost = removed - images
    this.#counts.cleared = cleared
    this.#counts.links = this.#old.counts?.links?.states.linked ?? 0
  }

  async #remove(rows: readonly UndoneRow[]): Promise<void> {
    if (rows.length === 0) return
    const { ledger } = this.#deps
    this.#counts.deletions += rows.length
    await ledger.addRemovals(
      this.#job.run,
      this.#fence,
      // The number is the row of the run that is undone: by it the removal finds its image.
      rows.map(({ item: { ordinal, key, recordId } }) => ({
        number: ordinal,
        key,
        recordId,
        cause: 'undo',
        state: 'pending',
        reason: null,
      })),
    )
  }

  async #restore(rows: readonly UndoneRow[]): Promise<void> {
    const { ledger } = this.#deps
    const { run, sync } = this.#job
    const { properties } = this.#job.task.choice
    const wanted = rows.flatMap((row) => {
      const sent = valuesOf(row.image!.sent)
      const before = valuesOf(row.image!.before!)
      const changed = changedProperties(sync.import, { sent, before }, this.#typeOf)
      const chosen = changed.filter((name) => properties === undefined || properties.includes(name))
      const names = chosen.filter((name) => !this.#fixed.has(name))
      this.#counts.valuesFixed += chosen.length - names.length
      return names.length === 0 ? [] : [{ ...row, image: row.image!, sent, before, names }]
    })
    if (wanted.length === 0) return
    const keys = wanted.map(({ item }) => item.key)
    const names = [...new Set([this.#matching.name, ...wanted.flatMap((row) => row.names)])]
    // A record may have its key in the form that the row had in its source.
    const asked = wanted.map(({ item: { key }, sent, before }) => ({
      key,
      sent: this.#keyIn(before) ?? this.#keyIn(sent) ?? {},
    }))
    const found = await lookUpItems(this.#deps, sync.import, this.#matching, asked, names)
    const accepted = await ledger.acceptedValues(run, keys)
    const staged: Restored[] = []
    for (const row of wanted)
      staged.push(await this.#restoredOf(row, found, accepted.get(row.item.key) ?? null))
    await this.#stage(staged)
    await this.#tell(
      staged.flatMap(({ item: { line, key }, image: { recordId }, changes }) =>
        changes.length === 0
          ? []
          : [{ line, key: key!, verdict: 'restore' as const, recordId, changes }],
      ),
    )
  }

  /** The rows, and what their records had before. */
  async #stage(staged: readonly Restored[]): Promise<void> {
    const { ledger } = this.#deps
    const { run } = this.#job
    for (const part of stagedParts(staged.map(({ item }) => item)))
      await ledger.stageItems(run, this.#fence, part)
    await ledger.recordImages(
      run,
      staged.map(({ image }) => image),
    )
  }

  async #restoredOf(
    {
      item,
      image,
      sent,
      before,
      names,
    }: UndoneRow & {
      readonly image: BeforeImage
      readonly sent: PropertyValues
      readonly before: PropertyValues
      readonly names: readonly string[]
    },
    found: Found,
    accepted: Parameters<typeof changedSince>[1]['accepted'],
  ): Promise<Restored> {
    const counts = this.#counts
    const only = (values: PropertyValues, of = names): PropertyValues =>
      Object.fromEntries(of.map((name) => [name, values[name] ?? null]))
    const recordId = item.recordId ?? image.recordId
    const shown = found.get(item.key)
    const other = shown === undefined ? await this.#readById(recordId) : null
    // The look-up asks for the forms that the images have; those of an undo have none.
    const record = shown ?? (other !== null && this.#hasKey(other, item.key) ? other : undefined)
    const held = (record?.properties ?? {}) as PropertyValues
    const {
      of,
      choice: { properties },
    } = this.#job.task
    const writer = { accepted, of, image }
    const changed = changedSince({ sent: only(sent), held }, writer, this.#typeOf)
    const back = new Set(changedFields(only(before), held, this.#typeOf))
    const left = names.filter((name) => !changed.has(name) || !back.has(name))
    const key = this.#keyIn(held) ?? this.#keyIn(before) ?? this.#keyIn(sent) ?? {}
    const isWhole = accepted !== null && properties === undefined
    const watermark = isWhole
      ? await watermarkOnceUndone(this.#deps.ledger, accepted, { of, image })
      : accepted?.watermark
    if (record === undefined) {
      if (other !== null) {
        counts.kept++
        counts.keysChanged++
      } else counts.gone++
    } else if (record.id !== recordId || left.length === 0) {
      counts.kept++
      counts.valuesKept += names.length
    } else {
      counts.valuesKept += names.length - left.length
      const changes = left
        .filter((name) => back.has(name))
        .map((property) => ({
          property,
          before: held[property] ?? null,
          after: before[property] ?? null,
        }))
      if (changes.length > 0) counts.restored++
      const staged = {
        recordId,
        values: only(before, left),
        expected: only(held, left),
        key,
        watermark,
      }
      return { ...this.#staged(item, staged), changes }
    }
    const staged = { recordId, values: only(before), expected: only(sent), key, watermark }
    return this.#staged(item, staged)
  }

  /** The value of the matching property among others, as it is there; null if there is none. */
  #keyIn(values: PropertyValues): PropertyValues | null {
    const { name } = this.#matching
    const value = ownValue(values, name) ?? null
    return value === null ? null : { [name]: value }
  }

  async #readById(recordId: string | null): Promise<RecordRepresentation | null> {
    const { sync } = this.#job
    return recordId === null ? null : await readRecordById(this.#deps, sync.import, recordId)
  }

  /** Whether a record has a key, in whatever form. */
  #hasKey({ properties }: RecordRepresentation, key: string): boolean {
    const { name, type, folds } = this.#matching
    return [properties[name] ?? []].flat().some((value) => itemKey(value, type, folds) === key)
  }

  #staged(row: Parameters<typeof restoredRow>[0], values: RestoredValues): Restored {
    const place = { ordinal: ++this.#rows, matching: this.#matching }
    const staged = restoredRow(row, values, place)
    this.#digest.update(`${row.ordinal} ${staged.item.hash}\n`)
    return staged
  }
}
