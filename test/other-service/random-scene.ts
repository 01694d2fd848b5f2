// Contacts that are imported into another service, with habits and a tuning that a seed chooses.

import type { ImportConfig } from '../../config/index.ts'
import { importSceneOn } from '../unit/import/scene.ts'
import { mappingOf } from './contacts.ts'
import { startOtherService } from './index.ts'
import type { Json } from './index.ts'
import type { dice, habitsOf } from './random-habits.ts'

/** @param chance chooses the tuning */
export async function randomScene(
  { below, one }: ReturnType<typeof dice>,
  options: ReturnType<typeof habitsOf>,
  verify: 'none' | 'sample' | 'all',
  config: Partial<ImportConfig> = {},
) {
  const { prefix = '', fieldTypes = 'plain' } = options
  const contact = `${prefix}contact`
  const made = await importSceneOn(
    () => startOtherService(options),
    mappingOf({ prefix, fieldTypes }),
    { object_type: contact, matching_property: `${prefix}external_id`, verify, ...config },
  )
  const { service } = made
  const tuning = {
    resend_backoff_ms: [1],
    item_backoff_ms: [1],
    segment_ms: one(20, 60_000),
    in_flight: 1 + below(6),
  }
  return {
    made,
    service,
    prefix,
    contact,
    how: { tuning, tries: 400 },
    /** A value in the form in which the service stores it. */
    fold(value: Json, name: string): Json {
      const type = service.org.type(contact)!
      const property = service.org.property(type, `${prefix}${name}`)!
      const folded = service.org.normalised(property, value)
      return property.multi ? folded : folded[0]!
    },
  }
}
