// The sessions of a history at its PostgreSQL server. A statement is carried out while virtual time stands still, one at a time; the way there
// and back takes time, in which the process may be stopped or killed, and the connection cut. A statement that waits for a lock is left
// waiting, and time goes on; it is answered when whoever holds the lock lets it go. What ends a wait is decided here, in virtual time: a lock,
// a statement or an idle transaction that takes too long, and a deadlock.

import type { Dice } from '../scheduler.ts'
import type { Loop } from '../world/loop.ts'
import { asWorld, type Process } from '../world/process.ts'
import { countStatement } from '../world/statements.ts'
import { END, Session, type Group } from './session.ts'
import type { DatabaseSocket, DatabaseWire } from './socket.ts'
import type { RealServer, ServerThread } from './thread.ts'
import { goOn, runOn, untilAnswered } from './turns.ts'
import { fatal } from './wire.ts'

/** The server looks for a deadlock after so long. */
const DEADLOCK_MS = 1_000
/** Of statements that go on one after the other because of one that was carried out. */
const TURNS_MAX = 10_000

export interface SessionsParts {
  readonly loop: Loop
  readonly thread: ServerThread
  readonly server: RealServer
  readonly database: string
  readonly dice: Dice
  tell(line: string): void
  /** Of one way to the server, or back, ms. */
  wayMs(process: Process): number
  /** Of statements: how often the connection is cut before, or after, one is carried out. */
  readonly cuts: number
  /** Writes the time of the server into the file that it reads. */
  writeClock(): void
}

