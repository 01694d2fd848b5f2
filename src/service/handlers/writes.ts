// Writing one record (sections 4 and 4.3).

import { BASE_PATH } from '../../contract/index.ts'
import { recordBody } from './envelopes.ts'
import type { ObjectType, CompiledProperty } from '../schema/object-types.ts'
import { RequestRefused, refused, describeValue } from '../problems.ts'
import { writeRecord, writeRecordUpsert } from '../store/writes.ts'
import type { WriteOutcome, WriteResult } from '../store/writes.ts'
import type { HandlerCall, Handler } from './handler.ts'

const pointer = '/data/properties'

export const createRecord: Handler = ({ org, key, params, body }) => {
  const type = org.writableType(key, params['object_type']!, ['create'])
  const outcome = writeRecord(org.writing(key, type), null, recordBody(body), pointer)
  const { record } = done(outcome)
  const Location = `${BASE_PATH}/objects/${type.name}/records/${record.id}/`
  return { status: 201, body: { data: record }, headers: { Location } }
}

export const updateRecord: Handler = ({ org, key, params, body }) => {
  const type = org.writableType(key, params['object_type']!, ['update'])
  const properties = recordBody(body)
  const slot = org.view(key, type).existing(params['id']!)
  const outcome = writeRecord(org.writing(key, type), slot, properties, pointer)
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
  const outcome = writeRecordUpsert(org.writing(key, type), matching, properties, pointer)
  const { record, created } = done(outcome)
  return { status: created ? 201 : 200, body: { data: record, created } }
}

/** The property that the request names. @throws Refusal 422 invalid_matching_property */
export function matchingProperty({ query }: HandlerCall, type: ObjectType): CompiledProperty {
  const name = query['matching_property']
  const property = name === undefined ? undefined : type.properties.get(name)
  if (property) return property
  const detail = name
    ? `matching_property: ${type.name} has no property ${describeValue(name)}`
    : 'matching_property: the name of a property was expected in the query string'
  throw refused('invalid_matching_property', detail)
}

function done(outcome: WriteOutcome): WriteResult {
  if ('refused' in outcome) throw new RequestRefused(outcome.refused)
  return outcome
}
