// Rows as a person corrected them, put into the ledger for a retry, and what was found in the files, in words.

import { rawRows, readCorrections, type CorrectionsAccount } from '../../corrections/index.ts'
import type { Run } from '../../ledger/ledger.ts'
import type { CommandContext } from './context.ts'
import { countText, formatNumber, safeText, type Terminal } from './terminal.ts'

const COLUMNS_NAMED = 10

/**
 * The number of the correction; null if the files have no row.
 * @throws SourceError with file, line and what was expected; nothing is sent then
 */
export async function loadCorrections(
  context: CommandContext,
  run: Run,
  files: readonly string[],
): Promise<number | null> {
  const ledger = await context.openLedger({ readOnly: false })
  try {
    const corrections = readCorrections(files, {
      run: run.id,
      columns: run.sourceColumns ?? [],
      rawOf: (ordinals) => rawRows(ledger, run.id, ordinals),
    })
    let correction: number | null = null
    for await (const rows of corrections.pages())
      if (rows.length > 0) correction = await ledger.addCorrections(run.id, correction, rows)
    if (!context.json) printAccount(context.terminal, corrections.account())
    return correction
  } finally {
    await ledger.close()
  }
}

/** What was read, changed and put back, column by column. */
function printAccount(terminal: Terminal, account: CorrectionsAccount): void {
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
