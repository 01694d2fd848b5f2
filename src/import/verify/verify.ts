// Verify: what was written is read back, by `in` filters of 100 keys, and compared: as much of it as the sync says, and every item
// whose answer showed something else. Accepted but different is a result of its own. Items whose answer was lost are settled by
// asking, before anyone is told that they failed. What was read back is booked page by page: whoever begins again after a failure
// goes on with what was not read yet.

import { IN_VALUES_MAX, type PropertyWire } from '../../contract/index.ts'
import { VERIFY_SAMPLE_ROWS } from '../../core/limits.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { SECOND_RECORD } from '../../core/held-back.ts'
import type {
  Runs,
  RunSchema,
  Verification,
  VerificationResult,
  WrittenItem,
} from '../../ledger/ledger.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import { ANSWERED_OTHER_RECORD } from '../push/answered.ts'
import { differingFields } from './compare.ts'
import { previousValues } from './previous-values.ts'
import { lookUpItems, payloadProperties } from './look-up.ts'
import { createItemHasher } from './baseline-hashes.ts'
import type { ImportDeps } from '../ports.ts'
import { readBackResult } from './read-back.ts'
import { isCompared, currentMatchingProperty, propertyTypes } from '../mapping/types.ts'

type Sent = ReturnType<typeof payloadProperties>

/** What reading back showed, in items, since it was begun or begun again. */
export interface VerifyResult {
  readonly read: number
  readonly equal: number
  readonly different: number
  readonly missing: number
  readonly normalised: number
}

async function propertiesOf(
  deps: ImportDeps,
  config: ImportConfig,
): Promise<readonly PropertyWire[]> {
  const { signal, priority } = deps
  const reading = deps.client.readObjectType(config.object_type, { signal, priority })
  return (await withHeartbeat(deps, reading)).properties
}

const ownValueText = (property: string): string =>
  `${property}: the service holds another value than was sent; if it keeps one of its own there on purpose, write \`compare: false\` into the mapping of the property: it is then not compared, and its rows are sent once more, and not again`

const OTHER_RECORDS = `the service answered rows with records of other keys than were sent (${ANSWERED_OTHER_RECORD}): what it wrote there is not known; look at these records`

const SECOND_RECORDS = `rows were written to a second record of their key, or may have been (${SECOND_RECORD}): look at the records of each key at the service, with a key that sees all of them, and delete those that are too many`
const SEVERAL = 'the service has more than one record with this key; delete those that are too many'

/** Whatever the record says: it is not the only one of its key. */
const ofSeveral = (item: WrittenItem, isFound: boolean): ReturnType<typeof readBackResult> => ({
  verdict: 'different',
  field: null,
  readBack: null,
  seen: null,
  told:
    isFound && item.answered !== SECOND_RECORD
      ? { reason: SECOND_RECORD, detail: SEVERAL, column: null, value: null }
      : null,
})

/** Another record was written, as far as the service says; that the right one is as it was sent does not tell which. */
const stillOther = (read: ReturnType<typeof readBackResult>): ReturnType<typeof readBackResult> =>
  read.verdict === 'equal' || read.verdict === 'normalised'
    ? { verdict: 'different', field: null, readBack: null, seen: null, told: null }
    : read

/** Verifies a run's written items as the sync says, and settles those in doubt. */
export async function verify(
  deps: ImportDeps<Runs & Verification>,
  job: {
    run: number
    config: ImportConfig
    schema: RunSchema | null
    /** Null where only what is in doubt is asked for. */
    written: number | null
  },
): Promise<VerifyResult> {
  const { ledger } = deps
  const { run, config, schema } = job
  const marksOf = schema && createItemHasher(config, schema)
  const earlierFor = previousValues(ledger, job)
  const result = { read: 0, equal: 0, different: 0, missing: 0, normalised: 0 }
  const everyOf = {
    all: () => 1,
    sample: (written: number) => Math.max(1, Math.floor(written / VERIFY_SAMPLE_ROWS)),
    none: () => Number.MAX_SAFE_INTEGER,
  }
  const every = job.written === null ? null : everyOf[config.verify](job.written)
  const told = new Set<string>()
  let after = 0
  let properties: readonly PropertyWire[] | null = null
  // Bounded by the run's items: every pass moves `after` forward.
  for (;;) {
    deps.signal.throwIfAborted()
    const items = await ledger.written(run, { after, every, limit: IN_VALUES_MAX })
    if (items.length === 0) return result
    after = items.at(-1)!.ordinal
    properties ??= await propertiesOf(deps, config)
    const typeOf = propertyTypes(config, schema, properties)
    const matching = currentMatchingProperty(config, properties, schema)
    const asked = items.map((item) => ({ ...item, rawKey: item.answeredKey }))
    const found = await lookUpItems(deps, config, matching, asked, Object.keys(config.properties))
    const verdictFor = async (item: WrittenItem): Promise<VerificationResult> => {
      // Under another form of its key, where the service has one.
      const record = found.get(item.key) ?? found.byId.get(item.recordId ?? '')
      const sent = payloadProperties(item)
      const held = (record?.properties ?? {}) as Sent
      // Whether a lost request was carried out may show in a property that is not compared alone.
      const isDoubtful = item.inDoubt || item.state === 'sent'
      const isLookedAt = (name: string) => isDoubtful || isCompared(config, name)
      const fields = record ? differingFields(sent, held, typeOf).filter(isLookedAt) : []
      const { lastRead } = item
      const earlier = await earlierFor(item, sent)
      const read = readBackResult(record ? { sent, held, fields, earlier } : null, {
        config,
        typeOf,
        lastRead,
      })
      const isOneOfSeveral = found.several.has(item.key)
      const verdict =
        isOneOfSeveral || item.answered === SECOND_RECORD
          ? ofSeveral(item, isOneOfSeveral)
          : item.answered === ANSWERED_OTHER_RECORD
            ? stillOther(read)
            : read
      for (const field of verdict.others ?? []) if (field !== matching.name) others.add(field)
      result.read++
      result[verdict.verdict]++
      return {
        ...verdict,
        // What was never answered is in doubt, and is told as that.
        told: item.state === 'sent' ? null : (verdict.told ?? null),
        ordinal: item.ordinal,
        recordId: record?.id ?? null,
        marks: marksOf ? marksOf(item) : null,
      }
    }
    /** Properties that hold something else than a form of what was sent. */
    const others = new Set<string>()
    const verdicts: VerificationResult[] = []
    for (const item of items) verdicts.push(await verdictFor(item))
    await ledger.recordVerified(run, verdicts)
    const strange = items.filter(({ answered }) => answered === ANSWERED_OTHER_RECORD).length
    if (strange > 0) deps.logger.warn({ run, items: strange }, 'other_records_answered')
    const isSecond = ({ key, answered }: WrittenItem) =>
      answered === SECOND_RECORD || found.several.has(key)
    const warnings = [
      ...[...others].map(ownValueText),
      ...(strange > 0 ? [OTHER_RECORDS] : []),
      ...(items.some(isSecond) ? [SECOND_RECORDS] : []),
    ]
    const news = warnings.filter((warning) => !told.has(warning))
    if (news.length > 0) await ledger.addWarnings(run, news)
    for (const warning of news) told.add(warning)
    deps.beat()
  }
}
