// The JSON of the console: a table of what may be read. The pages are drawn from the same objects; the description of it all
// (OpenAPI) is made from this table.

import { z } from 'zod'
import { ROLES } from '../core/domain/roles.ts'
import type { ConsoleDeps } from './deps.ts'
import { correctionsView, readCorrectionsView } from './views/corrections.ts'
import { differencesView, readDifferences } from './views/differences.ts'
import { planView, readPlanView } from './views/plan.ts'
import { quotaView, readQuotaPage } from './views/quotas.ts'
import { overview, readOverview } from './views/overview.ts'
import { readRejects, rejectsView } from './views/rejects.ts'
import { readReport } from './views/report.ts'
import { numberOf, ofNumber, readRun, runView } from './views/run.ts'
import { recordToday } from './views/record.ts'
import { readRow, rowView } from './views/row.ts'
import { readSync, syncView } from './views/sync.ts'
import { RUN_REPORT_SCHEMAS } from '../report/run-report.ts'
import { readSearch, searchResult } from './views/search.ts'
import { anyText as text } from './views/shapes.ts'

export interface ApiRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

interface ApiParameter {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly description: string
}

export interface ApiRoute {
  /** As OpenAPI writes it: `/runs/{run}`. */
  readonly path: string
  readonly id: string
  readonly summary: string
  readonly parameters: readonly ApiParameter[]
  readonly answer: z.ZodType
  /** Null: there is no such thing. */
  read(deps: ConsoleDeps, request: ApiRequest): Promise<object | null>
}

const apiError = z
  .object({ error: z.object({ code: text, message: text }) })
  .meta({ id: 'ApiError' })

export const overviewOf = (deps: ConsoleDeps) =>
  readOverview({ ...deps, readLive: () => deps.live.read() })

export const API_PATH = '/api/v1'

const RUN_PARAMETER = { name: 'run', in: 'path', description: 'Number of a run.' } as const

export const API: readonly ApiRoute[] = [
  {
    path: '/overview',
    id: 'overview',
    summary: 'Every sync with its latest run, what waits for a person, and the quotas',
    parameters: [],
    answer: overview,
    read: overviewOf,
  },
  {
    path: '/syncs/{sync}',
    id: 'sync',
    summary: 'A sync: its mapping, its schedule, its history and a page of its runs',
    parameters: [
      { name: 'sync', in: 'path', description: 'Name of a sync of the configuration.' },
      { name: 'before', in: 'query', description: 'Only runs with a lower number.' },
    ],
    answer: syncView,
    read: (deps, { params, query }) =>
      readSync(deps, params['sync']!, numberOf(query['before']) ?? undefined),
  },
  {
    path: '/runs/{run}',
    id: 'run',
    summary: 'A run: its state, its steps, its books, what it waits with',
    parameters: [RUN_PARAMETER],
    answer: runView,
    read: (deps, { params }) => ofNumber(params['run'], (id) => readRun(deps, id)),
  },
  {
    path: '/runs/{run}/report',
    id: 'runReport',
    summary: 'The report of a run, as `records-sync report --json` prints it',
    parameters: [RUN_PARAMETER],
    answer: RUN_REPORT_SCHEMAS.report,
    read: (deps, { params }) => ofNumber(params['run'], (id) => readReport(deps, id)),
  },
  {
    path: '/runs/{run}/rejects',
    id: 'rejects',
    summary: 'The rows of a run that need a person, by what is wrong with them',
    parameters: [RUN_PARAMETER],
    answer: rejectsView,
    read: (deps, { params }) => ofNumber(params['run'], (id) => readRejects(deps, id)),
  },
  {
    path: '/runs/{run}/corrections',
    id: 'corrections',
    summary: 'Rejects that can be corrected, 50 on a page; empty where values are hidden',
    parameters: [
      RUN_PARAMETER,
      { name: 'group', in: 'query', description: 'Only rows of this kind of error.' },
      { name: 'columns', in: 'query', description: '`all`, or places of columns: `0,3`.' },
      { name: 'correction', in: 'query', description: 'With what is kept under this number.' },
      { name: 'after', in: 'query', description: '`next_after` of the page before.' },
    ],
    answer: correctionsView,
    read: (deps, { params, query }) =>
      ofNumber(params['run'], (id) => readCorrectionsView(deps, id, query)),
  },
  {
    path: '/runs/{run}/plan',
    id: 'plan',
    summary: 'The plan that a run waits with, or has kept to: totals, and a page of its rows',
    parameters: [
      RUN_PARAMETER,
      { name: 'verdict', in: 'query', description: 'Only rows of this verdict.' },
      {
        name: 'property',
        in: 'query',
        description: 'Only rows that change, or keep, this property.',
      },
      { name: 'after', in: 'query', description: '`next_after` of the page before.' },
    ],
    answer: planView,
    read: (deps, { params, query }) =>
      ofNumber(params['run'], (id) => readPlanView(deps, id, query)),
  },
  {
    path: '/runs/{run}/differences',
    id: 'differences',
    summary: 'What a reconciliation found, or the rows that were read back otherwise than sent',
    parameters: [
      RUN_PARAMETER,
      { name: 'kind', in: 'query', description: 'Only differences of this kind.' },
      { name: 'property', in: 'query', description: 'Only differences in this property.' },
      { name: 'left', in: 'query', description: '1: only those that the run did not mend.' },
      { name: 'after', in: 'query', description: '`next_after` of the page before.' },
    ],
    answer: differencesView,
    read: (deps, { params, query }) =>
      ofNumber(params['run'], (id) => readDifferences(deps, id, query)),
  },
  {
    path: '/rows',
    id: 'row',
    summary: 'Everything that the ledger has of a key or of a record',
    parameters: [
      { name: 'key', in: 'query', description: 'The whole key of a row.' },
      { name: 'record', in: 'query', description: 'Or the id of a record.' },
    ],
    answer: rowView,
    read: (deps, { query }) => readRow(deps, query),
  },
  {
    path: '/quota',
    id: 'quota',
    summary:
      'The quota of each org, what used it in the last hour, and what live runs still ask of it',
    parameters: [],
    answer: quotaView,
    read: readQuotaPage,
  },
  {
    path: '/search',
    id: 'search',
    summary: 'Syncs by a part of their name, a run by its number, a row by its key or record id',
    parameters: [{ name: 'q', in: 'query', description: 'What is searched.' }],
    answer: searchResult,
    read: ({ readings }, { query }) => readSearch(readings, query['q'] ?? ''),
  },
]

