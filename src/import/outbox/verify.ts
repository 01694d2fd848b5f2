// Verify: what was written is read back, by `in` filters of 100 keys, and compared: as much of it as the sync says, and every item
// whose answer showed something else. Accepted but different is a result of its own. Items whose answer was lost are settled by
// asking, before they are reported as failed. What was read back is recorded page by page: after a failure, verify goes on with what
// was not read yet. With `verify: all` also what an earlier run wrote, and has not read back.

import { IN_VALUES_MAX, type PropertyWire } from '../../contract/index.ts'
import { VERIFY_SAMPLE_ROWS } from '../../core/limits.ts'
import { SECOND_RECORD } from '../../core/domain/held-back.ts'
import { modeEntry } from '../../core/domain/import-modes.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import { wasAccepted } from '../../core/domain/outcomes.ts'
import type {
  AcceptedRecords,
  BeforeImages,
  RowStaging,
  Runs,
  StepStates,
  Verification,
  VerificationResult,
  WrittenItem,
} from '../../ledger/ledger.ts'
import { afterOf } from '../look/after-write.ts'
import { asSentReader } from '../judge/as-sent.ts'
import { shareNoter } from '../../runs/step-share.ts'
import { hiddenFrom } from '../look/key-view.ts'
import { ANSWERED_OTHER_RECORD } from '../look/answered.ts'
import { sentWithOtherKey } from '../judge/second-records.ts'
import { differingFields } from '../look/compare.ts'
import { formTallies, type RowReadBack } from '../look/learnt-forms.ts'
import { previousValues } from '../look/previous-values.ts'
import {
  lookUpItems,
  parsed,
  readImportedType,
  type Found,
  type ParsedItem,
  type PropertyValues,
} from '../look/look-up.ts'
import { createItemHasher } from '../look/baseline-hashes.ts'
import { otherRecordsOf, otherRecordsReader } from '../look/other-records.ts'
import type { ImportDeps, StagedImport } from '../ports.ts'
import { readBackResult } from '../look/read-back.ts'
import {
  currentMatchingProperty,
  isCompared,
  isWrittenProperty,
  propertyTypes,
} from '../mapping/types.ts'

/** What reading back showed, in items, since the last start. */
export interface VerifyResult {
  readonly read: number
  readonly equal: number
  readonly different: number
  readonly missing: number
  readonly normalised: number
}

const ownValueText = (property: string): string =>
  `${property}: the service holds another value than was sent; if it keeps one of its own there on purpose, write \`compare: false\` into the mapping of the property: it is then not compared, and its rows are sent once more, and not again`

/** Of an undo, and of a run that ended before its time: what was sent may have been written over since. */
const writtenSinceText = (property: string): string =>
  `${property}: a record holds another value than was sent; a later run or others may have written it since, or the request was not carried out: look at the rows that are left`

const OTHER_RECORDS = `the service answered rows with records of other keys than were sent (${ANSWERED_OTHER_RECORD}): what it wrote there is not known; look at these records`

const SECOND_RECORDS = `rows were written to a second record of their key, or may have been (${SECOND_RECORD}): look at the records of each key at the service, with a key that sees all of them, and delete those that are too many`

const DIFFERENT: ReturnType<typeof readBackResult> = {
  verdict: 'different',
  field: null,
  readBack: null,
  seen: null,
  told: null,
}

/** The record is not the only one of its key, whatever it holds. */
const ofSeveral = (item: WrittenItem, detail: string | undefined): typeof DIFFERENT =>
  detail !== undefined && item.answered !== SECOND_RECORD
    ? { ...DIFFERENT, told: { reason: SECOND_RECORD, detail, column: null, value: null } }
    : DIFFERENT

/** The service answered with another record: that the right one is as it was sent does not show which one was written. */
const stillOther = (read: typeof DIFFERENT): typeof DIFFERENT =>
  read.verdict === 'equal' || read.verdict === 'normalised' ? DIFFERENT : read

interface Job extends StagedImport {
  /** Null if only what is in doubt is asked for. */
  readonly written: number | null
  /** Rows of the run; null if nobody watches how far it is. */
  readonly rows: number | null
}

export type VerifyLedger = AcceptedRecords &
  BeforeImages &
  RowStaging &
  Runs &
  StepStates &
  Verification

