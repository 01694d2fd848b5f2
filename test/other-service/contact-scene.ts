// An import of contacts into the other service, by the activities in the order of the workflow, without Temporal.

import type { ImportConfig } from '../../config/index.ts'
import { importSceneOn } from '../unit/import/scene.ts'
import { mappingOf } from './contacts.ts'
import { startOtherService } from './index.ts'
import type { OtherServiceOptions } from './index.ts'

export async function contactScene(
  options: OtherServiceOptions = {},
  config: Partial<ImportConfig> = {},
) {
  const { prefix = 'acme_', fieldTypes = 'plain' } = options
  const made = await importSceneOn(
    () => startOtherService({ ...options, retryAfter: '0' }),
    mappingOf({ prefix, fieldTypes }),
    {
      object_type: `${prefix}contact`,
      matching_property: `${prefix}external_id`,
      verify: 'all',
      ...config,
    },
  )
  return { ...made, id: `${prefix}external_id`, contact: `${prefix}contact` }
}
