// How an operation is requested: method, path, and the places of the values that services expect in different places.
// Our own choice comes from the table of operations; a configuration may override it.

import { BASE_PATH } from './names.ts'
import { OPERATIONS, type Method, type Operation, type OperationId } from './operations.ts'

export const EVERY_OPERATION = Object.keys(OPERATIONS) as OperationId[]
/** The operations that the specification counts: 20. The document that describes them is none of them. */
export const COUNTED_OPERATIONS: readonly OperationId[] = EVERY_OPERATION.filter(
  (id) => id !== 'readOpenApi',
)

/** `item`: within `data`, in a batch within each of its items. `body`: next to `data`. */
export const VALUE_PLACES = ['path', 'query', 'body', 'item'] as const
export type ValuePlace = (typeof VALUE_PLACES)[number]

/** The values whose place the specification leaves open (sections 4 and 4.7). */
export const MOVABLE = ['matching_property', 'association_type', 'target_id'] as const
export type Movable = (typeof MOVABLE)[number]

export interface RequestForm {
  readonly method: Method
  /** Below the base URL, with our names in braces: `/rest/v1/objects/{object_type}/records/`. */
  readonly path: string
  /** Where each movable value of the operation goes, and its name there. */
  readonly places: Readonly<
    Partial<Record<Movable, { readonly in: ValuePlace; readonly name: string }>>
  >
}

/** What a configuration says about an operation: a request line, or that and the places of its movable values. */
export type RequestOverride =
  | string
  | ({ readonly request: string } & {
      readonly [Name in Movable]?: Exclude<ValuePlace, 'path'> | undefined
    })

/** The names in braces of a path, in order. */
export const namesIn = (path: string): string[] =>
  [...path.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1]!)

/** Our own places, which the methods of a client and the table of operations have. */
export const USUAL_PLACES = {
  matching_property: 'query',
  association_type: 'path',
  target_id: 'item',
} as const satisfies Record<Movable, ValuePlace>

function movableOf(id: OperationId): readonly Movable[] {
  if (id === 'associateRecords') return ['association_type', 'target_id']
  return 'matching_property' in OPERATIONS[id].query ? ['matching_property'] : []
}

/** How we request an operation if nothing else is known. */
export function usualRequest(id: OperationId): RequestForm {
  const { method, path }: Operation = OPERATIONS[id]
  const places = movableOf(id).map((name) => [name, { in: USUAL_PLACES[name], name }])
  return { method, path: BASE_PATH + path, places: Object.fromEntries(places) }
}

const METHODS: readonly string[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] satisfies Method[]
const BASE_URL = '{base_url}'

/**
 * The request that a configuration gives an operation: `METHOD /path`, where the path is relative to `/rest/v1`, or to the
 * base URL if it begins with `{base_url}`.
 * @returns the problem, in one line, if there is one
 */
export function requestOf(
  id: OperationId,
  override: RequestOverride,
): RequestForm | { readonly problem: string } {
  const usual = usualRequest(id)
  const options = typeof override === 'string' ? { request: override } : override
  const [method = '', path = '', ...rest] = options.request.trim().split(/ +/)
  const example = `${usual.method} ${usual.path.slice(BASE_PATH.length)}`
  const isWhole = path.startsWith(BASE_URL)
  const below = isWhole ? path.slice(BASE_URL.length) : path
  if (!METHODS.includes(method) || rest.length > 0 || !isPath(below)) {
    return { problem: `expected a method and a path, such as \`${example}\`` }
  }
  const names = namesIn(below)
  const needed = namesIn(usual.path).filter((name) => !(name in usual.places))
  const wrong = [
    ...needed.filter((name) => !names.includes(name)).map((name) => `{${name}} is missing`),
    ...names
      .filter((name) => !needed.includes(name) && !(name in usual.places))
      .map((name) => `{${name}} has no meaning`),
    ...names
      .filter((name, index) => names.indexOf(name) < index)
      .map((name) => `{${name}} stands twice`),
  ]
  for (const name of MOVABLE) {
    if (options[name as keyof typeof options] === undefined) continue
    if (!(name in usual.places)) wrong.push(`\`${name}\` has no meaning`)
    else if (names.includes(name)) wrong.push(`\`${name}\` is in the path already`)
  }
  if (wrong.length > 0) return { problem: `${wrong.join(', ')}; ours is \`${example}\`` }
  const places = Object.entries(usual.places).map(([name, place]) => {
    const told = (options as Partial<Record<string, ValuePlace>>)[name]
    // A value that is no longer in the path must go somewhere else.
    const otherwise = place.in === 'path' ? 'item' : place.in
    return [name, { in: names.includes(name) ? 'path' : (told ?? otherwise), name }]
  })
  return {
    method: method as Method,
    path: isWhole ? below : BASE_PATH + below,
    places: Object.fromEntries(places),
  }
}

/** Whether a path can be requested as it is: plain segments and names in braces, none of them empty, `.` or `..`. */
export function isPath(path: string): boolean {
  if (path.length > 300 || !/^(?:\/(?:[\w.~:@!$&'()*+,;=-]|\{[\w.-]+\})*)+$/.test(path))
    return false
  return !path.includes('//') && !path.split('/').some((part) => part === '.' || part === '..')
}
