// The pages by their paths: what each reads, and how it is drawn.

import type { Markup } from '../../report/escape.ts'
import { overviewOf, type ApiRequest } from '../api.ts'
import type { ConsoleDeps } from '../deps.ts'
import { TEXT } from '../texts.ts'
import { readQuotas } from '../views/quotas.ts'
import { readRejects } from '../views/rejects.ts'
import { readReport } from '../views/report.ts'
import { numberOf, ofNumber, readRun } from '../views/run.ts'
import { readRow } from '../views/row.ts'
import { readSync } from '../views/sync.ts'
import { readSearch } from '../views/search.ts'
import type { FrameParts } from './frame.ts'
import { overviewMain } from './overview.ts'
import { quotaMain } from './quota.ts'
import { rejectsMain } from './rejects.ts'
import { rowMain } from './row.ts'
import { reportPageMain, runMain } from './run.ts'
import { searchMain } from './search.ts'
import { syncMain } from './sync.ts'

export interface DrawnPage extends Pick<FrameParts, 'title' | 'at' | 'query' | 'refreshes'> {
  readonly main: Markup
}

export interface PageRoute {
  /** As Fastify writes it: `/runs/:run`. */
  readonly path: string
  /** Whether it changes with the live runs. */
  readonly isLive: boolean
  /** Null: there is no such thing. */
  draw(deps: ConsoleDeps, request: ApiRequest): Promise<DrawnPage | null>
}

export const PAGES: readonly PageRoute[] = [
  {
    path: '/',
    isLive: true,
    async draw(deps) {
      const data = await overviewOf(deps)
      const refreshes = data.syncs.some(({ live }) => live !== null)
      return { title: TEXT.overview, at: 'overview', main: overviewMain(data), refreshes }
    },
  },
  {
    path: '/syncs/:sync',
    isLive: true,
    async draw(deps, { params, query }) {
      const data = await readSync(deps, params['sync']!, numberOf(query['before']) ?? undefined)
      if (data === null) return null
      const refreshes = data.summary.live !== null
      return { title: data.summary.sync, at: null, main: syncMain(data), refreshes }
    },
  },
  {
    path: '/runs/:run',
    isLive: true,
    async draw(deps, { params }) {
      const data = await ofNumber(params['run'], (id) => readRun(deps, id))
      if (data === null) return null
      const title = `${TEXT.run(data.run.run)}, ${data.run.sync}`
      return { title, at: null, main: runMain(data), refreshes: data.live !== null }
    },
  },
  {
    path: '/runs/:run/report',
    isLive: false,
    async draw(deps, { params }) {
      const data = await ofNumber(params['run'], (id) => readReport(deps, id))
      if (data === null) return null
      const title = `${TEXT.ways.report}, ${TEXT.run(data.run.run)}, ${data.run.sync}`
      return { title, at: null, main: reportPageMain(data) }
    },
  },
  {
    path: '/runs/:run/rejects',
    isLive: false,
    async draw(deps, { params }) {
      const data = await ofNumber(params['run'], (id) => readRejects(deps, id))
      if (data === null) return null
      const title = `${TEXT.ways.rejects}, ${TEXT.run(data.run.run)}, ${data.run.sync}`
      return { title, at: null, main: rejectsMain(data) }
    },
  },
  {
    path: '/rows',
    isLive: false,
    async draw(deps, { query }) {
      const data = await readRow(deps, query)
      if (data === null) return null
      const subject = data.key ?? data.record!
      return { title: subject, at: null, main: rowMain(data), query: subject }
    },
  },
  {
    path: '/quota',
    isLive: true,
    async draw({ readings }) {
      const orgs = (await readings.quotas(readQuotas)) ?? []
      return { title: TEXT.quota, at: 'quota', main: quotaMain(orgs) }
    },
  },
  {
    path: '/search',
    isLive: false,
    async draw({ readings }, { query }) {
      const found = await readSearch(readings, query['q'] ?? '')
      return { title: TEXT.search, at: null, main: searchMain(found), query: found.query }
    },
  },
]
