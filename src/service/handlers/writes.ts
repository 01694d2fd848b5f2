// Writing one record (sections 4 and 4.3).

import { BASE_PATH } from '../../contract/index.ts'
import { recordBody } from '../envelopes.ts'
import type { ObjectType, Property } from '../object-types.ts'
import { Refusal, factsOf, shown } from '../problems.ts'
import * as writes from '../writes.ts'
import type { Outcome, Written } from '../writes.ts'
import type { Call, Handler } from './handler.ts'

const pointer = '/data/properties'

export const createRecord: Handler = ({ org, key, params, body }) => {
  const type = org.writableType(key, params['object_type']!, ['create'])
  const { record } = done(writes.createRecord(org.writing(key, type), recordBody(body), pointer))
  const Location = `${BASE_PATH}/objects/${type.name}/records/${record.id}/`
  return { status: 201, body: { data: record }, headers: { Location } }
}

export const updateRecord: Handler = ({ org, key, params, body }) => {
  const type = org.writableType(key, params['object_type']!, ['update'])
  const properties = recordBody(body)
  const slot = org.view(key, type).existing(params['id']!)
  const outcome = writes.updateRecord(org.writing(key, type), slot, properties, pointer)
  return { status: 200, body: { data: done(outcome).record } }
}

export const deleteRecord: Handler = ({ org, key, params }) => {
  const type = org.writableType(key, params['object_type']!, ['delete'])
  const view = org.view(key, type)
  const slot = view.existing(params['id']!)
  org.delete(view.store, slot)
  return { status: 204 }
}

export const upsertRecord: Handler = (call) => {
  const { org, key, params, body } = call
  const type = org.writableType(key, params['object_type']!, ['create', 'update'])
  const properties = recordBody(body)
  const matching = matchingProperty(call, type)
  const outcome = writes.upsertRecord(org.writing(key, type), matching, properties, pointer)
  const { record, created } = done(outcome)
  return { status: created ? 201 : 200, body: { data: record, created } }
}

/** The property that the request names. @throws Refusal 422 invalid_matching_property */
export function matchingProperty({ query }: Call, type: ObjectType): Property {
  const name = query['matching_property']
  const property = name === undefined ? undefined : type.properties.get(name)
  if (property) return property
  const detail = name
    ? `matching_property: ${type.name} has no property ${shown(name)}`
    : 'matching_property: the name of a property was expected in the query string'
  throw new Refusal(factsOf('invalid_matching_property', detail))
}

function done(outcome: Outcome): Written {
  if ('refused' in outcome) throw new Refusal(outcome.refused)
  return outcome
}
