// `records-sync ledger upgrade`: brings a ledger of an older release to this one.

import { readLedgerPlace } from '../../../config/index.ts'
import { ledgerPlaceText } from '../../ledger/open.ts'
import { upgradeLedger, upgradeText } from '../../ledger/upgrade.ts'
import { printJson } from '../json.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'

export async function ledgerUpgrade(
  context: CommandContext,
  { backup }: { readonly backup: boolean },
): Promise<number> {
  const { terminal } = context
  const place = await readLedgerPlace((await context.loadConfig()).ledger, context.env)
  const upgraded = await upgradeLedger(place, { backsUp: backup })
  // Also where there is nothing to upgrade: one that is of a newer release, or missing, says so.
  await (await context.openLedger()).close()
  const text = ledgerPlaceText(place)
  if (context.json)
    printJson(terminal, {
      ledger: text,
      upgraded: upgraded !== null,
      from: upgraded?.from ?? null,
      to: upgraded?.to ?? null,
      backup: upgraded?.backup ?? null,
    })
  else
    terminal.out(
      upgraded === null ? `The ledger ${text} is of this release` : upgradeText(place, upgraded),
    )
  return EXIT.done
}
