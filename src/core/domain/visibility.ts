// What a key sees of its org. For a key that sees less, existing records are missing: it gets 404 for them, and neither lists nor
// counts them.

import { joinSome } from '../format.ts'

/** What `/self/` says of it. What the service does not say is null, and is not compared. */
export interface KeyVisibility {
  /** Fingerprint of the key. */
  readonly key: string
  readonly reach: 'user' | 'org'
  /** The user that the key belongs to: a key of reach `user` does not see the private records of others. */
  readonly user: string | null
  /** Object types that it can read. */
  readonly types: readonly string[] | null
}

/** The facts of `/self/` that are compared. */
export interface SelfFacts {
  readonly reach: 'user' | 'org'
  readonly principal?: { readonly entity_id: string } | undefined
  readonly permissions?:
    | readonly { readonly entity_type: string; readonly read: boolean }[]
    | undefined
}

/** What any key sees. */
export type View = Omit<KeyVisibility, 'key'>

export const visibilityOf = (key: string, self: SelfFacts): KeyVisibility => ({
  key,
  ...viewOf(self),
})

export const viewOf = ({ reach, principal, permissions }: SelfFacts): View => ({
  reach,
  user: principal?.entity_id ?? null,
  types:
    permissions
      ?.filter(({ read }) => read)
      .map(({ entity_type: type }) => type)
      .toSorted() ?? null,
})

/** What `now` does not see of what `then` saw, in words; null if it sees as much. */
export function lostVisibility(
  now: Pick<KeyVisibility, 'reach' | 'user'>,
  then: Pick<KeyVisibility, 'reach' | 'user'>,
): string | null {
  if (now.reach === 'user' && then.reach === 'org')
    return 'its reach is user and was org, so the private records of others are missing'
  const isOther = now.user !== null && then.user !== null && now.user !== then.user
  if (now.reach === 'user' && isOther)
    return "it is another user's, so the private records of the user before are missing"
  return null
}

/**
 * Why `now` may see other records than `then`, more of them, fewer or others, in words; null if it sees the same, as far as the
 * service says. The creator of a key may have other permissions than that of another key of the same reach.
 */
export function otherVisibility(
  now: Omit<KeyVisibility, 'types'>,
  then: Omit<KeyVisibility, 'types'>,
): string | null {
  if (now.reach !== then.reach) return `its reach is ${now.reach} and was ${then.reach}`
  if (now.user !== null && then.user !== null) {
    if (now.user === then.user) return null
    return now.reach === 'user' ? "it is another user's" : 'another user created it'
  }
  return now.key === then.key ? null : 'the service does not say whose it is'
}

/** Types that `then` could read and `now` cannot: the permission is gone, or the type is. */
export const typesLost = (now: View, then: View): readonly string[] =>
  now.types === null || then.types === null
    ? []
    : then.types.filter((type) => !now.types!.includes(type))

const NAMED_MAX = 5

export const listNames = (types: readonly string[]): string => joinSome(types, NAMED_MAX)
