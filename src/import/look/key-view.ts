// What the key of a run may not see: to a key of reach `user` a record that exists is missing if it is private and another user's.

import type { ImportConfig } from '../../../config/index.ts'
import { withHeartbeat } from '../../runs/heartbeat.ts'
import type { Runs } from '../../ledger/ledger.ts'
import type { ImportDeps } from '../ports.ts'

/**
 * Returns the reason why a record that an earlier run wrote may exist although the key does not find it, as a sentence; null if the
 * key sees all records of the org. That the same key wrote the record proves nothing: its reach may have been another one, and a
 * record may have been handed over. The key is asked for its reach once, so this is for a batch, and not for a run.
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
    const writer = before === null ? 'a key that is not known' : `key#${before}`
    return `the key in use (key#${key}) has reach user and does not see the private records of others; run ${earlier} wrote it with ${writer}; a key of reach org shows whether it is gone, and its reconcile --repair creates it again`
  }
}
