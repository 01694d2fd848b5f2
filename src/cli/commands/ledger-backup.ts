// `records-sync ledger backup FILE`: a whole copy of a SQLite ledger, also while workers write it.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError, LedgerError } from '../../core/errors.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { formatNumber } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

export async function ledgerBackup(context: CommandContext, fileText: string): Promise<number> {
  const { ledger, file: configFile } = await context.loadConfig()
  if (!('sqlite' in ledger))
    throw new ConfigError(configFile, 'the ledger is a PostgreSQL database; `pg_dump` backs it up')
  const file = resolve(fileText)
  const { sqlite } = ledger
  if (!existsSync(sqlite))
    throw new LedgerError(
      'ledger_missing',
      `There is no ledger at ${sqlite} yet; it is made by the first run`,
      'ledger',
    )
  const { backupFile: backUp } = await import('../../sqlite/backup.ts')
  let bytes: number
  try {
    bytes = backUp(sqlite, file)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const why =
      code === 'EEXIST'
        ? 'there is such a file already; name a new one'
        : `cannot be written (${code})`
    throw new ConfigError(file, why)
  }
  if (context.json) printJson(context.terminal, { file, bytes })
  else
    context.terminal.out(`${file}: the whole ledger, ${formatNumber(Math.ceil(bytes / 1_024))} KiB`)
  return EXIT.done
}
