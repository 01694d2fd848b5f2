// Every statement of SQLite in the world: whose it is, whether its process lives, and what the disk does with it.

import { AsyncResource } from 'node:async_hooks'
import {
  DatabaseSync as SqliteDatabase,
  StatementSync,
  type DatabaseSyncInstance,
} from '@photostructure/sqlite'
import { currentProcess, type Process } from './process.ts'

export class Killed extends Error {
  override readonly name = 'Killed'
}

export interface StatementHooks {
  /** Whether a write finds room now. */
  hasRoom(process: Process): boolean
  /** It was killed at a statement. */
  killed(process: Process): void
}

let hooks: StatementHooks | null = null
/** Statements that change their file: those may find a full disk. */
const changing = new WeakMap<object, string>()
/** All of a history. A file that was closed lets go of its locks and its log as the last of its statements is collected: no story may depend on when. */
const kept: object[] = []
/** By file: how often something may have changed it. */
const changes = new Map<string, number>()
const open = new Map<Process, Set<DatabaseSyncInstance>>()

const CHANGES = /^\s*(?:WITH\b[^]*?\b)?(?:INSERT|UPDATE|DELETE|REPLACE|CREATE|ALTER|COMMIT)\b/i

/** The error that SQLite gives. */
const noRoom = (): Error =>
  Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL', errcode: 13 })

/** A statement of the process; it may be the one at which it is killed. */
export function countStatement(process: Process): void {
  if (process.state !== 'dead' && process.killedIn !== null && --process.killedIn <= 0) {
    process.killedIn = null
    process.die()
    hooks?.killed(process)
  }
}

/** Grows whenever the file has changed. */
export const changesOf = (path: string): number => changes.get(path) ?? 0

/** @param changed the file that is changed; undefined: none is */
function before(self: object, changed: string | undefined): void {
  const process = currentProcess()
  if (hooks === null || process === undefined) return
  countStatement(process)
  if (process.state === 'dead') throw new Killed('the process was killed here')
  if (changed !== undefined) {
    if (!hooks.hasRoom(process)) throw noRoom()
    changes.set(changed, changesOf(changed) + 1)
  }
  if (self instanceof SqliteDatabase) {
    const its = open.get(process)
    if (its) its.add(self)
    else open.set(process, new Set([self]))
  }
}

const { prototype } = StatementSync

/** As a statement of SQLite. The driver's own classes cannot be changed. */
const watchedStatement = Object.create(
  prototype,
  Object.fromEntries(
    (['run', 'get', 'all', 'iterate'] as const).map((name) => {
      const own = prototype[name] as (...given: unknown[]) => unknown
      return [
        name,
        {
          value(this: object, ...given: unknown[]) {
            before(this, changing.get(this))
            return own.apply(this, given)
          },
        },
      ]
    }),
  ),
) as object

/** Made by no process, and in no activity. */
const nowhere = new AsyncResource('SQLite')

/** What `src` gets as SQLite's database in the simulator (search/bundle.ts). */
export class DatabaseSync extends SqliteDatabase {
  /** The driver keeps where a function is made, and so all that is held from there: in a process, its whole world for ever. */
  override function(...given: unknown[]): void {
    const own = super.function as (...given: unknown[]) => void
    nowhere.runInAsyncScope(() => own.apply(this, given))
  }

  override exec(sql: string): void {
    before(this, this.#changedBy(sql))
    super.exec(sql)
  }

  override prepare(sql: string, options?: Parameters<DatabaseSyncInstance['prepare']>[1]) {
    const statement = super.prepare(sql, options)
    kept.push(statement)
    const changed = this.#changedBy(sql)
    if (changed !== undefined) changing.set(statement, changed)
    return Object.setPrototypeOf(statement, watchedStatement) as typeof statement
  }

  #changedBy = (sql: string): string | undefined =>
    CHANGES.test(sql) ? (this.location() ?? undefined) : undefined
}

export function watchStatements(given: StatementHooks): () => void {
  hooks = given
  return () => {
    hooks = null
    closeAllFiles()
    kept.length = 0
    changes.clear()
  }
}

/** All that processes have open. */
export const openFiles = (): readonly DatabaseSyncInstance[] =>
  [...open.values()].flatMap((its) => [...its]).filter((db) => db.isOpen)

/** As the operating system does when a process ends: what was not committed is undone, and its locks are gone. */
export function closeFilesOf(process: Process): void {
  for (const db of open.get(process) ?? []) {
    if (!db.isOpen) continue
    // A file whose statements are not gone yet keeps its locks when it is closed.
    if (db.isTransaction) SqliteDatabase.prototype.exec.call(db, 'ROLLBACK')
    db.close()
  }
  open.delete(process)
}

export function closeAllFiles(): void {
  for (const process of open.keys()) closeFilesOf(process)
}
