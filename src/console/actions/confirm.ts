// The pages that ask before something is sent, deleted or ended. Promise kept here: what it would do is read again when it is done.

import { ACTION_NAMES } from '../../core/domain/actions.ts'
import { isAllowed } from '../../core/domain/roles.ts'
import { notAllowed } from './routes.ts'
import { findOffer, offersOf, type Subject } from './carry-out.ts'
import { offerOfCorrection } from './correction-counts.ts'
import type { OfferedAction } from '../views/offers.ts'
import { planTotals } from './plan-totals.ts'
import { readUndoCounts } from './undo-counts.ts'
import type { ApiRequest } from '../api.ts'
import type { ConsoleDeps } from '../deps.ts'
import { TEXT } from '../texts.ts'
import { numberOf } from '../views/run.ts'
import { confirmMain, notPossibleMain, type ConfirmFacts } from '../pages/actions.ts'
import type { DrawnPage, PageRoute } from '../pages/page-route.ts'
import { inPath } from '../pages/parts.ts'

async function draw(
  deps: ConsoleDeps,
  subject: Subject,
  { params, query }: ApiRequest,
): Promise<DrawnPage | null> {
  const action = params['action']!
  const offers = ACTION_NAMES.some((name) => name === action) ? await offersOf(deps, subject) : null
  if (offers === null) return null
  const back =
    'run' in subject
      ? { path: `/runs/${subject.run}`, words: TEXT.run(subject.run) }
      : { path: `/syncs/${inPath(subject.sync)}`, words: subject.sync }
  const offer = findOffer(offers, { action, query })
  if (offer === null)
    return { title: TEXT.act.notPossibleTitle, at: null, main: notPossibleMain(back) }
  if (deps.visitor !== null && !isAllowed(deps.visitor.role, offer.role)) {
    const { status, message } = notAllowed(deps.visitor, offer.role)
    return {
      title: TEXT.act.notPossibleTitle,
      at: null,
      main: notPossibleMain(back, message),
      status,
    }
  }
  const asks = await askingFor(deps, subject, offer, query)
  if (asks === null)
    return {
      title: TEXT.act.notPossibleTitle,
      at: null,
      main: notPossibleMain(back, TEXT.corrections.gone),
    }
  return {
    title: `${asks.offer.label}?`,
    at: null,
    main: confirmMain(asks.offer, back, asks.facts),
  }
}

/** What is asked, with what it would do; null if nothing of it is left. */
async function askingFor(
  deps: ConsoleDeps,
  subject: Subject,
  offer: OfferedAction,
  query: ApiRequest['query'],
): Promise<{ readonly offer: OfferedAction; readonly facts: ConfirmFacts } | null> {
  const { action } = offer
  if (action === 'undo' && 'run' in subject)
    return { offer, facts: await readUndoCounts(deps, subject.run) }
  if (action === 'approve' && 'run' in subject)
    return { offer, facts: await planTotals(deps, subject.run, offer) }
  if (action === 'retry' && 'run' in subject && query['correction'] !== undefined)
    return await offerOfCorrection(deps, subject.run, offer, query)
  return { offer, facts: { shown: null, field: null, isPossible: true } }
}

export const ACTION_PAGES: readonly PageRoute[] = [
  {
    path: '/runs/:run/:action',
    isLive: false,
    async draw(deps, request) {
      const run = numberOf(request.params['run'])
      return run === null ? null : await draw(deps, { run }, request)
    },
  },
  {
    path: '/syncs/:sync/:action',
    isLive: false,
    draw: (deps, request) => draw(deps, { sync: request.params['sync']! }, request),
  },
]
