// What a command that starts runs does about the ledger first: one of an older release is upgraded, and said to be; a first run does
// not leave the runs of another ledger behind in silence.

import { readLedgerPlace, type Config } from '../../../config/index.ts'
import { requireOwnLedger } from '../../dev/known-ledgers.ts'
import { upgradeText } from '../../ledger/upgrade.ts'
import type { CommandContext } from './context.ts'

/** @throws LedgerError */
export async function startWithLedger(
  context: CommandContext,
  config: Config,
  {
    syncs,
    beginsAnew = false,
  }: { readonly syncs: readonly string[]; readonly beginsAnew?: boolean | undefined },
): Promise<void> {
  const { upgradeLedger } = await import('../../ledger/upgrade.ts')
  const place = await readLedgerPlace(config.ledger, context.env)
  const upgraded = await upgradeLedger(place)
  if (upgraded !== null) context.terminal.err(upgradeText(place, upgraded))
  if (beginsAnew) {
    const ledger = await context.openLedger({ readOnly: false })
    await ledger.beginAnew()
    await ledger.close()
    return
  }
  const ledger = await context.findLedger()
  try {
    await requireOwnLedger(config, { place, ledger, syncs })
  } finally {
    await ledger?.close()
  }
}
