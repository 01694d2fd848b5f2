// What was found in files of corrections, in words.

import type { CorrectionsAccount } from '../../corrections/index.ts'
import { countText, formatNumber, safeText, type Terminal } from './terminal.ts'

const COLUMNS_NAMED = 10

/** What was read, changed and put back, column by column. */
export function printCorrections(terminal: Terminal, account: CorrectionsAccount): void {
  const columns = (counts: ReadonlyMap<string, number>): string => {
    const named = [...counts].slice(0, COLUMNS_NAMED)
    const list = named
      .map(([name, cells]) => `${safeText(name, 40)} ${formatNumber(cells)}`)
      .join(', ')
    return counts.size > COLUMNS_NAMED ? `${list} and ${counts.size - COLUMNS_NAMED} more` : list
  }
  const { rows, unchanged, changed, restored, files } = account
  terminal.err(`${countText(rows, 'row')} to send again`)
  if (changed.size > 0) terminal.err(`  cells that you changed: ${columns(changed)}`)
  if (unchanged > 0) terminal.err(`  rows without a change: ${formatNumber(unchanged)}`)
  if (restored.size > 0)
    terminal.err(
      `  cells that only the spreadsheet changed, taken as they were: ${columns(restored)}`,
    )
  for (const { file, missing, ignored } of files) {
    const names = (list: readonly string[]) => list.map((name) => safeText(name, 40)).join(', ')
    if (missing.length > 0)
      terminal.err(`  ${safeText(file, 200)} lacks ${names(missing)}: taken as they were`)
    if (ignored.length > 0) terminal.err(`  ${safeText(file, 200)}: ${names(ignored)} is not read`)
  }
}
