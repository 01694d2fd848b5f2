// The parts of a request in the form that the service expects. Methods of the client use the contract's own form; this file moves
// values that a service expects elsewhere. Promise kept here: equal parts make equal bytes, so that a replay sends the same.

import { USUAL_PLACES, type Movable, type ValuePlace, type RequestForm } from '../contract/index.ts'
import { SyncError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { pathOf } from './address.ts'
import { jsonText } from './json-text.ts'

/** What fills an operation: path parameters, query parameters, and a body as a value or as exact JSON text. */
export interface CallParts {
  readonly path?: Readonly<Record<string, string>> | undefined
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  readonly body?: object | string | undefined
}

type Fields = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string | undefined>>

/**
 * Path, with its query, and body of a request.
 * @throws SyncError `path_invalid`, `body_invalid`
 */
export function buildRequest(
  form: RequestForm,
  parts: CallParts,
): { path: string; body: string | undefined } {
  const { path = {}, query = {}, body } = isUsual(form) ? parts : moved(form, parts)
  return {
    path: pathOf(form.path, path, query),
    body: body === undefined || typeof body === 'string' ? body : jsonText(body),
  }
}

const isUsual = ({ places }: RequestForm): boolean =>
  Object.entries(places).every(
    ([name, place]) => place.name === name && place.in === USUAL_PLACES[name as Movable],
  )

/** The parts with every movable value taken from its usual place and put into the form's. */
function moved({ places }: RequestForm, { path = {}, query = {}, body }: CallParts): CallParts {
  const { association_type, ...restOfPath } = path
  const { matching_property, ...restOfQuery } = query
  const { data, ...rest } = fieldsOf(body)
  const isBatch = Array.isArray(data)
  const { target_id, ...restOfData } = isBatch ? {} : fieldsOf(data as object | undefined)
  const values: Fields = { association_type, matching_property, target_id }
  const at = (place: ValuePlace): Fields =>
    Object.fromEntries(
      Object.entries(places)
        .filter(([name, { in: where }]) => where === place && values[name] !== undefined)
        .map(([name, { name: called }]) => [called, values[name]]),
    )
  const item = at('item')
  const items = isBatch
    ? data.map((each: object) => ({ ...item, ...each }))
    : { ...item, ...restOfData }
  const hasData = isBatch || Object.keys(items).length > 0
  const whole = { ...at('body'), ...rest, ...(hasData && { data: items }) }
  return {
    path: { ...restOfPath, ...at('path') } as Record<string, string>,
    query: { ...restOfQuery, ...at('query') } as Texts,
    // If every field moved elsewhere, no body is left to send.
    body: Object.keys(whole).length > 0 ? whole : undefined,
  }
}

/** @throws SyncError `body_invalid` for text that is not a JSON object */
function fieldsOf(body: object | string | undefined): Fields {
  if (typeof body !== 'string') return (body ?? {}) as Fields
  try {
    return Object(parseJson(body)) as Fields
  } catch {
    throw new SyncError('body_invalid', 'Body: the text of a JSON object was expected')
  }
}