export class Sessions implements DatabaseWire {
  /** How often something has changed that others may look at. */
  changes = 0
  isDown = false
  readonly #parts: SessionsParts
  readonly #all = new Map<DatabaseSocket, Session>()
  readonly #open = new Set<Session>()
  readonly #lastAt = new WeakMap<Session, { there: number; back: number }>()
  /** Statements until a session is ended at one; null: none is. */
  endedIn: number | null = null
  #made = 0
  #waits = 0
  #isAtRest = false
  readonly #stops = new Map<Process, { count: number; readonly stop: () => void }>()

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  connect(socket: DatabaseSocket): void {
    const { loop, server, database, wayMs } = this.#parts
    const { process } = socket
    // Also one of an earlier history: what it waits for may come to an end in this one.
    if (process.state === 'dead') return
    const session = new Session(++this.#made, socket, { server, database })
    this.#all.set(socket, session)
    process.onDeath.push(() => this.#abandon(session))
    const made = () => {
      if (socket.destroyed) return
      if (this.isDown) return socket.fail('ECONNREFUSED')
      this.#open.add(session)
      socket.emit('connect')
    }
    loop.after(2 * wayMs(process), 'a connection', () => process.run(made), process)
  }

  send(from: DatabaseSocket, bytes: Buffer): void {
    const session = this.#all.get(from)!
    for (const group of session.take(bytes)) {
      if (group.kind === 'statement') {
        countStatement(from.process)
        if (from.process.state === 'dead') return
        this.#countInTransaction(session)
        if (this.#isCut()) return this.#cut(session, group)
      }
      this.#there(session, () => this.#arrive(session, group))
    }
  }

  finish(from: DatabaseSocket): void {
    this.gone(from)
  }

  gone(from: DatabaseSocket): void {
    const session = this.#all.get(from)
    if (session === undefined || session.isOver || from.process.state === 'dead') return
    this.#there(session, () => this.#arrive(session, END))
  }

  /** Calls `stop` when the process has sent so many statements of transactions that have begun. */
  stopIn(process: Process, count: number, stop: () => void): void {
    this.#stops.set(process, { count, stop })
  }

  #countInTransaction({ process, status }: Session): void {
    const stop = this.#stops.get(process)
    if (stop === undefined || status !== 'T' || --stop.count > 0) return
    this.#stops.delete(process)
    asWorld(stop.stop)
  }

  #isCut(): boolean {
    return !this.#isAtRest && this.#parts.cuts > 0 && this.#parts.dice.often(this.#parts.cuts)
  }

  /** The connection is cut: the statement is carried out, and not answered; or it never arrives. */
  #cut(session: Session, group: Group): void {
    const { tell, dice } = this.#parts
    const arrives = dice.often(0.5)
    tell(
      `the connection ${session.number} of ${session.process.name} is cut ${arrives ? 'after' : 'before'} a statement`,
    )
    this.#there(session, async () => {
      if (session.isOver) return
      session.isCut = true
      this.#back(session, (socket) => socket.reset())
      if (arrives) await this.#arrive(session, group)
      // The server notices when it has nothing left to do for it.
      await this.#arrive(session, END)
    })
  }

  /** The process is dead: what it has sent may arrive, or not. */
  #abandon(session: Session): void {
    if (session.isOver) return
    const arrives = asWorld(() => this.#parts.dice.often(0.5))
    const over = () => this.#arrive(session, END)
    if (arrives) return this.#there(session, over)
    this.#times(session).there = Infinity
    this.#event(0, over)
  }

  #times(session: Session): { there: number; back: number } {
    const known = this.#lastAt.get(session) ?? { there: 0, back: 0 }
    this.#lastAt.set(session, known)
    return known
  }

  /** Something happens to the server; time stands still meanwhile. */
  #event(ms: number, work: () => Promise<void>): void {
    const { loop } = this.#parts
    loop.after(ms, 'PostgreSQL', () => asWorld(() => loop.outside(work())))
  }

  /** In the order in which the client has sent it. */
  #there(session: Session, work: () => Promise<void>): void {
    const { loop, wayMs } = this.#parts
    const times = this.#times(session)
    if (times.there === Infinity) return
    times.there = Math.max(times.there, loop.now() + wayMs(session.process))
    const arrives = async () => {
      // What was under way is lost with a machine.
      if (times.there !== Infinity) await work()
    }
    this.#event(times.there - loop.now(), arrives)
  }

  #back(session: Session, work: (socket: DatabaseSocket) => void): void {
    const { loop, wayMs } = this.#parts
    const { process, socket } = session
    const times = this.#times(session)
    times.back = Math.max(times.back, loop.now() + wayMs(process))
    loop.plan(times.back, 'an answer', () => process.run(() => work(socket)), process)
  }

  async #arrive(session: Session, group: Group): Promise<void> {
    if (session.isOver) return
    if (group.kind === 'statement' && this.endedIn !== null && --this.endedIn <= 0) {
      this.endedIn = null
      this.#parts.tell(`PostgreSQL ends the session ${session.number} of ${session.process.name}`)
      return await this.#end(session, ['57P01', 'terminating connection'])
    }
    session.waiting.push(group)
    await this.#goOn()
  }

  /** Carries out what waits, until every session that has something left waits for a lock. */
  async #goOn(): Promise<void> {
    for (;;) {
      this.#answerAll()
      const next = this.#sessions().find((one) => one.busy === null && one.waiting.length > 0)
      if (next === undefined) return
      const group = next.waiting.shift()!
      if (group.kind === 'end') await this.#leave(next)
      else await this.#carryOut(next, group)
    }
  }

  #sessions(): Session[] {
    return [...this.#open].toSorted((a, b) => a.number - b.number)
  }

  async #carryOut(session: Session, group: Group): Promise<void> {
    session.busy = group
    if (this.#sessions().some((one) => one.asksTime)) this.#parts.writeClock()
    session.begin(group)
    await this.#quiet()
  }

  /** Until each statement is answered, or waits for a lock that somebody holds who does nothing now. */
  async #quiet(): Promise<void> {
    for (let turns = 0; turns < TURNS_MAX; turns++) {
      const next = this.#next()
      if (next === null)
        return this.#busy().forEach((session) => this.#noteBlocked(session, session.stoppedAt!))
      await runOn(next, (sessions) => this.#blockers(sessions))
      if (!next.isAnswered && next.waitsSince === 0) next.waitsSince = ++this.#waits
    }
    throw new Error('statements let one another go on, without end')
  }

  /** Whose turn it is: one that has just begun, or of those that wait for something else by now, the one that has waited longest. */
  #next(): Session | null {
    const busy = this.#busy()
    const begun = busy.find(({ stoppedAt }) => stoppedAt === null)
    if (begun || busy.length === 0) return begun ?? null
    const blockers = this.#blockers(busy)
    const changed = busy.filter(({ stoppedAt }, at) => stoppedAt!.join() !== blockers[at]!.join())
    return changed.toSorted((one, other) => one.waitsSince - other.waitsSince)[0] ?? null
  }

  #busy(): Session[] {
    return this.#sessions().filter((one) => one.busy !== null && !one.isAnswered)
  }

  /** Of each, the processes of the server that it waits for. */
  #blockers(sessions: readonly Session[]): readonly (readonly number[])[] {
    const found = this.#parts.thread.ask<{ blockers: string }>(
      'postgres',
      `SELECT array_to_string(ARRAY(SELECT unnest(pg_blocking_pids(pid)) ORDER BY 1), ',') AS blockers
       FROM unnest($1::int[]) WITH ORDINALITY AS of (pid, place) ORDER BY place`,
      [sessions.map(({ pid }) => pid)],
    )
    return found.map(({ blockers }) => (blockers === '' ? [] : blockers.split(',').map(Number)))
  }

  #noteBlocked(session: Session, blockers: readonly number[]): void {
    // It waits for the same as before.
    if (session.blockers.join() === blockers.join()) return
    session.blockers = blockers
    const turn = ++session.turn
    const { lockMs, statementMs } = session.limits
    const holders = this.#sessions().filter(({ pid }) => blockers.includes(pid))
    this.#parts.tell(
      `${session.process.name} waits for a lock of ${holders.map(({ process }) => process.name).join(', ')}`,
    )
    const ifStill = (ms: number, work: () => Promise<void>) =>
      this.#event(ms, async () => {
        if (session.turn === turn) await work()
      })
    ifStill(DEADLOCK_MS, async () => {
      if (this.#isInCycle(session)) await this.#cancel(session, '40P01', 'a deadlock')
    })
    const isLock = lockMs > 0 && (statementMs === 0 || lockMs < statementMs)
    const most = isLock ? lockMs : statementMs
    if (most > 0)
      ifStill(most, () =>
        this.#cancel(session, isLock ? '55P03' : '57014', 'its wait for a lock takes too long'),
      )
  }

  #isInCycle(session: Session): boolean {
    const busy = this.#busy()
    const found = this.#blockers(busy)
    const blockers = new Map(busy.map(({ pid }, at) => [pid, found[at]!]))
    const seen = new Set<number>()
    const open = [...(blockers.get(session.pid) ?? [])]
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      if (pid === session.pid) return true
      if (seen.has(pid)) continue
      seen.add(pid)
      open.push(...(blockers.get(pid) ?? []))
    }
    return false
  }

  async #cancel(session: Session, code: string, why: string): Promise<void> {
    const { thread, tell } = this.#parts
    tell(`PostgreSQL ends a statement of ${session.process.name}: ${why}`)
    session.cancelledAs = code
    thread.ask('postgres', 'SELECT pg_cancel_backend($1::int)', [session.pid])
    await this.#cancelled(session)
    await this.#goOn()
  }

  async #cancelled(session: Session): Promise<void> {
    await untilAnswered(session)
    await this.#quiet()
  }

  /** Sends the answers that are there, in the order of the sessions. */
  #answerAll(): void {
    for (const session of this.#sessions()) {
      if (session.busy === null || !session.isAnswered) continue
      const bytes = session.finish()
      if (session.takeChange()) this.changes++
      if (!session.isCut) this.#back(session, (socket) => socket.arrive(bytes))
      this.#watchIdle(session)
    }
  }

  #watchIdle(session: Session): void {
    const { idleMs } = session.limits
    if (session.status === 'I' || idleMs === 0) return
    const { turn } = session
    this.#event(idleMs, async () => {
      if (session.turn !== turn || session.busy !== null || session.waiting.length > 0) return
      this.#parts.tell(
        `PostgreSQL ends a session of ${session.process.name}: its transaction idles`,
      )
      await this.#end(session, [
        '25P03',
        'terminating connection due to idle-in-transaction timeout',
      ])
    })
  }

  /** The client has left. */
  async #leave(session: Session): Promise<void> {
    await this.#terminate(session)
    this.#back(session, (socket) => socket.arriveEnd())
  }

  /** The server ends the session, with these words or without any. */
  async #end(session: Session, words: readonly [string, string] | null): Promise<void> {
    if (session.isOver) return
    await this.#terminate(session)
    this.#back(session, (socket) => {
      if (words === null) return socket.reset()
      socket.arrive(fatal(...words))
      socket.arriveEnd()
    })
    await this.#goOn()
  }

  async #terminate(session: Session): Promise<void> {
    if (!session.over()) return
    this.#open.delete(session)
    const isBusy = session.busy !== null && !session.isAnswered
    goOn(session)
    if (isBusy && session.pid !== 0)
      this.#parts.thread.ask('postgres', 'SELECT pg_terminate_backend($1::int)', [session.pid])
    await session.close(isBusy)
    // Who has waited for its locks goes on.
    await this.#quiet()
  }

  /** The server ends, and is away until `start`. `words`: whether it tells its clients. */
  stop(words: boolean): void {
    this.isDown = true
    this.#event(0, async () => {
      for (const session of this.#sessions())
        await this.#end(session, words ? ['57P01', 'terminating connection'] : null)
    })
  }

  start(): void {
    this.isDown = false
  }

  /** Nothing goes wrong any more. */
  rest(): void {
    this.#isAtRest = true
    this.endedIn = null
    this.#stops.clear()
  }

  /** At the end of a history. Processes are dead: they are not told, or they would go on, with the machine's own sockets. */
  destroy(): void {
    for (const session of this.#all.values()) {
      session.over()
      goOn(session)
      session.destroy()
    }
    this.#open.clear()
    this.#all.clear()
  }
}
