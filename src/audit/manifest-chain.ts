// The manifests of one sync as a chain: checks each against its own digest and signature, and against the previous one.

import type { Archive, StoredManifest } from '../ledger/ledger.ts'
import { manifestDigest, isSigned } from '../ledger/manifest.ts'
import { previousDigest, parseManifest } from './facts.ts'
import type { ReportProblem } from './finding.ts'

/** Manifests held at a time; a mirror's may have hundreds of streams. */
const PAGE = 20

/** Reads the manifests of a sync in the order of their runs, a page at a time. */
export class ManifestChain {
  sealed = 0
  signed = 0
  head: { readonly run: number; readonly digest: string } | null = null
  readonly #ledger: Archive
  readonly #sync: string
  readonly #key: string | null
  #page: readonly StoredManifest[] = []
  /** The last manifest that was taken. */
  #last: { readonly run: number; readonly digests: readonly string[] } | null = null
  #wasSigned = false

  /** @param key the signing key; null: signatures are not checked */
  constructor(ledger: Archive, sync: string, key: string | null) {
    this.#ledger = ledger
    this.#sync = sync
    this.#key = key
  }

  /** The next manifest, unless its run is above `upTo`; it stays the next one until it is taken. */
  async next(upTo: number): Promise<StoredManifest | null> {
    // Read again at the end: a run may have been closed meanwhile.
    if (this.#page.length === 0)
      this.#page = await this.#ledger.manifests(this.#sync, {
        after: this.#last?.run ?? 0,
        limit: PAGE,
      })
    const [first] = this.#page
    return first !== undefined && first.run <= upTo ? first : null
  }

  /** Takes the next manifest, and reports what is wrong with it and its place in the chain. */
  take(report: ReportProblem): void {
    const [manifest, ...rest] = this.#page
    if (manifest === undefined) throw new Error('a manifest was taken that is not there')
    this.#page = rest
    const digest = manifestDigest(manifest.body)
    if (digest !== manifest.digest)
      report(
        'manifest_altered',
        `the text of its manifest has the SHA-256 ${short(digest)}, noted is ${short(manifest.digest)}: the manifest was changed after it was sealed`,
      )
    this.#checkLink(manifest, report)
    this.#checkSignature(manifest, report)
    this.sealed++
    this.head = { run: manifest.run, digest }
    this.#last = { run: manifest.run, digests: [digest, manifest.digest] }
  }

  #checkLink({ body: text }: StoredManifest, report: ReportProblem): void {
    const body = parseManifest(text)
    // A body that is not a manifest is reported elsewhere.
    if (body === null) return
    const previous = previousDigest(body)
    const last = this.#last
    // A wrongly recorded digest is reported at its own manifest.
    if (last === null ? previous === null : last.digests.includes(previous ?? '')) return
    const broken = (message: string) => report('chain_broken', message)
    if (last === null)
      broken(
        `its manifest hangs on one before it (${short(previous!)}), and there is none: the older manifests of the sync were removed`,
      )
    else if (previous === null)
      broken(
        `its manifest says that it is the first of the sync, but run ${last.run} was sealed before it: the link was re-written`,
      )
    else
      broken(
        `its manifest hangs on another one (${short(previous)}) than that of run ${last.run} (${short(last.digests[0]!)}): that one was changed, one between them was removed, or the link was re-written`,
      )
  }

  #checkSignature(manifest: StoredManifest, report: ReportProblem): void {
    if (manifest.signature !== null) {
      this.signed++
      this.#wasSigned = true
      if (this.#key !== null && !isSigned(manifest, this.#key))
        report(
          'signature_invalid',
          'the signature of its manifest does not fit: the manifest was changed, or signed with another key',
        )
    } else if (this.#wasSigned)
      report(
        'signature_missing',
        'its manifest is not signed, although an older one of the sync is: it was written without the key',
      )
  }
}

const short = (digest: string): string => (digest.length > 16 ? `${digest.slice(0, 16)}…` : digest)