const session = z.object({
  who: text.describe('Who acts.'),
  role: z.enum(ROLES).describe('What they may do.'),
  csrf: text.describe('The header x-csrf-token of a POST, with the cookie of this answer.'),
})
const actionDone = z.object({
  action: z.int().describe('Number of the action in the ledger.'),
  run: z.int().nullable().describe('The run that it began, once a worker has opened it.'),
})

/** Actions: `actions` of a run and of a sync has those that are possible now, with their paths. */
function actionPaths(answers: (answer: z.ZodType) => object): object {
  const texts = (where: 'path' | 'query', names: readonly string[]) =>
    names.map((name) => ({
      name,
      in: where,
      required: where === 'path',
      schema: { type: 'string' },
    }))
  const post = (id: string, summary: string, of: string, query: readonly string[]) => ({
    post: {
      operationId: id,
      summary,
      parameters: [
        ...texts('path', [of, 'action']),
        ...texts('query', query),
        { name: 'x-csrf-token', in: 'header', required: false, schema: { type: 'string' } },
      ],
      responses: answers(actionDone),
    },
  })
  return {
    '/session': {
      get: {
        operationId: 'session',
        summary: 'Who acts, and the token for it',
        responses: answers(session),
      },
    },
    '/rows/today': {
      post: {
        operationId: 'recordNow',
        summary:
          'A record that the ledger knows, as the service has it now; where values are shown',
        parameters: [
          ...texts('query', ['sync', 'record']),
          { name: 'x-csrf-token', in: 'header', required: false, schema: { type: 'string' } },
        ],
        responses: answers(recordToday),
      },
    },
    '/runs/{run}/{action}': post('actOnRun', 'Acts on a run', 'run', [
      'plan',
      'stream',
      'deletions',
      'correction',
    ]),
    '/syncs/{sync}/{action}': post('actOnSync', 'Acts on a sync', 'sync', ['repair']),
  }
}

/** The description of the API. */
export function openApi(routes: readonly ApiRoute[] = API): object {
  const schemaOf = (schema: z.ZodType) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'output', reused: 'inline' })
    return rest
  }
  const answers = (answer: z.ZodType) => ({
    '200': {
      description: 'As it is now.',
      content: { 'application/json': { schema: schemaOf(answer) } },
    },
    default: {
      description: 'Why there is no answer.',
      content: { 'application/json': { schema: schemaOf(apiError) } },
    },
  })
  const operation = ({ id, summary, parameters, answer }: ApiRoute) => ({
    get: {
      operationId: id,
      summary,
      parameters: parameters.map((each) => ({
        ...each,
        required: each.in === 'path',
        schema: { type: 'string' },
      })),
      responses: answers(answer),
    },
  })
  return {
    openapi: '3.1.0',
    info: {
      title: 'records-sync console',
      version: '1',
      description:
        'What the pages of the console are drawn from, and the actions of people. Times are ISO 8601 in UTC.',
    },
    servers: [{ url: API_PATH }],
    components: {
      securitySchemes: {
        password: {
          type: 'http',
          scheme: 'basic',
          description: 'Name and password of a user, with each request. No token is needed then.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'records-sync-PORT',
          description:
            'The cookie of a login, or of /session where nobody logs in. A POST needs the token of /session as x-csrf-token.',
        },
      },
    },
    security: [{ password: [] }, { session: [] }],
    paths: {
      ...Object.fromEntries(routes.map((route) => [route.path, operation(route)])),
      ...actionPaths(answers),
    },
  }
}