/** Verifies a run's written items as the sync says, and settles those in doubt. */
export async function verify(deps: ImportDeps<VerifyLedger>, job: Job): Promise<VerifyResult> {
  const { ledger } = deps
  const { run, config, schema } = job
  const verdictOf = verdictReader(ledger, job)
  const asSent = asSentReader(ledger, job)
  const result = { read: 0, equal: 0, different: 0, missing: 0, normalised: 0 }
  const every = stepOf(job)
  const warned = new Set<string>()
  const noteShare = shareNoter(deps, run, 'verify')
  const tallies = await formTallies(ledger, run)
  const learns = tallies !== null
  const answeredForms = answeredFormReader(ledger, job)
  let after = 0
  let properties: readonly PropertyWire[] | null = null
  // Bounded by the run's items: every pass moves `after` forward.
  for (;;) {
    deps.signal.throwIfAborted()
    const written = await ledger.written(run, { after, every, limit: IN_VALUES_MAX })
    const items = (await asSent(written)).map(parsed)
    if (items.length === 0) {
      await tallies?.save(ledger, run)
      return result
    }
    after = items.at(-1)!.ordinal
    properties ??= (await readImportedType(deps, config)).properties
    const typeOf = propertyTypes(config, schema, properties)
    const matching = currentMatchingProperty(config, properties, schema)
    const asked = items.map((item) => ({ ...item, rawKey: item.answeredKey }))
    const found = await lookUpItems(deps, config, matching, asked, Object.keys(config.properties))
    const several = await keysOfSeveral(deps, job, items, found)
    const answered = await answeredForms(items)
    const verdicts: Verdict[] = []
    for (const item of items)
      verdicts.push(await verdictOf(item, { found, several, typeOf, answered, learns }))
    for (const { verdict } of verdicts) result[verdict]++
    result.read += verdicts.length
    await ledger.recordVerified(run, verdicts)
    for (const { shows } of verdicts) if (shows) tallies?.add(shows)
    await tallies?.save(ledger, run)
    await noteShare(job.rows === null ? null : after / job.rows)
    const strange = items.filter(({ answered }) => answered === ANSWERED_OTHER_RECORD).length
    if (strange > 0) deps.logger.warn({ run, items: strange }, 'other_records_answered')
    const news = warningsOf(job, items, verdicts, several).filter((text) => !warned.has(text))
    if (news.length > 0) await ledger.addWarnings(run, news)
    for (const text of news) warned.add(text)
    deps.beat()
  }
}

/** Of the written items, how many there are to each that is read back. */
function stepOf({ config, written }: Job): number | null {
  if (written === null) return null
  const steps = {
    all: 1,
    sample: Math.max(1, Math.floor(written / VERIFY_SAMPLE_ROWS)),
    none: Number.MAX_SAFE_INTEGER,
  }
  return steps[config.verify]
}

/** What is recorded of an item. */
type Verdict = VerificationResult & {
  /** The fields that hold something else than a form of what was sent. */
  readonly others?: readonly string[]
  /** What the service makes of values, as the item shows it. */
  readonly shows?: RowReadBack
}

/** Reads the forms that answers to items have shown, by ordinal. */
function answeredFormReader(ledger: BeforeImages, { run, config }: Job) {
  return async (items: readonly WrittenItem[]): Promise<ReadonlyMap<number, PropertyValues>> => {
    if (!keepsBefore(config)) return new Map()
    const ordinals = items.map(({ ordinal }) => ordinal)
    const images = await ledger.imagesOf(run, ordinals)
    return new Map([...images].map(([ordinal, image]) => [ordinal, afterOf(image).forms]))
  }
}

/** What was looked up for a page of items. */
interface Page {
  readonly found: Found
  /** Keys that have several records, or may have, and which; null for those that are seen to have one now. */
  readonly several: ReadonlyMap<string, string | null>
  readonly typeOf: (property: string) => string
  /** What answers have shown, by ordinal. */
  readonly answered: ReadonlyMap<number, PropertyValues>
  /** Whether it is collected what the service makes of values. */
  readonly learns: boolean
}

/** Its answer was lost, or says nothing of what became of it. */
const isDoubtful = ({ inDoubt, state }: WrittenItem): boolean => inDoubt || !wasAccepted(state)

/** The key finds a record, and it is not the one that the row was written to. */
const isElsewhere = ({ key, recordId }: WrittenItem, { ofKey }: Found): boolean =>
  recordId !== null && ofKey.get(key)?.has(recordId) === false

/**
 * The keys of a page that have several records, or may have. The ledger notes them for the next run. Whether an answer shows another
 * record than before was asked when it came; of a lost answer it is asked here, as it is where another record is found than was
 * answered, and once more where that first look could not end.
 */
