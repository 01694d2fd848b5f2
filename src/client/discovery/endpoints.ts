// The requests that an OpenAPI 3.x document describes, as facts to judge by. The document is foreign and untrusted. Promises kept
// here: reading it ends, whatever it contains; a path that could lead away from the base URL is ignored.

import { BASE_PATH, isPath, type Method } from '../../contract/index.ts'
import { isJsonObject } from '../../core/json.ts'
import {
  resolveRef,
  listMember,
  ownMember,
  createSchemaViewer,
  type SchemaView,
} from './schema-view.ts'
import { serverPath, type DocumentPlace } from './servers.ts'
import { hasMeaning, meaningsOf, verbIn, type Verb } from './words.ts'

export interface BodyFields {
  readonly fields: ReadonlySet<string>
  /** Undefined if the document does not say, or if there is no `data`. */
  readonly data: 'object' | 'list' | undefined
  /** Fields of `data`, or of its items. */
  readonly dataFields: ReadonlySet<string>
}

export interface DocumentedEndpoint {
  readonly method: Method
  /** Below the base URL, as the document writes it. */
  readonly path: string
  /** `path` without the prefix that most paths share, and without names: `/objects/{}/records`. */
  readonly outline: string
  /** Meanings of the words in its path, without those in braces. */
  readonly pathWords: ReadonlySet<string>
  readonly operationId: string
  readonly idWords: ReadonlySet<string>
  /** Meanings of summary and tags. */
  readonly saidWords: ReadonlySet<string>
  /** What it does, according to its words or its method. */
  readonly verb: Verb
  /** Whether `verb` comes from words rather than from the method alone. */
  readonly verbIsSaid: boolean
  readonly query: readonly { readonly name: string; readonly required: boolean }[]
  readonly request: BodyFields
  readonly response: BodyFields
  readonly deprecated: boolean
}

export const ENDPOINTS_MAX = 2_000
const METHODS: readonly Method[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE']

/** An operation of the document, not judged yet. */
interface Found {
  readonly method: Method
  readonly path: string
  readonly operation: unknown
  readonly parameters: readonly unknown[]
  readonly request: BodyFields
  readonly response: BodyFields
}

/** The endpoints, at most 2,000, and whether that was all. Skips anything that is not one. */
export function documentedEndpoints(
  document: unknown,
  place: DocumentPlace,
): { endpoints: DocumentedEndpoint[]; isAll: boolean } {
  const viewOf = createSchemaViewer(document)
  const paths = ownMember(document, 'paths')
  const all = isJsonObject(paths) ? Object.entries(paths) : []
  const items = all.slice(0, ENDPOINTS_MAX)
  // The specification puts every path below it, and a document without servers does not contradict that.
  const unsaid = items.some(([path]) => path.startsWith(BASE_PATH)) ? '' : BASE_PATH
  const found: Found[] = []
  let isAll = items.length === all.length
  for (const [written, item] of items) {
    const pathItem = resolveRef(document, item)
    for (const method of METHODS) {
      const operation = resolveRef(document, ownMember(pathItem, method.toLowerCase()))
      if (!isJsonObject(operation)) continue
      const servers = [operation, pathItem, document].find((node) => listMember(node, 'servers')[0])
      const path = belowBase((servers ? serverPath(servers, place) : unsaid) + written, place)
      if (!written.startsWith('/') || !isPath(path)) continue
      if (found.length === ENDPOINTS_MAX) {
        isAll = false
        continue
      }
      const parameters = [pathItem, operation].flatMap((node) => listMember(node, 'parameters'))
      found.push({
        method,
        path,
        operation,
        parameters: parameters.map((parameter) => resolveRef(document, parameter)),
        request: shapeOf(viewOf, schemaIn(document, ownMember(operation, 'requestBody'))),
        response: shapeOf(viewOf, schemaIn(document, successOf(operation))),
      })
    }
  }
  const base = commonStart(found.map(({ path }) => path))
  return { endpoints: found.map((one) => endpointOf(one, base)), isAll }
}

/** A service behind a gateway may or may not know the prefix that the gateway adds. */
const belowBase = (path: string, { prefix }: DocumentPlace): string =>
  prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path

/** The prefix that most paths share, before their first word with a meaning: `/rest/v1`. */
function commonStart(paths: readonly string[]): string {
  const counts = new Map<string, number>([[BASE_PATH, 0]])
  for (const path of paths) {
    const parts = path.split('/').slice(1)
    const meant = parts.findIndex((part) => part === '' || part.includes('{') || hasMeaning(part))
    const start = parts.slice(0, meant < 0 ? 0 : meant)
    const text = start.map((part) => `/${part}`).join('')
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0]
}

function endpointOf(
  { method, path, operation, ...parts }: Found,
  base: string,
): DocumentedEndpoint {
  const tail = path === base || path.startsWith(`${base}/`) ? path.slice(base.length) : path
  const operationId = textOf(ownMember(operation, 'operationId'))
  const tags = listMember(operation, 'tags').map(textOf)
  const facts = {
    method,
    path,
    outline: pathOutline(tail),
    pathWords: meaningsOf(tail.replaceAll(/\{[^{}]*\}/g, ' ')),
    operationId,
    idWords: meaningsOf(operationId),
    saidWords: meaningsOf([textOf(ownMember(operation, 'summary')), ...tags].join(' ')),
    query: parts.parameters
      .filter((parameter) => ownMember(parameter, 'in') === 'query')
      .map((parameter) => ({
        name: textOf(ownMember(parameter, 'name')),
        required: ownMember(parameter, 'required') === true,
      })),
    request: parts.request,
    response: parts.response,
    deprecated: ownMember(operation, 'deprecated') === true,
  }
  return { ...facts, ...verbOf(facts) }
}

/** A path without what is in braces and without its last slash. */
export const pathOutline = (path: string): string =>
  path.replaceAll(/\{[^{}]*\}/g, '{}').replace(/\/$/, '')

const textOf = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 200) : '')

