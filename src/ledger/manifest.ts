// The manifest of a closed run: what came in, how it was mapped, what the service reported about its properties, what became
// of the rows; and the digest of the manifest before it, of the same sync. Promise kept here: a change to a closed run, or a
// removed one, breaks the chain; with a signing key only its holder can repair the chain.

import { createHmac, hash as digestOf, timingSafeEqual } from 'node:crypto'
import { canonicalJson, type Json } from '../core/json.ts'
import type { Run, StoredManifest, StreamBooks } from './ledger.ts'

const digest = (value: Json): string => digestOf('sha256', canonicalJson(value), 'hex')

/** SHA-256 of a manifest's body, hex. */
export const manifestDigest = (body: string): string => digestOf('sha256', body, 'hex')

/** HMAC-SHA256 of a manifest's body, hex. */
export const manifestSignature = (body: string, key: string): string =>
  createHmac('sha256', key).update(body).digest('hex')

/** Whether a manifest was signed with the key. */
export function isSigned({ body, signature }: StoredManifest, key: string): boolean {
  if (signature === null) return false
  const [given, right] = [
    Buffer.from(signature, 'hex'),
    Buffer.from(manifestSignature(body, key), 'hex'),
  ]
  return given.length === right.length && timingSafeEqual(given, right)
}

/**
 * The canonical JSON of a closed run's manifest: a pure function of what the ledger keeps of the run for good.
 * @param streams of a mirror; none of an import
 * @param previous digest of the manifest before it, of the same sync; null for the first
 */
export function manifestBody(
  run: Run,
  streams: readonly StreamBooks[],
  previous: string | null,
): string {
  return canonicalJson({
    v: 1,
    run: run.id,
    sync: run.sync,
    kind: run.kind,
    purpose: run.purpose,
    of: run.of,
    state: run.state,
    reason: run.reason,
    opened_at: run.openedAt,
    closed_at: run.closedAt,
    workflow_id: run.workflowId,
    key_fingerprint: run.keyFingerprint,
    input: run.sourceDigest,
    mapping: digest(run.config),
    schema: run.schema === null ? null : digest(run.schema as unknown as Json),
    rows_read: run.rowsRead,
    counts: run.counts as unknown as Json,
    streams: streams.map((stream) => ({ ...stream })) as unknown as Json,
    verified_through: run.verifiedThrough,
    previous,
  })
}

/** A closed run's manifest. @param key the ledger's signing key; null if it has none */
export function sealManifest(
  run: Run,
  streams: readonly StreamBooks[],
  previous: string | null,
  key: string | null,
): StoredManifest {
  const body = manifestBody(run, streams, previous)
  return {
    run: run.id,
    sync: run.sync,
    body,
    digest: manifestDigest(body),
    signature: key === null ? null : manifestSignature(body, key),
  }
}
