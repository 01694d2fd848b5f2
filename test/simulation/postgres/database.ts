// The PostgreSQL server of a history, and its database: what the world, people and the judge see of it.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Scene } from '../search/plan.ts'
import type { Books } from '../world/books.ts'
import { diceOf } from '../world/dice.ts'
import type { Loop } from '../world/loop.ts'
import { asWorld, type Machine, type Process } from '../world/process.ts'
import { LEDGER_SCHEMA, TEMPLATE } from './names.ts'
import { Sessions } from './sessions.ts'
import { socketsOf } from './socket.ts'
import { ServerThread, type RealServer } from './thread.ts'

/** Each statement of a transaction goes there and back; in a file's thread it is all of them. */
const WAY_MAX_MS = 20

/** One for all histories of this process. */
let thread: ServerThread | null = null
let count = 0

export class Database implements Books {
  readonly sessions: Sessions
  readonly #thread: ServerThread
  readonly #name: string
  readonly #clock: string
  #known: { readonly changes: number; readonly answers: Map<string, readonly unknown[]> } | null =
    null

  constructor(parts: {
    readonly loop: Loop
    readonly seed: number
    readonly scene: Scene
    readonly server: RealServer
    /** Whose clock the server has. */
    readonly machine: Machine
    tell(line: string): void
  }) {
    const { loop, seed, scene, server, machine, tell } = parts
    this.#thread = thread ??= new ServerThread(server)
    this.#name = `history_${process.pid}_${++count}`
    this.#clock = join(server.folder, `clock_${this.#name}`)
    const ways = new Map<Process, { random(): number }>()
    this.sessions = new Sessions({
      loop,
      thread: this.#thread,
      server,
      database: this.#name,
      dice: diceOf(seed, 'database'),
      tell,
      wayMs: (of) => {
        const dice = ways.get(of) ?? diceOf(seed, `${of.name} database`)
        ways.set(of, dice)
        return Math.min(scene.ledgerMs, WAY_MAX_MS) * 2 * dice.random()
      },
      cuts: scene.database?.cuts ?? 0,
      writeClock: () => writeFileSync(this.#clock, String(machine.wallMs(loop.now()))),
    })
  }

  begin(): void {
    this.#thread.ask('postgres', `CREATE DATABASE ${this.#name} TEMPLATE ${TEMPLATE}`)
    this.#thread.ask(this.#name, `SET search_path = ${LEDGER_SCHEMA}`)
  }

  /** What `net.Socket` is while the history runs. */
  get sockets() {
    return socketsOf(this.sessions)
  }

  /** What is stored, as anybody may read it. The same question is asked once, as long as nothing changes. */
  query<Row>(sql: string, ...values: (string | number)[]): readonly Row[] {
    const { changes } = this.sessions
    if (this.#known?.changes !== changes) this.#known = { changes, answers: new Map() }
    const { answers } = this.#known
    const key = JSON.stringify([sql, values])
    const known = answers.get(key)
    if (known !== undefined) return known as readonly Row[]
    let at = 0
    const text = sql.replaceAll('?', () => `$${++at}`)
    const rows = asWorld(() => this.#thread.ask<Row>(this.#name, text, values))
    answers.set(key, rows)
    return rows
  }

  version(): number {
    return this.sessions.changes
  }

  /** The same, whenever it is asked. */
  ask<Row>(sql: string, values: readonly (string | number)[] = []): readonly Row[] {
    return this.#thread.ask<Row>(this.#name, sql, values)
  }

  /** What was not written to its log is lost when a server crashes. */
  crash(): void {
    this.sessions.stop(false)
    this.#isCrashed = true
  }

  start(): void {
    if (this.#isCrashed)
      this.#thread.ask(this.#name, `TRUNCATE ${LEDGER_SCHEMA}.quota, ${LEDGER_SCHEMA}.quota_keys`)
    this.#isCrashed = false
    this.sessions.start()
  }

  #isCrashed = false

  end(): void {
    this.sessions.destroy()
    this.#thread.leave(this.#name)
    this.#thread.ask('postgres', `DROP DATABASE ${this.#name} WITH (FORCE)`)
    rmSync(this.#clock, { force: true })
  }
}
