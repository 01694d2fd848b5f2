// Which org each key belongs to. Promises kept here: a view of a client that belongs to one org sends no request with a key
// of another one, whenever and by whomever the key was changed; each key is asked for once.

import type { Home } from '../core/home.ts'
import { ServiceFailure } from '../core/errors.ts'
import { fingerprintOf, type KeyHolder } from './key.ts'

/** Keys that are remembered; a connection has one, and another one after each change. */
const KEYS_MAX = 100
/** Times that the key may change while its org is asked for. */
const CHANGES_MAX = 5

/** The orgs of the keys of one service, as `/self/` told them. Of all views of a client. */
export class KeyOrgs {
  readonly #orgs = new Map<string, number>()
  #asking: Promise<void> | null = null

  get(key: string): number | undefined {
    return this.#orgs.get(key)
  }

  note(key: string, orgId: number): void {
    if (this.#orgs.size >= KEYS_MAX) this.#orgs.clear()
    this.#orgs.set(key, orgId)
  }

  /** One question at a time, whoever waits for it. */
  ask(question: () => Promise<unknown>): Promise<void> {
    if (this.#asking === null) {
      this.#asking = question()
        .then(() => {})
        .finally(() => (this.#asking = null))
      // Everybody who waited may have given up.
      this.#asking.catch(() => {})
    }
    return this.#asking
  }
}

/**
 * Makes sure that the key in use is of the home's org: asks whose it is where that is not known, and reads the key again
 * where it is another org's.
 * @param ask sends `/self/` with the key in use; whose it is ends up in `orgs`
 * @throws ServiceFailure that blocks on `contract`; what `ask` throws; the signal's reason
 */
export async function settleKey(
  { keys, orgs, home, origin }: { keys: KeyHolder; orgs: KeyOrgs; home: Home; origin: string },
  ask: () => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  let org: number | undefined
  for (let change = 0; change < CHANGES_MAX; change++) {
    const key = await keys.current()
    signal?.throwIfAborted()
    org = orgs.get(key)
    if (org === home.orgId) return
    if (org === undefined) await untilAborted(orgs.ask(ask), signal)
    else if (!(await keys.refresh(key))) {
      keys.forget(key)
      throw foreign({ origin, orgId: org }, home, key)
    }
  }
  throw foreign({ origin, orgId: org ?? null }, home, await keys.current())
}

/** The key of a request belongs to another org, or the address to another service. */
export function foreign(
  found: { readonly origin: string; readonly orgId: number | null },
  home: Home,
  key: string | null,
): ServiceFailure {
  const ours = `the run is for org ${home.orgId} at ${home.origin}`
  const what =
    found.origin === home.origin
      ? `the key in use${key === null ? '' : ` (key#${fingerprintOf(key)})`} is of ${found.orgId === null ? 'changing orgs' : `org ${found.orgId}`}`
      : `the connection leads to ${found.origin}`
  const remedy = 'Put back what it had, and the run goes on; or cancel the run and start another'
  return new ServiceFailure(`${what}, ${ours}; nothing is sent there. ${remedy}`, {
    kind: 'no_answer',
    disposition: 'halt',
    block: 'contract',
    outcomeUnknown: false,
  })
}

/** Many wait for one question; who gives up does not end it for the others. */
async function untilAborted(wait: Promise<void>, signal?: AbortSignal): Promise<void> {
  if (!signal) return await wait
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    await Promise.race([wait, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
