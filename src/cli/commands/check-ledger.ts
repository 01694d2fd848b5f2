// The ledger, as `check` looks at it: whether it can be opened as `plan` and runs open it. It is neither made nor changed.

import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { LedgerError } from '../../core/errors.ts'
import type { CommandContext } from '../shared/context.ts'

/** @throws LedgerError */
export async function checkLedger(
  context: Pick<CommandContext, 'findLedger'>,
  { ledger: settings, file: configFile }: Pick<Config, 'ledger' | 'file'>,
): Promise<{ message: string }> {
  if ('sqlite' in settings) checkWritable(settings.sqlite)
  const ledger = await context.findLedger()
  await ledger?.close()
  const place =
    'sqlite' in settings
      ? relative(dirname(configFile), settings.sqlite)
      : `PostgreSQL, schema ${settings.schema}`
  return { message: ledger === null ? `${place}; the first run makes it` : place }
}

/** The file, or else the folder in which it is made. */
function checkWritable(path: string): void {
  let place = path
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  try {
    accessSync(place, constants.W_OK)
  } catch {
    throw new LedgerError(
      'ledger_not_writable',
      `this user may not write ${place}; expected the right to write it, because runs keep their books there`,
    )
  }
}
