// Which org each key belongs to, and what it sees there. Promises kept here: a view of a client that belongs to one org sends no
// request with another org's key, or with a key that sees less than the view requires, whenever and however the key was changed;
// the service is asked once for each key.

import type { Self } from '../contract/index.ts'
import type { OrgRef } from '../core/domain/org-ref.ts'
import type { ServiceFailure } from '../core/errors.ts'
import {
  lostVisibility,
  listNames,
  visibilityOf,
  typesLost,
  type KeyVisibility,
} from '../core/domain/visibility.ts'
import { fingerprintOf, keyFailure, type KeyHolder } from './key.ts'
import { unlessAborted } from './unless-aborted.ts'

/** Keys that are remembered; a connection has one, and a further one after each change. */
const KEYS_MAX = 100
/** How often the key may change while the client asks for its org. */
const CHANGES_MAX = 5

/** What `/self/` said of a key. */
interface Known {
  readonly orgId: number
  readonly sight: KeyVisibility
}

/** What a view of a client requires of the key in use. */
export interface KeyRequirement {
  readonly home: OrgRef
  /** What a key other than this one must see as well; null: anything. */
  readonly sight: KeyVisibility | null
}

/** What is known of the keys of one service; shared by all views of a client. */
export class KeyOrgs {
  readonly #known = new Map<string, Known>()
  #asking: Promise<void> | null = null

  get(key: string): Known | undefined {
    return this.#known.get(key)
  }

  note(key: string, self: Self): void {
    if (this.#known.size >= KEYS_MAX) this.#known.clear()
    this.#known.set(key, { orgId: self.org_id, sight: visibilityOf(fingerprintOf(key), self) })
  }

  /** Whether the key may be used there, as far as is known. */
  isFit(key: string, { home, sight }: KeyRequirement): boolean {
    const known = this.#known.get(key)
    return known !== undefined && known.orgId === home.orgId && less(known, sight) === null
  }

  /** One question at a time, however many callers wait for it. */
  ask(question: () => Promise<unknown>): Promise<void> {
    if (this.#asking === null) {
      this.#asking = question()
        .then(() => {})
        .finally(() => (this.#asking = null))
      // All callers may have given up by then.
      this.#asking.catch(() => {})
    }
    return this.#asking
  }
}

/** What a changed key does not see; null if it sees as much. Before something is deleted, the key itself is checked again. */
function less({ sight: now }: Known, then: KeyVisibility | null): string | null {
  if (then === null || now.key === then.key) return null
  const lost = typesLost(now, then)
  return (
    lostVisibility(now, then) ?? (lost.length === 0 ? null : `it cannot read ${listNames(lost)}`)
  )
}

/**
 * Makes sure that the key in use belongs to the home's org, and sees what is required: asks for what is not known or may be out
 * of date, and reads the key again if it cannot be used.
 * @param ask sends `/self/` with the key in use; its answer ends up in `orgs`
 * @throws ServiceFailure that blocks on `contract` or `permission`; what `ask` throws; the signal's reason
 */
export async function verifyKey(
  {
    keys,
    orgs,
    bound,
    origin,
  }: { keys: KeyHolder; orgs: KeyOrgs; bound: KeyRequirement; origin: string },
  ask: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const { home, sight } = bound
  let known: Known | undefined
  let asked: string | null = null
  for (let change = 0; change < CHANGES_MAX; change++) {
    const key = await keys.current()
    signal?.throwIfAborted()
    if (orgs.isFit(key, bound)) return
    known = orgs.get(key)
    const isDoubtful = known === undefined || (known.orgId === home.orgId && asked !== key)
    if (isDoubtful) {
      await unlessAborted(orgs.ask(ask), signal)
      asked = key
    } else if (!(await keys.refresh(key))) {
      keys.forget(key)
      const what = known!.orgId === home.orgId ? less(known!, sight) : null
      if (what !== null) throw narrower(key, what)
      throw foreignOrgFailure({ origin, orgId: known!.orgId }, home, key)
    }
  }
  throw foreignOrgFailure({ origin, orgId: null }, home, await keys.current())
}

/** Another key is in use, and it does not see records that the previous one saw. */
function narrower(key: string, what: string): ServiceFailure {
  const remedy =
    'Put back one that sees as much, and the run goes on; or cancel the run and start another'
  return keyFailure(
    `the key in use (key#${fingerprintOf(key)}) sees less than the one that the run began with: ${what}. Nothing is read or deleted with it. ${remedy}`,
    'permission',
  )
}

/** The key of a request belongs to another org, or the address to another service. */
export function foreignOrgFailure(
  found: { readonly origin: string; readonly orgId: number | null },
  home: OrgRef,
  key: string | null,
): ServiceFailure {
  const ours = `the run is for org ${home.orgId} at ${home.origin}`
  const schema = 'a mirror needs a schema of its own for that'
  if (found.origin !== home.origin)
    return keyFailure(
      `the address of the connection has changed: it leads to ${found.origin} now, and ${ours}; nothing is sent there. Let the service answer at ${home.origin} again, and the run goes on; or cancel the run and run the sync anew, which sends all its rows to the new address (${schema})`,
      'contract',
    )
  const whose = found.orgId === null ? 'changing orgs' : `org ${found.orgId}`
  const what = `the key in use${key === null ? '' : ` (key#${fingerprintOf(key)})`} is of ${whose}`
  const remedy = `Put back one of org ${home.orgId}, and the run goes on; or cancel the run and start another (${schema})`
  return keyFailure(`${what}, ${ours}; nothing is sent there. ${remedy}`, 'contract')
}
