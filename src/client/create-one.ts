// A single create. The specification promises only its status and `Location` (section 4): without a body the record has the id of
// that address, and the properties as they were given.

import { OPERATIONS } from '../contract/index.ts'
import type { Properties, RecordRepresentation } from '../contract/index.ts'
import { locationId } from './address.ts'
import type { Success } from './answers.ts'
import type { OperationCaller, RequestOptions } from './call.ts'
import { decodeBySchema, type BodyOf } from './decode.ts'
import { checkResponseMatches } from './match-response.ts'

/** @throws OutcomeUnknown */
export function createOne(
  caller: OperationCaller,
  type: string,
  properties: Properties,
  options: RequestOptions,
): Promise<Success<{ readonly data: RecordRepresentation }>> {
  const parts = { path: { object_type: type }, body: { data: { properties } } }
  const decode = decodeBySchema<BodyOf<'createRecord'>>(OPERATIONS.createRecord)
  return caller('createRecord', parts, options, (status, json, location) => {
    if (json === undefined)
      return { data: { id: locationId(location), object_type: type, properties } }
    const body = decode(status, json)
    checkResponseMatches('createRecord', body, parts)
    return body
  })
}
