// Which request each operation of the contract is on this service: as the configuration says, else as the service's OpenAPI
// document says, else our default. Promises kept here: every operation gets a request and a reason; if two endpoints fit equally
// well, neither is taken; no text of a document reaches a message except plain paths and names.

import { EVERY_OPERATION, OPERATIONS, requestOf, usualRequest } from '../../contract/index.ts'
import type { OperationId, RequestForm, RequestOverride } from '../../contract/index.ts'
import {
  IMPORT_OPERATIONS,
  SINGLE_OPERATIONS,
  type ImportOperation,
} from '../../core/domain/import-modes.ts'
import type { RemovalAction } from '../../core/domain/deletions.ts'
import { SyncError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/json.ts'
import { ENDPOINTS_MAX, documentedEndpoints } from './endpoints.ts'
import { SCORE_MIN, scoreEndpoint, type EndpointScore } from './score.ts'
import { ownMember } from './schema-view.ts'
import { foreignOrigin, type DocumentPlace } from './servers.ts'

export interface ResolvedOperation extends RequestForm {
  /**
   * `openapi`: the document has it. `absent`: the document has others but not this one. `default`: the document says nothing
   * certain, or there is none. For the last two the request is our default.
   */
  readonly source: 'openapi' | 'configuration' | 'default' | 'absent'
  /** Why it is this request, in one sentence for people. */
  readonly reason: string
}

export interface Resolution {
  readonly operations: Readonly<Record<OperationId, ResolvedOperation>>
  /** A batch is sent as one upsert per item: the service has a single upsert and no batch upsert. */
  readonly upsertsOneByOne: boolean
  /** The batches that are sent as one write for each item: the service has the single operation and no batch. */
  readonly oneByOne: readonly ImportOperation[]
  /** The same of deletions. */
  readonly deletesOneByOne: boolean
  readonly warnings: readonly string[]
}

export type RequestOverrides = Readonly<Partial<Record<OperationId, RequestOverride>>>

type Operations = Record<OperationId, ResolvedOperation>

const NOWHERE: DocumentPlace = { url: 'http://localhost/rest/v1/openapi.json', prefix: '' }

/**
 * Finds every operation in an OpenAPI 3.x document. It is pure, and it ends, whatever the document contains.
 * @throws SyncError `client_option_invalid` for an override that is not valid
 */
export function resolveOperations(
  document: unknown,
  overrides: RequestOverrides = {},
  place: DocumentPlace = NOWHERE,
): Resolution {
  const given = readOverrides(overrides)
  if (!isJsonObject(document)) return unresolved(given, 'the OpenAPI document is not a JSON object')
  const version = ownMember(document, 'openapi')
  if (typeof version !== 'string' || !version.startsWith('3.')) {
    return unresolved(given, 'the OpenAPI document is not one of OpenAPI 3')
  }
  const { endpoints, isAll } = documentedEndpoints(document, place)
  const fits = EVERY_OPERATION.map((id) =>
    endpoints.flatMap((endpoint) => scoreEndpoint(id, endpoint) ?? []),
  )
  const best = bestScores(fits.flat())
  const found = EVERY_OPERATION.map((id, index): readonly [OperationId, ResolvedOperation] => [
    id,
    given[id] ?? fixed(id) ?? chosen(id, fits[index]!, best),
  ])
  if (!found.some(([, { source }]) => source === 'openapi')) {
    return unresolved(given, 'the OpenAPI document describes none of the operations')
  }
  const operations = Object.fromEntries(found) as Operations
  const oneByOne = IMPORT_OPERATIONS.filter((id) => isOneByOne(operations, id))
  const upsertsOneByOne = oneByOne.includes('batchUpsert')
  const other = foreignOrigin(document, place)
  return {
    operations,
    upsertsOneByOne,
    oneByOne,
    deletesOneByOne: isAlone(operations, 'batchDelete', 'deleteRecord'),
    warnings: [
      ...(isAll ? [] : [`only the first ${ENDPOINTS_MAX} operations of the document were read`]),
      ...(other === undefined
        ? []
        : [`the document names ${other} as its server; requests go to the configured one`]),
      ...found
        .filter(([id, { source }]) => source === 'default' && !fixed(id))
        .map(([id, { reason }]) => `${id}: ${reason}`),
      ...absentWarnings(operations, upsertsOneByOne),
    ],
  }
}

/** No operation could be found, for the reason given. */
export function unresolved(given: Partial<Operations>, why: string): Resolution {
  const operations = EVERY_OPERATION.map((id) => [
    id,
    given[id] ?? { ...usualRequest(id), source: 'default', reason: `our own choice: ${why}` },
  ])
  return {
    operations: Object.fromEntries(operations) as Operations,
    upsertsOneByOne: false,
    oneByOne: [],
    deletesOneByOne: false,
    warnings: [`${why}; the usual requests are used`],
  }
}

/** @throws SyncError `client_option_invalid` */
export function readOverrides(overrides: RequestOverrides): Partial<Operations> {
  const given: Partial<Operations> = {}
  for (const id of Object.keys(overrides) as OperationId[]) {
    const override = overrides[id]
    if (override === undefined) continue
    const form = EVERY_OPERATION.includes(id)
      ? requestOf(id, override)
      : { problem: `expected one of ${EVERY_OPERATION.join(', ')}` }
    if ('problem' in form) {
      throw new SyncError(
        'client_option_invalid',
        `Client option operations: ${id}: ${form.problem}`,
      )
    }
    given[id] = { ...form, source: 'configuration', reason: 'the configuration says so' }
  }
  return given
}

/** Whether it is the request that the client would make without a document. */
export function isUsual(id: OperationId, { method, path, places }: RequestForm): boolean {
  const usual = usualRequest(id)
  const text = ({ places: all }: Pick<RequestForm, 'places'>) =>
    Object.entries(all)
      .map(([name, place]) => `${name}:${place.in}:${place.name}`)
      .toSorted()
      .join()
  return method === usual.method && path === usual.path && text({ places }) === text(usual)
}

/** The two public operations, which the specification fixes: the document is found by them. */
const fixed = (id: OperationId): ResolvedOperation | undefined =>
  OPERATIONS[id].authenticated
    ? undefined
    : { ...usualRequest(id), source: 'default', reason: 'the specification fixes it' }

/** The best score of each endpoint: it is the operation that it fits best. */
function bestScores(fits: readonly EndpointScore[]): ReadonlyMap<object, number> {
  const best = new Map<object, number>()
  for (const { endpoint, score } of fits) {
    best.set(endpoint, Math.max(score, best.get(endpoint) ?? score))
  }
  return best
}

function chosen(
  id: OperationId,
  fits: readonly EndpointScore[],
  best: ReadonlyMap<object, number>,
): ResolvedOperation {
  const own = fits.filter(
    ({ endpoint, score }) => score >= SCORE_MIN && score === best.get(endpoint),
  )
  const top = Math.max(...own.map(({ score }) => score))
  const tops = own.filter(({ score }) => score === top)
  const usual = usualRequest(id)
  const [first, second] = tops
  if (!first) return { ...usual, source: 'absent', reason: 'the document has no such operation' }
  const shown = ({ endpoint }: EndpointScore) => `${endpoint.method} ${endpoint.path}`
  if (second) {
    const reason = `${shown(first)} and ${shown(second)} fit equally well, so our own choice is used`
    return { ...usual, source: 'default', reason }
  }
  const { endpoint, path, places, lacks, evidence } = first
  if (lacks !== null) {
    const reason = `${shown(first)} would fit, but ${lacks}; our own choice is used`
    return { ...usual, source: 'default', reason }
  }
  const form = { method: endpoint.method, path, places }
  const reason = isUsual(id, form)
    ? 'the document has it where it is expected'
    : `told by its ${listed(evidence)}`
  return { ...form, source: 'openapi', reason }
}

/** `a`, `a and b`, `a, b and c` */
const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`

const isOneByOne = (operations: Operations, batch: ImportOperation): boolean =>
  isAlone(operations, batch, SINGLE_OPERATIONS[batch])

/** Whether the service has the single operation, and no batch. */
function isAlone(operations: Operations, batch: OperationId, single: OperationId): boolean {
  const { source } = operations[single]
  const isThere = source === 'openapi' || source === 'configuration'
  return operations[batch].source === 'absent' && isThere
}

/** What a service offers instead, if it has neither a batch nor its single operation; null if it has one of them. */
export function lackingWrite(
  { operations }: Pick<Resolution, 'operations'>,
  batch: ImportOperation,
): { readonly lacks: string; readonly offers: readonly ImportOperation[] } | null {
  const has = (id: ImportOperation) =>
    operations[id].source !== 'absent' || operations[SINGLE_OPERATIONS[id]].source !== 'absent'
  if (has(batch)) return null
  return {
    lacks: `${batch} and ${SINGLE_OPERATIONS[batch]}`,
    offers: IMPORT_OPERATIONS.filter(has),
  }
}

/** The two operations that could delete, or change, records by their ids, if the service has neither; null if it has one. */
export function lackingRemoval(
  { operations }: Pick<Resolution, 'operations'>,
  action: RemovalAction,
): string | null {
  const pair = (
    {
      delete: ['batchDelete', 'deleteRecord'],
      clear: ['batchUpdate', 'updateRecord'],
    } as const satisfies Record<RemovalAction, readonly OperationId[]>
  )[action]
  return pair.some((id) => operations[id].source !== 'absent') ? null : pair.join(' or ')
}

function absentWarnings(operations: Operations, upsertsOneByOne: boolean): string[] {
  const absent = EVERY_OPERATION.filter((id) => operations[id].source === 'absent').filter(
    (id) => !(id === 'batchUpsert' && upsertsOneByOne),
  )
  return [
    ...(upsertsOneByOne
      ? ['the document has no batch upsert: records are upserted one by one, a request each']
      : []),
    ...(absent.length === 0 ? [] : [`the document does not have ${listed(absent)}`]),
  ]
}
