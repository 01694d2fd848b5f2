// Rows as they are sent: without the properties that were kept, as their images say. The ledger keeps the whole payload, because a row
// that is looked up again may keep others.

import { protectsValues } from '../../core/domain/protection.ts'
import { parseJson, writeJson } from '../../core/json.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { BeforeImage, BeforeImages } from '../../ledger/ledger.ts'
import { payloadProperties } from '../verify/look-up.ts'
import type { KeptValue } from './protection.ts'

interface Row {
  readonly ordinal: number
  readonly payload: string
}

/** A row with the baseline hashes that it leaves behind, where they are not those of its payload. */
type SentRow<Item> = Item & { readonly marks?: string | null }

export const keptOf = ({ kept = null }: Pick<BeforeImage, 'kept'>): readonly KeptValue[] =>
  kept === null ? [] : (parseJson(kept) as unknown as readonly KeptValue[])

/** The row as its image has it. */
export function asImaged<Item extends Row>(
  item: Item,
  image: Pick<BeforeImage, 'kept' | 'marks'> | undefined,
): SentRow<Item> {
  if (image === undefined) return item
  const { marks = null } = image
  const kept = new Set(keptOf(image).map(({ property }) => property))
  const known = marks === null ? item : { ...item, marks }
  if (kept.size === 0) return known
  const left = Object.entries(payloadProperties(item)).filter(([name]) => !kept.has(name))
  return { ...known, payload: writeJson({ properties: Object.fromEntries(left) }) }
}

/** Reads rows of a run as they are sent, or were; at most 1,000 at once. */
export function asSentReader(
  ledger: BeforeImages,
  { run, config }: { readonly run: number; readonly config: ImportConfig },
): <Item extends Row>(items: readonly Item[]) => Promise<readonly SentRow<Item>[]> {
  const isProtected = protectsValues(config)
  return async (items) => {
    if (!isProtected || items.length === 0) return items
    const images = await ledger.imagesOf(
      run,
      items.map(({ ordinal }) => ordinal),
    )
    return items.map((item) => asImaged(item, images.get(item.ordinal)))
  }
}
