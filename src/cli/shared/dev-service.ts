// The Records Service that `dev` brings, which is there only while `dev` runs, at the port that it finds then. What a run writes to is
// an address: at another port the same service is another one.

import { dirname, resolve } from 'node:path'
import type { Config } from '../../../config/index.ts'
import { devKeyFile, findParts, stateDirOf } from '../../dev/parts.ts'
import { SERVICE_PORT } from '../../dev/ports.ts'
import type { Run, Runs } from '../../ledger/ledger.ts'
import { orNull, type CommandContext } from './context.ts'

/** Whether the connection leads there: its key is the file that `dev` writes. */
export function isOfDev(
  configFile: string,
  { key }: Pick<Config['connections'][string], 'key'>,
): boolean {
  return (
    'file' in key && resolve(dirname(configFile), key.file) === devKeyFile(stateDirOf(configFile))
  )
}

/** Where a run writes to; before it is staged, that of the run whose rows it takes. Null of a mirror. */
export async function originOfRun(ledger: Pick<Runs, 'destinationOf'>, run: Run) {
  const own = await ledger.destinationOf(run.id)
  const home = own ?? (run.of === null ? null : await ledger.destinationOf(run.of))
  return home?.origin ?? null
}

/**
 * `dev`, as a person types it for a run of the sync: as it was typed where it runs this command, else with the port at which the
 * newest run of the sync knows the service, if that is not the usual one.
 */
export async function devCommand(
  context: Pick<CommandContext, 'configFile' | 'findLedger'>,
  sync: string,
): Promise<string> {
  const parts = findParts(context.configFile)
  if (parts?.pid === process.ppid) return parts.command
  const origin = await orNull(async () => {
    const ledger = await context.findLedger()
    try {
      const [run] = (await ledger?.runs({ sync, limit: 1 })) ?? []
      return ledger && run ? await originOfRun(ledger, run) : null
    } finally {
      await ledger?.close()
    }
  })
  return origin === loopback(SERVICE_PORT) ? 'dev' : devAt('dev', origin)
}

/** The same `dev` with its service at an origin of this machine, where a run knows it. */
export function devAt(dev: string, origin: string | null): string {
  const port = origin === null ? '' : new URL(origin).port
  if (port === '' || origin !== loopback(port)) return dev
  return `${dev.replace(/ --service-port[ =]\d+/, '')} --service-port ${port}`
}

const loopback = (port: number | string) => `http://127.0.0.1:${port}`
