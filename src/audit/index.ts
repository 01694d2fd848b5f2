// The audit of a ledger: is every closed run as it was when it was closed? Promise kept here: it only reads, and holds a few
// manifests of each sync at a time, however many runs there are. Runs are numbered without gaps, so a missing one is noticed; the
// chain of manifests shows what was changed or removed.

import { LIVE_STATES } from '../core/domain/books.ts'
import type {
  Archive,
  LinkReports,
  Run,
  RunClosing,
  RunReports,
  Runs,
  Streams,
  Syncs,
} from '../ledger/ledger.ts'
import { checkBooks } from './check-books.ts'
import { ManifestChain } from './manifest-chain.ts'
import { changedFacts } from './facts.ts'
import type { AuditFinding, ReportProblem, SyncAudit } from './finding.ts'

export type { AuditFinding, FindingKind, SyncAudit } from './finding.ts'

type AuditOptions = Parameters<typeof runAudit>[1]

type AuditedLedger = Archive & LinkReports & RunClosing & RunReports & Runs & Streams & Syncs

/**
 * Checks every run of the ledger; not those that are opened meanwhile.
 * @param options.key the signing key; null: signatures are counted, not checked
 * @returns a line for each sync that has runs, in the order of their names
 */
export async function runAudit(
  ledger: AuditedLedger,
  options: {
    readonly key: string | null
    readonly nowMs: number
    readonly report: (finding: AuditFinding) => void
    /** Called before each run with its number, and the last run's number. */
    readonly onRun?: (run: number, last: number) => void
  },
): Promise<readonly SyncAudit[]> {
  const [newest] = await ledger.runs({ limit: 1 })
  const syncs = new Map<string, SyncAuditor>()
  const auditorOf = (sync: string) => {
    const auditor = syncs.get(sync) ?? new SyncAuditor(ledger, sync, options)
    syncs.set(sync, auditor)
    return auditor
  }
  const last = newest?.id ?? 0
  for (let id = 1; id <= last; id++) {
    options.onRun?.(id, last)
    const run = await ledger.run(id)
    if (run !== null) {
      await auditorOf(run.sync).check(run)
      continue
    }
    const first = id
    while (id < last && (await ledger.run(id + 1)) === null) id++
    options.report({
      kind: 'run_missing',
      sync: null,
      run: first,
      message: `${first === id ? 'it is' : `it and those up to run ${id} are`} not in the ledger any more, although runs are numbered without gaps and never removed: ${first === id ? 'it was' : 'they were'} deleted`,
    })
  }
  for (const sync of await ledger.syncs()) await auditorOf(sync).passOver(last)
  return [...syncs.values()]
    .map((auditor) => auditor.result())
    .toSorted((a, b) => (a.sync < b.sync ? -1 : 1))
}

class SyncAuditor {
  readonly #ledger: AuditedLedger
  readonly #sync: string
  readonly #options: AuditOptions
  readonly #chain: ManifestChain
  readonly #sums = { runs: 0, live: 0, booked: 0, pruned: 0, findings: 0 }

  constructor(ledger: AuditedLedger, sync: string, options: AuditOptions) {
    this.#ledger = ledger
    this.#sync = sync
    this.#options = options
    this.#chain = new ManifestChain(ledger, sync, options.key)
  }

  /** Checks the next run of the sync. */
  async check(run: Run): Promise<void> {
    const sums = this.#sums
    sums.runs++
    await this.passOver(run.id - 1)
    const isClosed = !LIVE_STATES.includes(run.state)
    const report = this.#about(run.id)
    const manifest = await this.#chain.next(run.id)
    if (manifest === null) {
      if (!isClosed) sums.live++
      else report('manifest_missing', 'it is closed and has no manifest: the manifest was removed')
    } else {
      this.#chain.take(report)
      const streams = run.kind === 'mirror' ? await this.#ledger.streams(run.id) : []
      const changes = changedFacts(manifest.body, run, streams)
      if (changes.length > 0)
        report(
          'run_altered',
          `it is not as it was sealed: ${changes.join('; ')}; the run or its manifest was changed`,
        )
      // The books of a mirror are its streams, and the manifest contains those.
      if (run.kind === 'mirror' && changes.length === 0) sums.booked++
    }
    if (run.kind === 'mirror' || !isClosed) return
    const verdict = await checkBooks(this.#ledger, run, this.#options.nowMs, report)
    if (verdict !== 'wrong') sums[verdict]++
  }

  result(): SyncAudit {
    const { sealed, signed, head } = this.#chain
    return { sync: this.#sync, ...this.#sums, sealed, signed, head }
  }

  /** Takes the manifests up to that of a run, and reports that they belong to no run of the sync. */
  async passOver(upTo: number): Promise<void> {
    for (;;) {
      const manifest = await this.#chain.next(upTo)
      if (manifest === null) return
      const report = this.#about(manifest.run)
      const run = await this.#ledger.run(manifest.run)
      report(
        'manifest_orphaned',
        run === null
          ? 'its manifest is there, and the run is not: the run was deleted'
          : `its manifest is of this sync, and the run is of "${run.sync}": one of the two was changed`,
      )
      this.#chain.take(report)
    }
  }

  readonly #about =
    (run: number): ReportProblem =>
    (kind, message) => {
      this.#sums.findings++
      this.#options.report({ kind, sync: this.#sync, run, message })
    }
}
