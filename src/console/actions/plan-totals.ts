// What a run does if its plan is approved, before a person approves it. Promise kept here: the totals are of the plan that the digest of
// the page names.

import { html } from '../../report/escape.ts'
import { countText, formatNumber } from '../../report/format.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { ConfirmFacts } from '../pages/actions.ts'
import { cardsTable, facts, figures, texts } from '../pages/parts.ts'
import { TEXT } from '../texts.ts'
import type { OfferedAction } from '../views/offers.ts'
import { readPlanView } from '../views/plan.ts'

const { plans } = TEXT

/** Of an import that waits; without a plan there are none. */
export async function planTotals(
  deps: ConsoleDeps,
  run: number,
  { path }: OfferedAction,
): Promise<ConfirmFacts> {
  const view = await readPlanView(deps, run, {})
  const plan = view?.plan ?? null
  const isAsked = view?.actions.some((offer) => offer.path === path) === true
  if (plan === null || !isAsked) return { shown: null, field: null, isPossible: true }
  const { verdicts, planned, looked_up: lookedUp, removals, properties } = plan
  const left = planned === null ? 0 : planned - lookedUp
  const kept = (properties ?? []).reduce((sum, each) => sum + each.kept, 0)
  const more = [
    ...(removals > 0 ? [[TEXT.planRemovals, countText(removals, 'record')] as const] : []),
    ...(kept > 0 ? [[plans.kept, countText(kept, 'value')] as const] : []),
  ]
  return {
    shown: html`<section class="part" aria-labelledby="counted">
      <h2 id="counted">${plans.summary}</h2>
      ${cardsTable(
        [...texts(TEXT.planVerdict), ...figures(TEXT.rows)],
        verdicts.map(({ verdict, meaning, rows }) => [
          html`${verdict} <span class="of">${meaning}</span>`,
          formatNumber(rows),
        ]),
      )}
      ${more.length > 0 && facts(more)}
      ${left > 0 && html`<p class="note warn">${plans.notLookedUp(left, planned!)}</p>`}
      <p class="note"><a href="/runs/${run}/plan">${TEXT.planRows}</a></p>
    </section>`,
    field: null,
    isPossible: true,
  }
}
