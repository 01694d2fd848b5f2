// What servers of the benches answer about themselves: contacts are the only type.

import { FIELD_TYPES } from '../../src/service/schema/field-types.ts'
import { SYSTEM_ASSOCIATIONS, SYSTEM_TYPES } from '../../src/service/schema/system-types.ts'

export const CONTACT = 'svc_contact'
const TYPE = SYSTEM_TYPES.get(CONTACT)!

/** `data` of the answer to `GET /path`; undefined for other requests. */
export function typeAnswer(request: string): unknown {
  switch (request) {
    case 'GET /self/':
      return { org_id: 1, reach: 'org' }
    case 'GET /objects/':
      return [TYPE.summary]
    case `GET /objects/${CONTACT}/`:
      return TYPE.schema
    case 'GET /field_types/':
      return [...FIELD_TYPES.values()].map(({ wire }) => wire)
    case 'GET /associations/':
      return [...SYSTEM_ASSOCIATIONS.values()]
    default:
      return undefined
  }
}
