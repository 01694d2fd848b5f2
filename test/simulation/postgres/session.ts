// A connection of the world to the real server: what has arrived there, what is carried out, and what has been answered.

import type { Process } from '../world/process.ts'
import { RealSocket, type DatabaseSocket } from './socket.ts'
import type { RealServer } from './thread.ts'
import {
  TERMINATE,
  boundIn,
  FrameReader,
  pidIn,
  preparedIn,
  queryIn,
  readStartup,
  statusIn,
  tagIn,
  withCode,
  writeQuery,
  writeStartup,
  type Frame,
} from './wire.ts'

/** Messages that the server answers together: mostly one statement. */
export interface Group {
  readonly kind: 'startup' | 'statement' | 'rows' | 'end'
  readonly bytes: Buffer
  readonly texts: readonly string[]
}

export const END: Group = { kind: 'end', bytes: Buffer.alloc(0), texts: [] }

/** How long the server lets a session wait, ms; 0: for ever. */
interface Limits {
  readonly lockMs: number
  readonly statementMs: number
  readonly idleMs: number
}

const WRITES = /\b(?:INSERT|UPDATE|DELETE|COPY|CREATE|ALTER|DROP|TRUNCATE)\b/
const OF_QUOTA = /\bquota(?:_keys)?\b/

/** As a session sets them (src/postgres/transaction.ts). */
const LIMIT =
  /set_config\('(lock_timeout|statement_timeout|idle_in_transaction_session_timeout)', '(\d+)(ms|s|min)', (?:true|NOT pg_backend_pid\(\) = \d+)\)/g
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000 }
const KINDS: Readonly<Record<string, keyof Limits>> = {
  lock_timeout: 'lockMs',
  statement_timeout: 'statementMs',
  idle_in_transaction_session_timeout: 'idleMs',
}

/** The text without the settings that the simulator carries out itself: their values stand in their places. */
function limitsOf(text: string): { text: string; limits: Partial<Limits> } {
  const limits: Partial<Record<keyof Limits, number>> = {}
  const rest = text.replaceAll(LIMIT, (_, name: string, count: string, unit: string) => {
    limits[KINDS[name]!] = Number(count) * UNITS[unit]!
    return `'${count}${unit}'`
  })
  return { text: rest, limits }
}

function startupOf(frame: Frame, server: RealServer, database: string): Buffer {
  return writeStartup(readStartup(frame).set('user', server.user).set('database', database))
}

export class Session {
  readonly number: number
  readonly process: Process
  readonly socket: DatabaseSocket
  /** Of the server's process; 0 as long as it has none. */
  pid = 0
  status = 'I'
  limits: Limits = { lockMs: 0, statementMs: 0, idleMs: 0 }
  /** What has arrived and is not carried out yet. */
  readonly waiting: Group[] = []
  /** What is carried out. */
  busy: Group | null = null
  /** Whom it was seen to wait for: processes of the server. */
  blockers: readonly number[] = []
  /** What it waited for when its process of the server was stopped; null: that runs. */
  stoppedAt: readonly number[] | null = null
  /** Its place in the order in which statements began to wait; 0: it has not waited. */
  waitsSince = 0
  /** Its client learns nothing more. */
  isCut = false
  /** The SQLSTATE that the answer has if its statement was cancelled. */
  cancelledAs: string | null = null
  isOver = false
  /** Whether the transaction has changed something that others may look at. */
  hasWritten = false
  /** Counts states: what was planned for an earlier one is void. */
  turn = 0
  readonly #server: RealServer
  readonly #database: string
  readonly #sent = new FrameReader(true)
  readonly #texts = new Map<string, string>()
  #group: Frame[] = []
  #groupTexts: string[] = []
  #real: InstanceType<typeof RealSocket> | null = null
  #answers = new FrameReader(false)
  #answer: Buffer[] = []
  #answered: (() => void) | null = null
  /** Settles when all of the answer is there, or the connection has ended. */
  answering: Promise<void> = Promise.resolve()
  isAnswered = false

  constructor(
    number: number,
    socket: DatabaseSocket,
    { server, database }: { server: RealServer; database: string },
  ) {
    this.number = number
    this.socket = socket
    this.process = socket.process
    this.#server = server
    this.#database = database
  }

