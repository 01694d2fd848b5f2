// The pages by their paths: what each reads, and how it is drawn.

import { overviewOf } from './api.ts'
import { TEXT } from './texts.ts'
import { correctionsDrawn } from './actions/corrections.ts'
import { readCorrectionsPage } from './views/corrections.ts'
import { readDifferences } from './views/differences.ts'
import { readPlanView } from './views/plan.ts'
import { readQuotaPage } from './views/quotas.ts'
import { readRejects } from './views/rejects.ts'
import { readReport } from './views/report.ts'
import { numberOf, ofNumber, readRun } from './views/run.ts'
import { readRow } from './views/row.ts'
import { readSync } from './views/sync.ts'
import { readSearch } from './views/search.ts'
import type { PageRoute } from './pages/page-route.ts'
import { ACTION_PAGES } from './actions/confirm.ts'
import { overviewMain } from './pages/overview.ts'
import { differencesMain } from './pages/differences.ts'
import { planMain } from './pages/plan.ts'
import { quotaMain } from './pages/quota.ts'
import { rejectsMain } from './pages/rejects.ts'
import { rowMain } from './pages/row.ts'
import { reportPageMain, runMain } from './pages/run.ts'
import { searchMain } from './pages/search.ts'
import { syncMain } from './pages/sync.ts'

export const PAGES: readonly PageRoute[] = [
  ...ACTION_PAGES,
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
    path: '/runs/:run/corrections',
    isLive: false,
    async draw(deps, { params, query }) {
      const page = await ofNumber(params['run'], (id) => readCorrectionsPage(deps, id, query))
      return page === null ? null : correctionsDrawn(page, query)
    },
  },
  {
    path: '/runs/:run/plan',
    isLive: true,
    async draw(deps, { params, query }) {
      const data = await ofNumber(params['run'], (id) => readPlanView(deps, id, query))
      if (data === null) return null
      const title = `${TEXT.ways.plan}, ${TEXT.run(data.run.run)}, ${data.run.sync}`
      return { title, at: null, main: planMain(data) }
    },
  },
  {
    path: '/runs/:run/differences',
    isLive: true,
    async draw(deps, { params, query }) {
      const data = await ofNumber(params['run'], (id) => readDifferences(deps, id, query))
      if (data === null) return null
      const title = `${TEXT.ways.differences}, ${TEXT.run(data.run.run)}, ${data.run.sync}`
      return { title, at: null, main: differencesMain(data) }
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
    async draw(deps) {
      return { title: TEXT.quota, at: 'quota', main: quotaMain(await readQuotaPage(deps)) }
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
