// The ledger files that a process has used. Promise kept here: one that was moved away, replaced or overwritten is neither read nor
// written as if it were the same, and none is made in its place.

import { existsSync } from 'node:fs'
import { LedgerError } from '../core/errors.ts'
import type { Ledger } from './ledger.ts'

export class LedgerWatch {
  readonly #files = new Map<string, { check(): void }>()

  /** Opens a file that is there, and the same as before. @throws LedgerError */
  async open(path: string, isRead: boolean, open: () => Promise<Ledger>): Promise<Ledger> {
    this.#files.get(path)?.check()
    if (!isRead && !existsSync(path))
      throw new LedgerError(
        'ledger_missing',
        `There is no ledger at ${path} yet; a worker makes it when it starts`,
      )
    const ledger = await open()
    const { watchLedgerFile } = await import('./sqlite/database.ts')
    const file = this.#files.get(path) ?? watchLedgerFile(path)
    this.#files.set(path, file)
    return checked(ledger, () => file.check())
  }
}

/** A ledger whose methods ask first. */
function checked(ledger: Ledger, check: () => void): Ledger {
  const methods = Object.entries(ledger as unknown as Record<string, unknown>).map(
    ([name, method]): [string, unknown] => {
      if (typeof method !== 'function' || name === 'close') return [name, method]
      const ask = (...values: unknown[]): unknown => {
        check()
        return (method as (...of: unknown[]) => unknown).apply(ledger, values)
      }
      return [name, ask]
    },
  )
  return Object.fromEntries(methods) as unknown as Ledger
}
