// What the names in braces of a path mean, and where the values go that services put in different places.

import { namesIn, usualRequest } from '../../contract/index.ts'
import type { Movable, OperationId, RequestForm } from '../../contract/index.ts'
import { isMatchingName, matchingNames, type DocumentedEndpoint } from './endpoints.ts'
import { meaningsOf } from './words.ts'

type Role = 'object_type' | 'id' | Movable
const inOrder: readonly Role[] = ['object_type', 'id', 'association_type', 'target_id']

/** The meaning of each name in braces: by its own words, else by its position. Undefined: the client cannot fill it in. */
function rolesOf(path: string): (Role | undefined)[] {
  const roles: (Role | undefined)[] = []
  let end = 0
  for (const name of namesIn(path)) {
    const at = path.indexOf(`{${name}}`, end)
    const told = roleOf(name, path.slice(end, at))
    end = at + name.length + 2
    const next = inOrder.find((role) => !roles.includes(role))
    roles.push(told === 'unknown' ? undefined : told && !roles.includes(told) ? told : next)
  }
  return roles
}

function roleOf(name: string, before: string): Role | 'unknown' | undefined {
  const words = meaningsOf(name)
  if (isMatchingName(name)) return 'matching_property'
  if (words.has('association')) return 'association_type'
  if (words.has('target')) return isTargetId(words) ? 'target_id' : 'unknown'
  const isId = words.has('id') && words.size === 1 && meaningsOf(before).has('record')
  return isId || words.has('record') ? 'id' : undefined
}

/** A request that the client can send to an endpoint. */
export interface EndpointRequest {
  readonly path: string
  readonly places: RequestForm['places']
  /** What the endpoint requires that the client does not know, in words; null if there is nothing. */
  readonly lacks: string | null
}

/** The endpoint as a request for the operation; null if its path is about something else. */
export function requestFor(id: OperationId, endpoint: DocumentedEndpoint): EndpointRequest | null {
  const usual = usualRequest(id)
  const roles = rolesOf(endpoint.path)
  const needed = namesIn(usual.path).filter((name) => !(name in usual.places))
  if (needed.some((name) => !roles.includes(name as Role))) return null
  if (roles.some((role) => role && !needed.includes(role) && !(role in usual.places))) return null
  const places: Record<string, RequestForm['places'][Movable]> = {}
  const lacks: string[] = []
  for (const [name, place] of Object.entries(usual.places)) {
    const found = roles.includes(name as Role)
      ? ({ in: 'path', name } as const)
      : placeOf(name as Movable, endpoint)
    // If the document says nothing about the body, or the query, our default applies.
    const isSilent = endpoint.request.fields.size === 0 && place.in !== 'path'
    if (found || isSilent || name === 'matching_property') places[name] = found ?? place
    else lacks.push(`it does not say where ${name} goes`)
  }
  const names = namesIn(endpoint.path)
  const unknown = names.filter((_, index) => roles[index] === undefined).map((name) => `{${name}}`)
  lacks.push(...[...unknown, ...unknownQuery(id, endpoint)].map((name) => `it asks for ${name}`))
  let index = 0
  const path = endpoint.path.replaceAll(/\{[^{}]*\}/g, () => `{${roles[index++] ?? 'unknown'}}`)
  return { path, places, lacks: lacks[0] ?? null }
}

function placeOf(name: Movable, endpoint: DocumentedEndpoint): RequestForm['places'][Movable] {
  if (name === 'matching_property') return matchingNames(endpoint)[0]
  const { fields, dataFields } = endpoint.request
  const word = name === 'target_id' ? 'target' : 'association'
  for (const [place, names] of [
    ['item', dataFields],
    ['body', fields],
  ] as const) {
    const called = [...names].find((one) => isNamed(one, word))
    if (called !== undefined) return { in: place, name: called }
  }
  return undefined
}

function isNamed(field: string, word: 'target' | 'association'): boolean {
  const words = meaningsOf(field)
  return words.has(word) && (word !== 'target' || isTargetId(words))
}

/** `target_id`, `target`, `toObjectId`; not `target_object_type`, which names something else. */
const isTargetId = (words: ReadonlySet<string>): boolean =>
  words.has('id') || !(words.has('type') || words.has('object'))

/** Required query parameters that the client has no value for. */
function unknownQuery(id: OperationId, { query }: DocumentedEndpoint): string[] {
  const isUpsert = 'matching_property' in usualRequest(id).places
  return query
    .filter(({ required, name }) => required && !(isUpsert && isMatchingName(name)))
    .map(({ name }) => `the query parameter ${/^[\w.-]{1,40}$/.test(name) ? name : '…'}`)
}
