// The ledger of a history as anybody may read it, with SQL that both SQLite and PostgreSQL take.

import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import type { Dice } from '../scheduler.ts'
import { losePower, storedIn } from './power.ts'
import { asWorld } from './process.ts'
import { changesOf, closeAllFiles } from './statements.ts'

export interface Books {
  query<Row>(sql: string, ...values: (string | number)[]): readonly Row[]
  /** Another one whenever the ledger has changed. */
  version(): number
}

/** In memory where the machine has such a folder: a disk that waits for its writes is no part of a history. */
export const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** A ledger without runs, made once: to make its tables takes longer than a short history. */
let template: string | null = null
export function ledgerTemplate(): string {
  if (template !== null && existsSync(template)) return template
  const folder = mkdtempSync(join(FOLDER, 'records-sync-template-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  template = join(folder, 'ledger.db')
  void openSqliteLedger(template).close()
  const db = new DatabaseSync(template)
  // The same project in all histories, on any machine.
  db.exec("UPDATE project SET id = 'simulate'")
  // The ledger's own connection ends with its statements, so the last one to close may not empty the log; only the file is copied.
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  return template
}

type Statement = ReturnType<InstanceType<typeof DatabaseSync>['prepare']>

/** A new ledger in a file. */
export class FileBooks implements Books {
  readonly #file: string
  readonly #statements = new Map<string, Statement>()
  #db: InstanceType<typeof DatabaseSync> | null = null
  /** Other files that have taken its place. */
  #replaced = 0
  #known: { readonly version: number; readonly answers: Map<string, readonly unknown[]> } | null =
    null

  constructor(folder: string) {
    this.#file = join(folder, 'ledger.db')
  }

  begin(): void {
    copyFileSync(ledgerTemplate(), this.#file)
  }

  /** The same question is asked once, as long as nothing changes. */
  query<Row>(sql: string, ...values: (string | number)[]): readonly Row[] {
    const version = this.version()
    if (this.#known?.version !== version) this.#known = { version, answers: new Map() }
    const { answers } = this.#known
    const key = JSON.stringify([sql, values])
    const known = answers.get(key)
    if (known !== undefined) return known as readonly Row[]
    const rows = this.#ask(sql, values)
    answers.set(key, rows)
    return rows as readonly Row[]
  }

  #ask(sql: string, values: readonly (string | number)[]): readonly unknown[] {
    return asWorld(() => {
      this.#db ??= new DatabaseSync(this.#file, { readOnly: true })
      let statement = this.#statements.get(sql)
      if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare(sql)))
      return statement.all(...values)
    })
  }

  version(): number {
    return this.#replaced + changesOf(this.#file)
  }

  /** A copy takes the place of the file. Who has it open goes on in the one that is gone. */
  replace(): void {
    const copy = `${this.#file}.copy`
    asWorld(() => {
      const db = new DatabaseSync(this.#file, { readOnly: true })
      db.prepare('VACUUM INTO ?').run(copy)
      db.close()
      this.#close()
      renameSync(copy, this.#file)
      for (const ending of ['-wal', '-shm']) rmSync(`${this.#file}${ending}`, { force: true })
    })
  }

  /**
   * The power fails. Returns whether the ledger has all that it had stored.
   * @param end ends the processes of the machine
   */
  outlivesPowerCut(dice: Dice, end: () => void): boolean {
    const stored = () => asWorld(() => storedIn(this.#file))
    const before = stored()
    losePower([this.#file, join(dirname(this.#file), 'quota.db')], dice, () => {
      end()
      closeAllFiles()
      this.#close()
    })
    return stored() === before
  }

  end(): void {
    this.#close()
  }

  #close(): void {
    this.#db?.close()
    this.#db = null
    this.#replaced++
    this.#statements.clear()
  }
}
