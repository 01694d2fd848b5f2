// What an undo would do now, before a person starts it.

import { findSync } from '../../../config/index.ts'
import { makeUndoPlan } from '../../actions/undo-plan.ts'
import { SyncError } from '../../core/errors.ts'
import { undoProblem } from '../../import/index.ts'
import { html } from '../../report/escape.ts'
import type { ConsoleDeps } from '../deps.ts'
import { countsOf, type ConfirmFacts } from '../pages/actions.ts'
import { TEXT } from '../texts.ts'

/** It asks the service, so this process needs its key; so long it may take. */
const COUNT_MAX_MS = 60_000

export async function readUndoCounts(
  { parts, readings }: ConsoleDeps,
  id: number,
): Promise<ConfirmFacts> {
  try {
    const { config } = await readings.config()
    const found = await readings.ledger(async (ledger) => {
      const run = (await ledger.run(id))!
      const task = { of: id, choice: {} }
      return { run, problem: await undoProblem(ledger, task, run, findSync(config, run.sync)) }
    })
    const { run, problem } = found!
    const sync = findSync(config, run.sync)
    if (problem !== null || sync.kind !== 'import') return notCounted(problem ?? '')
    const task = { of: id, choice: {} }
    const plan = await makeUndoPlan(parts.place, sync, task, {
      signal: AbortSignal.timeout(COUNT_MAX_MS),
    })
    const { restored, deleted, made, kept, gone, unknown } = plan
    const counts = TEXT.undoCounts
    const shown = countsOf([
      [counts.restored, restored],
      [counts.deleted, deleted],
      [counts.made, made],
      [counts.kept, kept],
      [counts.gone, gone],
      [counts.unknown, unknown],
    ])
    const isPossible = restored + deleted + made > 0
    return {
      shown: html`${shown}${!isPossible && html`<p class="note">${counts.nothing}</p>`}`,
      field: ['deletions', String(plan.deletions)],
      isPossible,
    }
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return notCounted(error.message)
  }
}

const notCounted = (why: string): ConfirmFacts => ({
  shown: html`<div class="problem" role="status">${TEXT.act.notCounted} ${why}</div>`,
  field: null,
  isPossible: false,
})
