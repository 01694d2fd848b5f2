// What the images of rows say in properties: which of them a row changes, what each held before, and what it gets.

import type { KeptCounts } from '../../core/domain/books.ts'
import { ROW_VERDICTS, type RowVerdict } from '../../core/domain/row-changes.ts'
import { ownValue, parseJson, type Json } from '../../core/json.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import type { BeforeImage, BeforeImages, ImagedItem } from '../../ledger/ledger.ts'
import { propertyTypes } from '../mapping/types.ts'
import type { StagedImport } from '../ports.ts'
import { changedFields } from '../look/as-written.ts'
import type { PropertyValues } from '../look/look-up.ts'
import { keptOf } from './as-sent.ts'
import type { PropertyTotal } from './stored-plan.ts'

/** A property that a row changes. */
export interface PropertyChange {
  readonly property: string
  /** Null: no value. */
  readonly before: Json
  readonly after: Json
  /** Of a row that changes other properties: others changed this one, and it stays as it is; `after` is what the row has. */
  readonly kept?: true
}

/** A row that was looked up. */
export interface PlannedChange extends Pick<ImagedItem, 'line' | 'key' | 'verdict' | 'recordId'> {
  /** Of a new record all properties with a value; of an update those that get another one, and those that are kept; of a row that others changed what it would write; otherwise none. */
  readonly changes: readonly PropertyChange[]
  /** How many of them are written over although the sync, which protects values, has not written them before. */
  readonly writtenOver?: number
}

const CREATES: readonly RowVerdict[] = ['create', 'unknown']

const hasValue = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

/** Reads the changes of an image. */
export function imageChangeReader({ config, schema }: Omit<StagedImport, 'run'>) {
  const typeOf = propertyTypes(config, schema)
  return (
    image: Pick<BeforeImage, 'verdict' | 'before' | 'sent' | 'kept'>,
  ): readonly PropertyChange[] => {
    const kept = keptOf(image).map(({ property, ours, theirs }) => ({
      property,
      before: theirs,
      after: ours,
    }))
    if (image.verdict === 'protected' || image.verdict === 'changed') return kept
    const isNew = CREATES.includes(image.verdict)
    if (!isNew && image.verdict !== 'update') return []
    const sent = parseJson(image.sent) as PropertyValues
    const held = image.before === null ? {} : (parseJson(image.before) as PropertyValues)
    const names = isNew
      ? Object.keys(sent).filter((name) => hasValue(sent[name]))
      : changedFields(sent, held, typeOf)
    return [
      ...names.map((property) => ({
        property,
        before: ownValue(held, property) ?? null,
        after: sent[property]!,
      })),
      ...kept.map((change) => ({ ...change, kept: true as const })),
    ]
  }
}

/** All rows of a plan that were looked up, in pages, in the order of the source. Bounded by the images. */
export async function* plannedChanges(
  ledger: BeforeImages,
  { run, ...staged }: StagedImport,
): AsyncGenerator<readonly PlannedChange[]> {
  const changesOf = imageChangeReader(staged)
  const page = { limit: LEDGER_ROWS_MAX, verdicts: ROW_VERDICTS }
  for (let after = 0; ;) {
    const images = await ledger.images(run, { ...page, after })
    if (images.length === 0) return
    yield images.map((image) => {
      const { line, key, verdict, recordId, writtenOver } = image
      return {
        line,
        key,
        verdict,
        recordId,
        changes: changesOf(image),
        ...(writtenOver && { writtenOver }),
      }
    })
    after = images.at(-1)!.ordinal
  }
}

/** Counts the properties of updates; those that most rows change come first. */
export class PropertyTotals {
  readonly #counts = new Map<string, { rows: number; cleared: number; kept?: number }>()
  readonly #over = { values: 0, rows: 0 }

  add({
    verdict,
    changes,
    writtenOver = 0,
  }: Pick<PlannedChange, 'verdict' | 'changes' | 'writtenOver'>): void {
    if (verdict !== 'update') return
    this.#over.values += writtenOver
    if (writtenOver > 0) this.#over.rows++
    for (const { property, after, kept = false } of changes) {
      const counts = this.#counts.get(property) ?? { rows: 0, cleared: 0 }
      if (kept) counts.kept = (counts.kept ?? 0) + 1
      else counts.rows += 1
      if (!kept && !hasValue(after)) counts.cleared += 1
      this.#counts.set(property, counts)
    }
  }

  /** Values that are written over although the sync has not written them before; null if none. */
  get writtenOver(): KeptCounts | null {
    return this.#over.values === 0 ? null : this.#over
  }

  get sorted(): readonly PropertyTotal[] {
    return [...this.#counts]
      .map(([property, counts]) => ({ property, ...counts }))
      .toSorted((a, b) => b.rows - a.rows)
  }
}
