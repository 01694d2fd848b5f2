// Who is who: the orgs, their users and their keys (section 5). A request's key decides its org, and nothing else does.
// Promise kept here: a revoked key is refused from the next request on, whichever process revoked it.

import { SyncError } from '../core/errors.ts'
import type { Clock } from '../core/ports.ts'
import type { Faults } from './faults.ts'
import { ADMINISTRATOR, hashOfHeader, newToken, sha256 } from './keys.ts'
import type { Grants, Key, Reach } from './keys.ts'
import type { Limiter } from './limiter.ts'
import type { Org } from './org.ts'

/** What a new key is minted with. */
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

export class Directory {
  readonly clock: Clock
  /** Callers without a key share this one: they cannot use up an org's quota. */
  readonly anonymous: Limiter
  faults: Faults | null = null
  private readonly orgs = new Map<number, Org>()
  private readonly keys = new Map<string, Key>()

  constructor(clock: Clock, anonymous: Limiter) {
    this.clock = clock
    this.anonymous = anonymous
  }

  /** In the order in which they were added. */
  all(): Iterable<Org> {
    return this.orgs.values()
  }

  addOrg(org: Org): void {
    this.orgs.set(org.id, org)
  }

  /** The key and the org of an `Authorization` header, or null where there is none or it is not known. */
  find(authorization: string | undefined): { key: Key; org: Org } | null {
    const hash = hashOfHeader(authorization)
    const key = hash === null ? undefined : this.keys.get(hash)
    return key ? { key, org: this.orgs.get(key.orgId)! } : null
  }

  /** A new key's token; this is the only time it is shown. @throws SyncError service_options */
  mint(options: KeyOptions = {}): string {
    const org = this.org(options.orgId)
    const user = org.user(options.userId ?? ADMINISTRATOR.id)
    const reach = options.reach ?? 'user'
    if (reach === 'org' && !user.admin) {
      throw new SyncError(
        'service_options',
        `reach: only an administrator mints reach org, and ${user.id} is none`,
      )
    }
    const { token, hash, fingerprint } = newToken()
    const createdAt = new Date(this.clock.now()).toISOString()
    const grants = options.grants ?? 'all'
    this.keys.set(hash, { hash, fingerprint, orgId: org.id, user, grants, reach, createdAt })
    return token
  }

  /** Takes effect on the next request. */
  revoke(token: string): void {
    this.keys.delete(sha256(token))
  }

  /** Requests per minute of each org; null: no request is refused. */
  setLimit(limitPerMinute: number | null): void {
    for (const { limiter } of [...this.orgs.values(), { limiter: this.anonymous }]) {
      limiter.setLimit(limitPerMinute)
    }
  }

  org(id: number | undefined): Org {
    const org = id === undefined ? this.orgs.values().next().value : this.orgs.get(id)
    if (!org) throw new SyncError('service_options', `orgId: there is no org ${id}`)
    return org
  }
}