function successOf(operation: unknown): unknown {
  const responses = ownMember(operation, 'responses')
  const status = ['200', '201', '207', '2XX', '202', '204'].find((code) =>
    ownMember(responses, code),
  )
  return status === undefined ? undefined : ownMember(responses, status)
}

function schemaIn(document: unknown, body: unknown): unknown {
  const content = ownMember(resolveRef(document, body), 'content')
  const types = isJsonObject(content) ? Object.keys(content) : []
  const json = types.includes('application/json')
    ? 'application/json'
    : types.find((type) => type.includes('json'))
  return json === undefined ? undefined : ownMember(ownMember(content, json), 'schema')
}

function shapeOf(viewOf: (schema: unknown) => SchemaView, schema: unknown): BodyFields {
  const { properties } = viewOf(schema)
  const data = viewOf(properties.get('data'))
  const inner = data.kind === 'list' ? viewOf(data.items) : data
  return {
    fields: new Set(properties.keys()),
    data: data.kind,
    dataFields: new Set(inner.properties.keys()),
  }
}

type Unjudged = Omit<DocumentedEndpoint, 'verb' | 'verbIsSaid'>

/** GET reads and DELETE deletes, whatever the words say; for the others, the nearest word counts. */
function verbOf(endpoint: Unjudged): { verb: Verb; verbIsSaid: boolean } {
  const { method, outline, request } = endpoint
  const said = (verb: Verb) => ({ verb, verbIsSaid: true })
  const guessed = (verb: Verb) => ({ verb, verbIsSaid: false })
  if (method === 'GET') return guessed('read')
  if (method === 'DELETE') return guessed('delete')
  if (matchingNames(endpoint).length > 0) return said('upsert')
  if (request.fields.has('aggregations')) return said('aggregate')
  if (request.fields.has('filter') || request.fields.has('sorts')) return said('query')
  const last = outline.slice(outline.lastIndexOf('/'))
  const verb = [meaningsOf(last), endpoint.idWords, endpoint.pathWords, endpoint.saidWords]
    .map(verbIn)
    .find((found) => found !== undefined)
  if (isAboutEdges(endpoint) && verb !== 'unlink' && verb !== 'delete' && verb !== 'query') {
    return verb === undefined ? guessed('associate') : said('associate')
  }
  if (verb !== undefined) return said(verb)
  if (method === 'PUT') return guessed(outline.split('{}').length > 2 ? 'update' : 'upsert')
  return guessed(method === 'PATCH' ? 'update' : 'create')
}

const isAboutEdges = ({ outline }: Unjudged): boolean =>
  meaningsOf(outline.split('{}').slice(2).join(' ')).has('association')

/** Where the endpoint names the property that matches records, and what it calls it there. */
export function matchingNames(
  endpoint: Pick<DocumentedEndpoint, 'query' | 'request'>,
): { in: 'query' | 'body' | 'item'; name: string }[] {
  const { query, request } = endpoint
  const among = (place: 'query' | 'body' | 'item', names: Iterable<string>) =>
    [...names].filter(isMatchingName).map((name) => ({ in: place, name }))
  return [
    ...among(
      'query',
      query.map(({ name }) => name),
    ),
    ...among('body', request.fields),
    ...among('item', request.dataFields),
  ]
}

/** `matching_property`, `matchBy`, `unique-field`; not `match` alone. */
export function isMatchingName(name: string): boolean {
  const words = meaningsOf(name)
  return (
    words.has('match') && ['property', 'field', 'by', 'on', 'key'].some((word) => words.has(word))
  )
}