  /** Takes what the client has written; returns what of it is whole. */
  take(bytes: Buffer): readonly Group[] {
    const groups: Group[] = []
    for (const frame of this.#sent.read(bytes)) {
      const kind = this.#note(frame)
      if (kind === null) continue
      const all = Buffer.concat(this.#group.map((one) => one.bytes))
      groups.push({ kind, bytes: all, texts: this.#groupTexts })
      this.#group = []
      this.#groupTexts = []
    }
    return groups
  }

  /** Returns the kind of the group that it ends; null: none. */
  #note(frame: Frame): Group['kind'] | null {
    const { type } = frame
    if (type === '') {
      this.#group.push({ type, bytes: startupOf(frame, this.#server, this.#database) })
      return 'startup'
    }
    if (type === 'P') {
      const { name, text } = preparedIn(frame)
      this.#texts.set(name, text)
    }
    if (type === 'B') this.#groupTexts.push(this.#texts.get(boundIn(frame)) ?? '')
    if (type === 'Q') {
      const { text, limits } = limitsOf(queryIn(frame))
      this.limits = { ...this.limits, ...limits }
      this.#groupTexts.push(text)
      this.#group.push({ type, bytes: writeQuery(text) })
      return 'statement'
    }
    this.#group.push(frame)
    if (type === 'X') return 'end'
    if (type === 'c' || type === 'f') return 'rows'
    return type === 'S' ? 'statement' : null
  }

  /** Sends a group to the real server. */
  begin(group: Group): void {
    this.busy = group
    this.isAnswered = false
    this.#answer = []
    this.answering = new Promise((resolve) => (this.#answered = resolve))
    if (this.#real === null) this.#connect()
    this.#real!.write(group.bytes)
  }

  #connect(): void {
    const { host, port } = this.#server
    const real = new RealSocket()
    this.#real = real
    real.setNoDelay(true)
    real.on('error', () => {})
    real.on('close', () => this.#end())
    real.on('data', (bytes: Buffer) => {
      for (const frame of this.#answers.read(bytes)) this.#hear(frame)
    })
    real.connect(port, host)
  }

  #hear(frame: Frame): void {
    this.#answer.push(
      this.cancelledAs === null ? frame.bytes : withCode(frame, '57014', this.cancelledAs),
    )
    if (frame.type === 'K') this.pid = pidIn(frame)
    if (frame.type === 'C') this.#noteTag(tagIn(frame))
    if (frame.type === 'Z') this.status = statusIn(frame)
    if (frame.type === 'Z' || frame.type === 'G') this.#end()
  }

  #noteTag(tag: string): void {
    const texts = this.busy?.texts ?? []
    if (tag === 'ROLLBACK') this.hasWritten = false
    else if (texts.some((text) => WRITES.test(text) && !OF_QUOTA.test(text))) this.hasWritten = true
  }

  #end(): void {
    this.isAnswered = true
    this.#answered?.()
    this.#answered = null
  }

  /** The answer of what was carried out. */
  finish(): Buffer {
    this.busy = null
    this.blockers = []
    this.waitsSince = 0
    this.cancelledAs = null
    this.turn++
    return Buffer.concat(this.#answer)
  }

  /** Whether what others may look at has changed, as far as this session knows. */
  takeChange(): boolean {
    if (this.status !== 'I' || !this.hasWritten) return false
    this.hasWritten = false
    return true
  }

  /** Whether it asks for the time. */
  get asksTime(): boolean {
    return this.busy?.texts.some((text) => text.includes('clock_timestamp')) ?? false
  }

  /** Nothing more comes of it. Returns whether it was there. */
  over(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.turn++
    this.waiting.length = 0
    return true
  }

  /** Resolves when the server's process is gone: only then is the connection closed. @param isEnding whether it ends by itself */
  async close(isEnding: boolean): Promise<void> {
    const real = this.#real
    if (real === null || real.destroyed) return
    const closed = new Promise((resolve) => real.once('close', resolve))
    if (!isEnding) real.end(TERMINATE)
    await closed
  }

  destroy(): void {
    this.#real?.destroy()
    this.#end()
  }
}
