// Every statement of SQLite in the world: whose it is, whether its process lives, and what the disk does with it.

import { DatabaseSync, StatementSync } from '@photostructure/sqlite'
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
/** The statement texts, for what may be written on a full disk. */
const texts = new WeakMap<object, string>()
const open = new Map<Process, Set<InstanceType<typeof DatabaseSync>>>()
let isWatched = false

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

function before(self: object, text: string | undefined): void {
  const process = currentProcess()
  if (hooks === null || process === undefined) return
  countStatement(process)
  if (process.state === 'dead') throw new Killed('the process was killed here')
  if (text !== undefined && CHANGES.test(text) && !hooks.hasRoom(process)) throw noRoom()
  if (self instanceof DatabaseSync) {
    const its = open.get(process)
    if (its) its.add(self)
    else open.set(process, new Set([self]))
  }
}

type Method = (this: object, ...given: unknown[]) => unknown

function watch(): void {
  if (isWatched) return
  isWatched = true
  const wrap = (prototype: object, name: string, make: (own: Method) => Method) =>
    Reflect.set(prototype, name, make(Reflect.get(prototype, name) as Method))
  wrap(
    DatabaseSync.prototype,
    'exec',
    (own) =>
      function exec(this: object, ...given) {
        before(this, String(given[0]))
        return own.apply(this, given)
      },
  )
  wrap(
    DatabaseSync.prototype,
    'prepare',
    (own) =>
      function prepare(this: object, ...given) {
        const statement = own.apply(this, given) as object
        texts.set(statement, String(given[0]))
        return statement
      },
  )
  for (const name of ['run', 'get', 'all', 'iterate'])
    wrap(
      StatementSync.prototype,
      name,
      (own) =>
        function step(this: object, ...given) {
          before(this, texts.get(this))
          return own.apply(this, given)
        },
    )
}

export function watchStatements(given: StatementHooks): () => void {
  watch()
  hooks = given
  return () => {
    hooks = null
    for (const process of open.keys()) closeFilesOf(process)
    open.clear()
  }
}

/** As the operating system does when a process ends: what was not committed is undone. */
export function closeFilesOf(process: Process): void {
  for (const db of open.get(process) ?? []) if (db.isOpen) db.close()
  open.delete(process)
}
