// The JSON of the console: a table of what may be read. The pages are drawn from the same objects; the description of it all
// (OpenAPI) is made from this table.

import { z } from 'zod'
import type { ConsoleDeps } from './deps.ts'
import { orgQuota, readQuotas } from './views/quotas.ts'
import { overview, readOverview } from './views/overview.ts'
import { readRejects, rejectsView } from './views/rejects.ts'
import { readReport } from './views/report.ts'
import { numberOf, ofNumber, readRun, runView } from './views/run.ts'
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
    summary: 'The quota of each org',
    parameters: [],
    answer: z.object({ orgs: z.array(orgQuota) }),
    read: async ({ readings }) => ({ orgs: (await readings.quotas(readQuotas)) ?? [] }),
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
        'What the pages of the console are drawn from. Reads only; times are ISO 8601 in UTC.',
    },
    servers: [{ url: API_PATH }],
    paths: Object.fromEntries(routes.map((route) => [route.path, operation(route)])),
  }
}
