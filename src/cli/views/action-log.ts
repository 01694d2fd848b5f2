// What people did to a run, as lines.

import { actionWords, type LoggedAction } from '../../report/action-log.ts'
import { safeText, type Terminal } from '../shared/terminal.ts'

export function printActions(
  terminal: Pick<Terminal, 'out'>,
  actions: readonly LoggedAction[],
): void {
  for (const each of actions.toReversed()) {
    const details = each.details === null ? '' : ` (${safeText(each.details, 200)})`
    const why = each.result === null ? '' : `: ${safeText(each.result, 300)}`
    terminal.out(
      `  ${each.at.slice(0, 19)}Z  ${actionWords(each)}${details} by ${safeText(each.who, 200)}${why}`,
    )
  }
}
