// The ledger, as `check` looks at it: whether it can be opened as `plan` and runs open it. It is neither made nor changed.

import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { readLedgerPlace, type Config } from '../../../config/index.ts'
import { LedgerError } from '../../core/errors.ts'
import { requireOwnLedger } from '../../dev/known-ledgers.ts'
import type { CommandContext } from '../shared/context.ts'

/** @throws LedgerError */
export async function checkLedger(
  context: Pick<CommandContext, 'findLedger' | 'env'>,
  config: Pick<Config, 'ledger' | 'file' | 'syncs'>,
): Promise<{ message: string }> {
  const { ledger: settings, file: configFile } = config
  if ('sqlite' in settings) checkWritable(settings.sqlite)
  const ledger = await context.findLedger()
  try {
    const place = await readLedgerPlace(settings, context.env)
    await requireOwnLedger(config, { place, ledger, syncs: Object.keys(config.syncs) })
  } finally {
    await ledger?.close()
  }
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
