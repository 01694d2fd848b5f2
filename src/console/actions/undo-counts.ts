// What an undo would do now, before a person starts it.

import { findSync, type ImportSync } from '../../../config/index.ts'
import {
  isUndoPossible,
  nextRunTexts,
  nothingLeft,
  undoAsks,
  undoFacts,
} from '../../actions/undo-facts.ts'
import { makeUndoPlan } from '../../actions/undo-plan.ts'
import { SyncError } from '../../core/errors.ts'
import { sendsAgain, undoProblem, type UndoPlan } from '../../import/index.ts'
import type { Run } from '../../ledger/ledger.ts'
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
    return undoShown(plan, run, sync)
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

/** The facts of the command, in its words. */
export function undoShown(
  plan: UndoPlan,
  run: Pick<Run, 'id' | 'purpose'>,
  sync: Pick<ImportSync, 'name' | 'schedule' | 'import'>,
): ConfirmFacts {
  const isPossible = isUndoPossible(plan)
  const asks = undoAsks(plan)
  const notes = isPossible
    ? [
        ...plan.warnings,
        ...(asks === null ? [] : [asks]),
        ...nextRunTexts(sync, run, plan),
        ...(sync.schedule === undefined || sendsAgain(sync) !== null ? [] : [TEXT.undoSchedule]),
      ]
    : [nothingLeft(run, plan)]
  return {
    shown: html`${countsOf(undoFacts(plan), TEXT.undoRecords)}
      <ul class="plain">
        ${notes.map((each) => html`<li class="note">${each}.</li>`)}
      </ul>`,
    field: ['deletions', String(plan.deletions)],
    isPossible,
  }
}
