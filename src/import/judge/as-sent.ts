// Rows as they are sent: an update has the properties alone that it changes, as its image says. The ledger keeps the whole payload,
// because a row that is looked up again may change others. Promise kept here: what the ledger knows of a property that is left out
// stays, since the record has it.

import type { ItemState } from '../../core/domain/outcomes.ts'
import { keepsBefore } from '../../core/domain/protection.ts'
import { parseJson, writeJson } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type {
  BeforeImage,
  BeforeImages,
  PlannedItem,
  Runs,
  RunSchema,
  StepStates,
} from '../../ledger/ledger.ts'
import { createItemHasher } from '../look/baseline-hashes.ts'
import { payloadProperties, type PropertyValues } from '../look/look-up.ts'
import { appliedPlan } from './applied-plan.ts'
import type { KeptValue } from './protection.ts'

interface Row {
  readonly ordinal: number
  readonly payload: string
  /** Of a row that was written. */
  readonly state?: ItemState
}

type SentRow<Item> = Item & Pick<PlannedItem, 'marks' | 'whole'>

export const keptOf = ({ kept = null }: Pick<BeforeImage, 'kept'>): readonly KeptValue[] =>
  kept === null ? [] : (parseJson(kept) as unknown as readonly KeptValue[])

interface Staged {
  readonly config: ImportConfig
  readonly schema: RunSchema | null
  /** Of an undo: its rows are parts of records, and never whole. */
  readonly undoes?: number | undefined
}

/** Which properties are sent. `changed`: those of the image; `unkept`: all but those that others changed. */
type SentProperties = 'changed' | 'unkept'

/** Makes rows what their images say. */
export function rowImager(
  { config, schema, undoes }: Staged,
  properties: SentProperties = 'changed',
): <Item extends Row>(
  item: Item,
  image: Pick<BeforeImage, 'verdict' | 'sent' | 'kept' | 'marks'> | undefined,
) => SentRow<Item> {
  const hashesOf = schema && createItemHasher(config, schema)
  return (item, image) => {
    if (image === undefined) return item
    const { marks = null } = image
    const known = marks === null ? item : { ...item, marks }
    const kept = keptOf(image).map(({ property }) => property)
    const isUpdate = image.verdict === 'update'
    // A record that was made after all has nothing of what was left out; one that this run has made may have values of others since.
    if (isUpdate ? item.state === 'created' : kept.length === 0) return known
    const whole = payloadProperties(item)
    const sent = parseJson(image.sent) as PropertyValues
    const names = Object.keys(whole)
    const isSent = (name: string) =>
      properties === 'unkept' || !isUpdate
        ? !kept.includes(name)
        : name === config.matching_property || Object.hasOwn(sent, name)
    const some = names.filter(isSent)
    if (some.length === names.length)
      return isUpdate && undoes !== undefined ? { ...known, whole: item.payload } : known
    const payload = writeJson({
      properties: Object.fromEntries(some.map((name) => [name, whole[name]!])),
    })
    const left = { ...item, payload, marks: marks ?? (hashesOf && hashesOf(whole)) }
    return isUpdate ? { ...left, whole: item.payload } : left
  }
}

/** Reads rows of a run as they are sent, or were; at most 1,000 at once. */
export function asSentReader(
  ledger: BeforeImages & Runs & StepStates,
  job: Staged & { readonly run: number },
  properties?: SentProperties,
): <Item extends Row>(items: readonly Item[]) => Promise<readonly SentRow<Item>[]> {
  const { run, config } = job
  const asImaged = rowImager(job, properties)
  let looksUp: Promise<boolean> | undefined
  const hasPlan = async () => {
    const row = await ledger.run(run)
    return row !== null && (await appliedPlan(ledger, row)) !== null
  }
  return async (items) => {
    if (items.length === 0) return items
    looksUp ??= keepsBefore(config) ? Promise.resolve(true) : hasPlan()
    // Another run may have images too, of the rows that it was to ask a person about: it sends them whole.
    if (!(await looksUp)) return items
    const images = await ledger.imagesOf(
      run,
      items.map(({ ordinal }) => ordinal),
    )
    return items.map((item) => asImaged(item, images.get(item.ordinal)))
  }
}
