// How well an endpoint of a document fits an operation of the contract: evidence with points. What an operation does, to how
// many, and with which names in its path must be right; the rest adds up. Promise kept here: an operation that may be sent again
// is never matched to an endpoint that creates.

import { OPERATIONS, type Operation, type OperationId } from '../../contract/index.ts'
import { pathOutline, type DocumentedEndpoint } from './endpoints.ts'
import { PROFILES, type Profile } from './profiles.ts'
import { requestFor, type EndpointRequest } from './roles.ts'
import { hasMeaning, wordsOf } from './words.ts'

export interface EndpointScore extends EndpointRequest {
  readonly endpoint: DocumentedEndpoint
  readonly score: number
  /** What speaks for it. */
  readonly evidence: readonly string[]
}

/** A lower score is no evidence. */
export const SCORE_MIN = 3

/** Null if the endpoint is certainly something else. */
export function scoreEndpoint(id: OperationId, endpoint: DocumentedEndpoint): EndpointScore | null {
  const profile = PROFILES[id]
  const operation: Operation = OPERATIONS[id]
  const isUsualPath = endpoint.outline === pathOutline(operation.path)
  const isUsualMethod = endpoint.method === operation.method
  if (!profile) return null
  if (endpoint.verb !== profile.verb || isMany(endpoint) !== profile.many) return null
  // Judged by its method alone, a PUT might replace everything.
  const isSure = endpoint.verbIsSaid || (isUsualPath && isUsualMethod)
  if (profile.verb === 'upsert' && !isSure) return null
  if (takesOther(profile, endpoint)) return null
  const filled = requestFor(id, endpoint)
  if (!filled) return null
  const points: readonly (readonly [string, number])[] = [
    ['path', isUsualPath ? 6 : pathPoints(profile, endpoint)],
    ['method', isUsualMethod ? 1 : 0],
    ['operation id', idPoints(id, profile, endpoint)],
    ['summary or tags', wordPoints(profile, endpoint.saidWords) > 0 ? 1 : 0],
    ['body', bodyPoints(profile, endpoint, filled)],
    ['answer', answerPoints(profile, endpoint)],
    ['deprecation', endpoint.deprecated ? -3 : 0],
  ]
  return {
    ...filled,
    endpoint,
    score: points.reduce((sum, [, point]) => sum + point, 0),
    evidence: points
      .filter(([name, point]) => point > 0 && name !== 'method')
      .map(([name]) => name),
  }
}

/** Words say it, or the body's `data` is a list. */
const isMany = ({ pathWords, idWords, request }: DocumentedEndpoint): boolean =>
  pathWords.has('many') || idWords.has('many') || request.data === 'list'

/** `data` is a list where the operation expects one item, or the other way round. */
const takesOther = ({ takesIn, takes, many }: Profile, { request }: DocumentedEndpoint): boolean =>
  takesIn === 'data' && takes.length > 0 && request.data === (many ? 'object' : 'list')

/** One point for each match: what it is about, what it does, that it does it to many. */
function wordPoints({ about, verb, many }: Profile, words: ReadonlySet<string>): number {
  const isAbout = about.some((meaning) => words.has(meaning))
  return Number(isAbout) + Number(words.has(verb)) + Number(many && words.has('many'))
}

function pathPoints(profile: Profile, { pathWords }: DocumentedEndpoint): number {
  const foreign = [...pathWords].filter((word) => !hasMeaning(word) && !fillers.has(word))
  const other = profile.notAbout.filter((meaning) => pathWords.has(meaning))
  return 2 * wordPoints(profile, pathWords) - 2 * foreign.length - 3 * other.length
}

const fillers: ReadonlySet<string> = new Set(['or', 'by', 'and', 'definition', 'many', 'match'])

function idPoints(
  id: OperationId,
  profile: Profile,
  { operationId, idWords }: DocumentedEndpoint,
): number {
  const isOurs = wordsOf(operationId).join(' ') === wordsOf(id).join(' ')
  return isOurs ? 4 : wordPoints(profile, idWords)
}

function bodyPoints(
  profile: Profile,
  { request }: DocumentedEndpoint,
  { places }: EndpointRequest,
): number {
  const { takes, takesIn } = profile
  if (takes.length === 0 || request.fields.size === 0) return 0
  if (profile.verb === 'associate') {
    return Object.values(places).some((place) => place.in === 'item' || place.in === 'body') ? 2 : 0
  }
  const fields = takesIn === 'body' ? request.fields : request.dataFields
  const isUnsaid = takesIn === 'data' && request.fields.has('data') && fields.size === 0
  return isUnsaid ? 0 : takes.some((field) => fields.has(field)) ? 2 : -4
}

function answerPoints({ gives, marks }: Profile, { response }: DocumentedEndpoint): number {
  if (marks.length === 0) return 0
  if (response.data !== undefined && response.data !== gives) return -4
  if (response.dataFields.size === 0) return 0
  return marks.some((mark) => response.dataFields.has(mark)) ? 3 : -4
}
