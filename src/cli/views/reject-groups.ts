// Rejects by what is wrong with them, as a table.

import type { RejectGroup } from '../../ledger/ledger.ts'
import { safeText, table, type Terminal } from '../shared/terminal.ts'

export const REJECT_GROUPS_SHOWN = 20

export const rejectGroupToJson = <Group extends { readonly isMore?: boolean | undefined }>({
  isMore,
  ...group
}: Group) => ({
  ...group,
  is_more: isMore === true,
})

/** @param showsState whether the rows can be in several states */
export function printRejectGroups(
  terminal: Terminal,
  groups: readonly RejectGroup[],
  showsState: boolean,
): void {
  if (groups.length === 0) return
  const rows = groups
    .slice(0, REJECT_GROUPS_SHOWN)
    .map(({ items, state, reason, code, isMore, column, field, example }) => [
      items,
      ...(showsState ? [state] : []),
      `${reason ?? code ?? '–'}${isMore ? ' (also)' : ''}`,
      safeText(column ?? '–', 30),
      safeText(field ?? '–', 40),
      example,
    ])
  const state = showsState ? ['state'] : []
  terminal.out(table(['rows', ...state, 'reason', 'column', 'property', 'first row'], rows))
  if (groups.some(({ isMore }) => isMore))
    terminal.out('(also): rows that are in another line too, because more than one cell is wrong')
}
