// What a retry of corrected rows would send, before a person starts it.

import { cellText, rawRows } from '../../corrections/index.ts'
import type { Ledger, Run } from '../../ledger/ledger.ts'
import { html } from '../../report/escape.ts'
import { formatNumber } from '../../report/format.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { ConfirmFacts } from '../pages/actions.ts'
import { cardsTable, facts, figures, texts } from '../pages/parts.ts'
import { ITEMS_MAX_MS } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { correctionPages, CORRECTED_ROWS_MAX } from '../views/corrections.ts'
import { isRowLeft } from '../views/kept-corrections.ts'
import { numberOf } from '../views/run.ts'
import type { OfferedAction } from '../views/offers.ts'

const { corrections: words } = TEXT

type Query = Readonly<Record<string, string>>

/** The offer and its facts; null if none of the rows is left. */
export async function offerOfCorrection(
  { readings }: ConsoleDeps,
  id: number,
  offer: OfferedAction,
  query: Query,
): Promise<{ readonly offer: OfferedAction; readonly facts: ConfirmFacts } | null> {
  const correction = numberOf(query['correction'])
  if (correction === null) return null
  const found = await readings.ledger(async (ledger) => {
    const run = await ledger.run(id)
    return run && { run, ...(await countsOf(ledger, run, correction)) }
  }, ITEMS_MAX_MS)
  if (found === null || found.rows === 0) return null
  const { rows, changed, byColumn, run } = found
  const { counts } = words
  const isMore = rows >= CORRECTED_ROWS_MAX
  const more = (['restored', 'missing', 'ignored'] as const).flatMap((name) => {
    const count = numberOf(query[name])
    return count === null ? [] : [[counts[name], formatNumber(count)] as const]
  })
  const columns = (run.sourceColumns ?? []).flatMap((name, at) =>
    byColumn[at]! > 0 ? [[name, formatNumber(byColumn[at]!)]] : [],
  )
  return {
    offer: {
      ...offer,
      path: `/runs/${id}/retry?correction=${correction}`,
      label: words.retry(rows, isMore),
      meaning: words.retryMeaning(id),
    },
    facts: {
      shown: html`<section class="part" aria-labelledby="counted">
        <h2 id="counted">${counts.title}</h2>
        ${facts([
          [counts.rows, formatNumber(rows)],
          [counts.changedRows, formatNumber(changed)],
          ...(rows > changed ? [[counts.unchanged, formatNumber(rows - changed)] as const] : []),
          ...more,
        ])}
        ${isMore && html`<p class="note">${counts.counted}</p>`}
        ${columns.length > 0 && cardsTable([...texts(counts.column), ...figures(counts.cells)], columns)}
      </section>`,
      field: null,
      isPossible: true,
    },
  }
}

/** Whether a retry of the run would take a row of the correction. */
export const hasCorrection = async (
  { readings }: ConsoleDeps,
  id: number,
  correction: number,
): Promise<boolean> =>
  (await readings.ledger((ledger) => isRowLeft(ledger, id, correction))) === true

async function countsOf(ledger: Ledger, run: Run, correction: number) {
  let rows = 0
  let changed = 0
  const byColumn = (run.sourceColumns ?? []).map(() => 0)
  for await (const page of correctionPages(ledger, run, correction)) {
    const stored = await rawRows(
      ledger,
      run.id,
      page.map(({ ordinal }) => ordinal),
    )
    for (const { ordinal, raw } of page) {
      rows++
      const old = stored.get(ordinal) ?? []
      let isChanged = false
      for (const [at] of byColumn.entries()) {
        if (cellText(old[at]) === cellText(raw[at])) continue
        byColumn[at]! += 1
        isChanged = true
      }
      if (isChanged) changed++
    }
  }
  return { rows, changed, byColumn }
}
