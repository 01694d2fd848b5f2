// The orgs, their users and their keys (section 5). A request's key decides its org, and nothing else does.
// Promise kept here: a revoked key is refused from the next request on, whichever process revoked it.

import { SyncError } from '../../core/errors.ts'
import type { Clock } from '../../core/ports.ts'
import type { DataFile } from './data-file.ts'
import type { Faults } from '../limits/faults.ts'
import { ADMINISTRATOR, hashOfHeader, newKey, sha256 } from '../auth/keys.ts'
import type { Grants, Key, Reach } from '../auth/keys.ts'
import type { KeylessQuota } from '../limits/keyless.ts'
import type { Org } from './org.ts'

export interface KeyOptions {
  /** Default: the first org. */
  readonly orgId?: number
  /** Id of its creator. Default: the administrator of the org. */
  readonly userId?: string
  /** Default: every type, reading and writing. */
  readonly grants?: Grants
  /** Default `user`, as in section 5. */
  readonly reach?: Reach
}

export interface DirectoryOptions {
  readonly clock: Clock
  /** Of callers without a key: they cannot use up an org's quota. */
  readonly keyless: KeylessQuota
  /** Makes an org by its id. */
  readonly newOrg: (id: number) => Org
  /** Keys, users and orgs are read from it again whenever another process has changed it. */
  readonly file: DataFile | null
}

export class Directory {
  readonly clock: Clock
  readonly keyless: KeylessQuota
  faults: Faults | null = null
  private readonly newOrg: (id: number) => Org
  private readonly file: DataFile | null
  private readonly orgs = new Map<number, Org>()
  /** Keys of this process only; they end with it. */
  private readonly minted = new Map<string, Key>()
  private kept: ReadonlyMap<string, Key> = new Map()

  constructor(options: DirectoryOptions) {
    this.clock = options.clock
    this.keyless = options.keyless
    this.newOrg = options.newOrg
    this.file = options.file
    this.readFile()
  }

  /** In the order in which they were added. */
  all(): Org[] {
    return [...this.orgs.values()]
  }

  addOrg(id: number): Org {
    this.file?.addOrg(id)
    return this.openOrg(id)
  }

  /** The key and the org of an `Authorization` header, or null if there is none or it is not known. */
  find(authorization: string | undefined): { key: Key; org: Org } | null {
    const hash = hashOfHeader(authorization)
    if (hash === null) return null
    const key = this.keyWith(hash)
    return key ? { key, org: this.orgs.get(key.orgId)! } : null
  }

  /** Whether a key that was found still has the rights it had then. */
  isValid(key: Key): boolean {
    const now = this.keyWith(key.hash)
    return now !== undefined && (now === key || sameRights(now, key))
  }

  private keyWith(hash: string): Key | undefined {
    if (this.file?.changedElsewhere()) this.readFile()
    return this.minted.get(hash) ?? this.kept.get(hash)
  }

  /** The token of a new key, which ends with this process. @throws SyncError service_options */
  mint(options: KeyOptions = {}): string {
    const org = this.org(options.orgId)
    const user = org.user(options.userId ?? ADMINISTRATOR.id)
    const { token, key } = newKey({ ...options, orgId: org.id, user }, this.clock.now())
    this.minted.set(key.hash, key)
    return token
  }

  /** Takes effect on the next request. */
  revoke(token: string): void {
    this.minted.delete(sha256(token))
  }

  /** For the fault `schema_change`: in every org a property is added, or removed again. */
  changeSchema(): void {
    for (const org of this.orgs.values()) org.changeSchema()
  }

  /** Requests per minute of each org; null: no request is refused. */
  setLimit(limitPerMinute: number | null): void {
    for (const { limiter } of this.all()) limiter.setLimit(limitPerMinute)
    this.keyless.setLimit(limitPerMinute)
  }

  /** @throws SyncError service_options */
  org(id?: number): Org {
    const org = id === undefined ? this.orgs.values().next().value : this.orgs.get(id)
    if (!org) throw new SyncError('service_options', `orgId: there is no org ${id}`)
    return org
  }

  private openOrg(id: number): Org {
    const org = this.newOrg(id)
    this.orgs.set(id, org)
    return org
  }

  private readFile(): void {
    const { file } = this
    if (!file) return
    for (const id of file.orgIds()) {
      const org = this.orgs.get(id) ?? this.openOrg(id)
      for (const user of file.users(id)) org.users.set(user.id, user)
    }
    const kept = new Map<string, Key>()
    for (const { userId, revokedAt, ...key } of file.keys()) {
      const org = this.orgs.get(key.orgId)
      const user = org?.users.get(userId)
      if (revokedAt === null && user) kept.set(key.hash, { ...key, user })
    }
    this.kept = kept
  }
}

/** The file is read again after each change by another process: its keys are then new objects. */
function sameRights(a: Key, b: Key): boolean {
  const rights = ({ grants, reach, user }: Key) => JSON.stringify([grants, reach, user])
  return rights(a) === rights(b)
}
