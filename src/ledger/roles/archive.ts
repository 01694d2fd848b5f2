// What outlives a run, for who checks it or takes it elsewhere: the chain of manifests, and tables as rows.

import type { LedgerPage } from './outbox.ts'

/** The sealed account of a closed run (src/ledger/manifest.ts). */
export interface StoredManifest {
  readonly run: number
  readonly sync: string
  /** Canonical JSON. */
  readonly body: string
  /** SHA-256 of the body, hex. */
  readonly digest: string
  /** HMAC-SHA256 of the body, hex; null if the ledger had no signing key. */
  readonly signature: string | null
}

/** What can be exported: each is a table or view of the ledger of this name. */
export const EXPORTS = [
  'runs',
  'results',
  'link_results',
  'differences',
  'deletions',
  'before_images',
  'last_accepted',
  'requests',
  'streams',
  'schema_changes',
  'manifests',
  'actions',
] as const
export type ExportName = (typeof EXPORTS)[number]

/** A page of an export. `next` is null at the end. */
export interface ExportPage {
  readonly rows: readonly Readonly<Record<string, string | number | null>>[]
  readonly next: string | null
}

export interface Archive {
  /** The manifests of a sync, oldest first, of runs above `after`. */
  manifests(sync: string, page: LedgerPage): Promise<readonly StoredManifest[]>
  /** A page of a table or view, in a fixed order; times are ISO 8601, JSON columns texts. */
  exportRows(
    name: ExportName,
    options: { after: string | null; limit: number },
  ): Promise<ExportPage>
}
