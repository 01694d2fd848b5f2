// Whether a name and a password belong together. Promises kept here: the answer to a name that nobody has takes the same work and says the
// same as that to a wrong password; few are checked at a time; every failure is in the log, whatever way the password came.

import { createHmac, randomBytes } from 'node:crypto'
import { readSecret, type Config, type Environment } from '../../../config/index.ts'
import { ConfigError, SyncError } from '../../core/errors.ts'
import type { Logger } from '../../core/ports.ts'
import { MinuteLog } from '../../net/minute-log.ts'
import { networkOf } from '../../net/network.ts'
import { LoginLimits } from './login-limits.ts'
import {
  isPasswordOf,
  parsePasswordHash,
  PASSWORD_CHARS_MAX,
  workOf,
  type PasswordHash,
} from './password-hash.ts'

type Users = Config['console']['users']

/** A new hash counts after that time at most, ms. */
const HASHES_FOR_MS = 60_000
/** Each takes 32 MiB and a thread for some hundredths of a second. */
const CHECKED_AT_ONCE = 2
const WAITING_MAX = 20
const BUSY_MS = 2_000
/** Logins of programs that are remembered, so that not each request takes a check. */
const REMEMBERED_MAX = 200
const NAME_CHARS_MAX = 200

interface GivenLogin {
  readonly name: string
  readonly password: string
}

export type LoginResult =
  | { readonly kind: 'right'; readonly name: string; readonly hash: string }
  | { readonly kind: 'wrong' }
  /** Not checked: too many have failed, or are being checked. */
  | { readonly kind: 'later'; readonly ms: number }

/** Is checked where there is no hash of the name. */
const NOBODY = parsePasswordHash(
  `scrypt:15:8:3:${randomBytes(16).toString('base64url')}:${randomBytes(32).toString('base64url')}`,
)!

export class Passwords {
  readonly #env: Environment
  readonly #now: () => number
  readonly #logger: Logger
  readonly #limits: LoginLimits
  readonly #failed: MinuteLog
  readonly #secret = randomBytes(32)
  readonly #remembered = new Set<string>()
  #hashes: { readonly of: Users; readonly at: number; readonly byName: Hashes } | null = null
  #checking = 0
  #waiting: (() => void)[] = []

  constructor(env: Environment, now: () => number, logger: Logger) {
    this.#env = env
    this.#now = now
    this.#logger = logger
    this.#limits = new LoginLimits(now)
    this.#failed = new MinuteLog((fields) => logger.warn(fields, 'console_login_failed'), now)
  }

  /** @throws ConfigError if a hash cannot be read */
  async require(users: Users, file: string): Promise<void> {
    const issues = []
    for (const [name, { password }] of Object.entries(users)) {
      if (password === undefined) continue
      const found = await this.#read(password)
      if (typeof found === 'string')
        issues.push({ message: `the password of the user \`${name}\` of the console: ${found}` })
    }
    if (issues.length > 0) throw new ConfigError(file, issues)
  }

  /** The hash of a user as it is now; null: nobody can log in with that name. */
  async hashOf(name: string, users: Users): Promise<string | null> {
    return (await this.#all(users)).get(name)?.text ?? null
  }

  /** @param isProgram whether it asks often: what was right a moment ago is right */
  async check(
    given: GivenLogin,
    address: string,
    users: Users,
    isProgram = false,
  ): Promise<LoginResult> {
    const result = await this.#check(given, address, users, isProgram)
    // What nobody has as a name may be a password that was typed into the wrong field.
    const user = Object.hasOwn(users, given.name) ? given.name : null
    if (result.kind !== 'right')
      this.#failed.note({ user, address: networkOf(address), why: result.kind })
    return result
  }

  /** Writes what the log does not have yet. */
  close(): void {
    this.#failed.flush()
  }

  async #check(
    { name, password }: GivenLogin,
    address: string,
    users: Users,
    isProgram: boolean,
  ): Promise<LoginResult> {
    if (name.length > NAME_CHARS_MAX || password.length > PASSWORD_CHARS_MAX)
      return { kind: 'wrong' }
    const hash = (await this.#all(users)).get(name)
    const mark = this.#markOf(name, password, hash?.text ?? '')
    if (hash !== undefined && isProgram && this.#remembered.has(mark))
      return { kind: 'right', name, hash: hash.text }
    const waits = this.#limits.take(address, name)
    if (waits > 0) return { kind: 'later', ms: waits }
    const isRight = await this.#checked(password, hash ?? NOBODY, users)
    if (isRight === null || (isRight && hash !== undefined)) this.#limits.giveBack(address, name)
    if (isRight === null) return { kind: 'later', ms: BUSY_MS }
    if (!isRight || hash === undefined) return { kind: 'wrong' }
    if (isProgram) this.#remember(mark)
    return { kind: 'right', name, hash: hash.text }
  }

  #markOf(...texts: readonly string[]): string {
    return createHmac('sha256', this.#secret).update(JSON.stringify(texts)).digest('base64url')
  }

  #remember(mark: string): void {
    const [first] = this.#remembered
    if (this.#remembered.size >= REMEMBERED_MAX && first !== undefined)
      this.#remembered.delete(first)
    this.#remembered.add(mark)
  }

  /** Null: too many wait. */
  async #checked(password: string, hash: PasswordHash, users: Users): Promise<boolean | null> {
    if (this.#checking >= CHECKED_AT_ONCE) {
      if (this.#waiting.length >= WAITING_MAX) return null
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#checking++
    try {
      const known = [...(await this.#all(users)).values(), NOBODY]
      return await isPasswordOf(password, hash, Math.max(...known.map(workOf)))
    } finally {
      // The next one takes its place.
      const next = this.#waiting.shift()
      if (next === undefined) this.#checking--
      else next()
    }
  }

  /** All are read, whoever asks: how long it takes says nothing of a name. */
  async #all(users: Users): Promise<Hashes> {
    const known = this.#hashes
    if (known !== null && known.of === users && this.#now() - known.at < HASHES_FOR_MS)
      return known.byName
    const byName = new Map<string, PasswordHash>()
    for (const [name, { password }] of Object.entries(users)) {
      if (password === undefined) continue
      const found = await this.#read(password)
      if (typeof found === 'string')
        this.#logger.warn({ user: name, why: found }, 'console_password_unreadable')
      else byName.set(name, found)
    }
    this.#hashes = { of: users, at: this.#now(), byName }
    return byName
  }

  /** Why it cannot be read, in our words. */
  async #read(place: Parameters<typeof readSecret>[0]): Promise<PasswordHash | string> {
    try {
      return (
        parsePasswordHash(await readSecret(place, this.#env)) ??
        'expected a hash as `records-sync console --hash-password` prints it'
      )
    } catch (error) {
      if (error instanceof SyncError) return error.message
      throw error
    }
  }
}

type Hashes = ReadonlyMap<string, PasswordHash>
