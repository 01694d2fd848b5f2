// What the key of a run does not see of what the key of an earlier run wrote: to such a key a record that exists is missing.

import type { ImportConfig } from '../../config/index.ts'
import { withHeartbeat } from '../runs/heartbeat.ts'
import type { Runs } from '../ledger/ledger.ts'
import type { ImportDeps } from './ports.ts'

/**
 * Returns the reason why a record that an earlier run wrote may exist although the key does not find it, as a sentence; null if the
 * key sees all records of the org, or is the one that wrote it.
 */
export function hiddenFrom(
  deps: ImportDeps<Runs>,
  { run }: { readonly run: number; readonly config: ImportConfig },
): (earlier: number) => Promise<string | null> {
  const { ledger, client, signal, priority } = deps
  const keyOf = async (id: number) => (await ledger.run(id))?.keyFingerprint ?? null
  const ask = async () => ({
    reach: (await withHeartbeat(deps, client.readSelf({ signal, priority }))).reach,
    key: await keyOf(run),
  })
  let asked: ReturnType<typeof ask> | null = null
  return async (earlier) => {
    asked ??= ask()
    const { reach, key } = await asked.catch((error: unknown) => {
      asked = null
      throw error
    })
    if (reach !== 'user') return null
    const before = await keyOf(earlier)
    if (before !== null && before === key) return null
    return `the key in use (key#${key}) has reach user and does not see the private records of others; run ${earlier}, which wrote the record, had ${before === null ? 'a key that is not known' : `another one (key#${before})`}`
  }
}