async function keysOfSeveral(
  deps: ImportDeps<VerifyLedger>,
  job: StagedImport,
  items: readonly WrittenItem[],
  found: Found,
): Promise<ReadonlyMap<string, string | null>> {
  const several = new Map<string, string | null>()
  const asked = items.filter(
    (item) =>
      found.several.has(item.key) ||
      isDoubtful(item) ||
      item.answered === SECOND_RECORD ||
      isElsewhere(item, found),
  )
  if (asked.length === 0) return several
  const { ledger } = deps
  const known = await ledger.acceptedRecords(
    job.run,
    asked.map(({ key }) => key),
  )
  const read = otherRecordsReader(deps, job)
  const notes: { key: string; records: readonly string[] }[] = []
  let ofKeys: string | null | undefined
  for (const item of asked) {
    const { key, answered, recordId } = item
    const here = found.ofKey.get(key)
    if (here === undefined) continue
    const accepted = known.get(key) ?? null
    const { detail, records } = await otherRecordsOf({ key, accepted }, found, read)
    if (isDoubtful(item)) {
      // The record that is found may be that of one key alone: the row stays in doubt, and a later run tells of it.
      if (ofKeys === undefined)
        ofKeys = await sentWithOtherKey(ledger, job.run, hiddenFrom(deps, job))
      if (ofKeys !== null) {
        several.set(key, ofKeys)
        continue
      }
    }
    if (detail === null && isElsewhere(item, found)) {
      // That the written one is not found yet does not say that it is gone: the next run looks again.
      several.set(key, `the row was written to ${recordId}, and its key finds another record`)
      notes.push({ key, records: [...here.keys(), recordId!] })
      continue
    }
    if (detail !== null || answered === SECOND_RECORD) several.set(key, detail)
    if (records !== null) notes.push({ key, records })
  }
  if (notes.length > 0) await ledger.noteRecordsOfKeys(job.run, notes)
  return several
}

/** What was seen last counts; what could not be looked up stays as its answer said. */
const hasSeveral = ({ key, answered }: WrittenItem, several: Page['several']): boolean =>
  several.has(key) ? several.get(key) !== null : answered === SECOND_RECORD

function verdictReader(ledger: Runs, job: Job) {
  const { config, schema } = job
  const hashesOf = schema && createItemHasher(config, schema)
  const previousOf = previousValues(ledger, job)
  return async (
    item: ParsedItem<WrittenItem & { readonly marks?: string | null }>,
    { found, several, typeOf, answered, learns }: Page,
  ): Promise<Verdict> => {
    // Under another form of its key, if the service has one.
    const record = found.get(item.key) ?? found.byId.get(item.recordId ?? '')
    const { sent, lastRead } = item
    const held = (record?.properties ?? {}) as PropertyValues
    // Whether a lost request was carried out may show only in a property that is not compared.
    const isChecked = (name: string) =>
      isCompared(config, name) || (isDoubtful(item) && isWrittenProperty(config, name))
    const fields = record ? differingFields(sent, held, typeOf).filter(isChecked) : []
    const earlier = await previousOf(item, sent)
    const shown = answered.get(item.ordinal) ?? {}
    const read = readBackResult(record ? { sent, held, fields, earlier, answered: shown } : null, {
      config,
      typeOf,
      lastRead,
    })
    const shows = (): RowReadBack => {
      const forms = new Set(read.forms)
      const values = Object.keys(sent)
        .filter((field) => isChecked(field) && (forms.has(field) || !fields.includes(field)))
        .map((field) => ({ field, fieldType: typeOf(field), isForm: forms.has(field) }))
      return { sent, held, values }
    }
    const verdict = hasSeveral(item, several)
      ? ofSeveral(item, several.get(item.key) ?? undefined)
      : item.answered === ANSWERED_OTHER_RECORD
        ? stillOther(read)
        : read
    return {
      ...verdict,
      ...(record && learns && { shows: shows() }),
      // What was never answered is reported as in doubt.
      told: !wasAccepted(item.state) ? null : (verdict.told ?? null),
      ordinal: item.ordinal,
      isHeld: item.isHeld,
      recordId: record?.id ?? null,
      marks: item.marks ?? (hashesOf ? hashesOf(sent) : null),
      found: modeEntry(config.mode).found,
    }
  }
}

/** What a person should know of a page of items that were read back. */
function warningsOf(
  { config, undoes, written }: Job,
  items: readonly WrittenItem[],
  verdicts: readonly Verdict[],
  several: Page['several'],
): string[] {
  const others = new Set(verdicts.flatMap((verdict) => verdict.others ?? []))
  others.delete(config.matching_property)
  const isOther = ({ answered }: WrittenItem) => answered === ANSWERED_OTHER_RECORD
  const isSecond = (item: WrittenItem) => hasSeveral(item, several)
  return [
    ...[...others].map(written === null || undoes !== undefined ? writtenSinceText : ownValueText),
    ...(items.some(isOther) ? [OTHER_RECORDS] : []),
    ...(items.some(isSecond) ? [SECOND_RECORDS] : []),
  ]
}
