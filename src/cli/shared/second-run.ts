// A second run of a sync ends at once, without a number. Whoever starts one hears of the first before, and a person may follow that
// one instead.

import { AlreadyRunning } from '../../core/errors.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { safeText, screenLines, utc } from './terminal.ts'

/** Whether a command follows that run instead of starting one: it was told to, or a person asked for a run like it. */
export const mayAttach = (
  held: Pick<Run, 'purpose'>,
  asked: {
    readonly attach?: boolean | undefined
    /** Whether it was given other options. */
    readonly isSpecial: boolean
    readonly isScreen?: boolean | undefined
  },
): boolean =>
  asked.attach === true || (asked.isScreen === true && !asked.isSpecial && held.purpose === 'sync')

/**
 * Says that the run which holds the sync is followed, where it `isFollowed`.
 * @throws AlreadyRunning if not
 */
export function attachTo(
  { terminal, hint }: Pick<CommandContext, 'terminal' | 'hint'>,
  held: Run,
  isFollowed: boolean,
): void {
  const sync = safeText(held.sync, 63)
  if (!isFollowed) {
    terminal.err(`See it: ${hint(`watch ${sync}`)}`)
    throw new AlreadyRunning(held.sync, held.id, held.workflowId)
  }
  const since = utc(Date.parse(held.openedAt), Date.now())
  const what = held.purpose === 'sync' ? '' : ` (${held.purpose})`
  const found = `${sync} is at work since ${since}: this follows run ${held.id}${what}, and starts none.`
  const later = 'What changed in the source since then comes with the next run.'
  for (const line of screenLines(`${found} ${later}`, 0)) terminal.err(line)
}
