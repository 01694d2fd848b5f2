// Compares a manifest with its run: which facts of the run have changed since it was sealed.

import { canonicalJson, isJsonObject, ownValue, type Json } from '../core/json.ts'
import type { Run, StreamBooks } from '../ledger/ledger.ts'
import { manifestBody } from '../ledger/manifest.ts'

const CHANGES_SHOWN_MAX = 10
const VALUE_CHARS_MAX = 40

/** What each digest covers, for people. */
const MEANINGS: Readonly<Record<string, string>> = {
  mapping: 'mapping (the configuration that it ran with, runs.config)',
  schema: "schema (the service's properties, runs.properties)",
  input: 'input (digest of the source, runs.source_digest)',
}

/** The body of a manifest as data; null if it is not one. */
export function parseManifest(text: string): { readonly [name: string]: Json } | null {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : null
  } catch {
    return null
  }
}

/** The digest of the previous manifest, as a body names it; null for a first one. */
export function previousDigest(body: { readonly [name: string]: Json }): string | null {
  const { previous } = body
  return typeof previous === 'string' ? previous : null
}

/**
 * The facts of a run's row and streams that differ from its manifest; none if they agree.
 * @returns such as `counts.states.created: sealed 10, now 12`
 */
export function changedFacts(text: string, run: Run, streams: readonly StreamBooks[]): string[] {
  const sealed = parseManifest(text)
  if (sealed === null) return ['the manifest is no JSON object']
  const nowText = manifestBody(run, streams, previousDigest(sealed))
  if (nowText === text) return []
  const changes: string[] = []
  compare(byName(sealed), byName(JSON.parse(nowText) as Json), '', changes)
  // Equal data in another text: records-sync never writes it that way.
  if (changes.length === 0) return ['the manifest is not written as it is sealed']
  const rest = changes.length - CHANGES_SHOWN_MAX
  return rest > 0 ? [...changes.slice(0, CHANGES_SHOWN_MAX), `${rest} more`] : changes
}

/** A manifest with its streams by name, so that a missing one does not shift the others. */
function byName(body: Json): Json {
  if (!isJsonObject(body) || !Array.isArray(body['streams'])) return body
  const streams = (body['streams'] as readonly Json[]).map((stream, index) => [
    isJsonObject(stream) && typeof stream['stream'] === 'string' ? stream['stream'] : String(index),
    stream,
  ])
  return { ...body, streams: Object.fromEntries(streams) as Json }
}

function compare(sealed: Json | undefined, now: Json | undefined, path: string, changes: string[]) {
  if (isJsonObject(sealed) && isJsonObject(now)) {
    for (const name of new Set([...Object.keys(sealed), ...Object.keys(now)]))
      compare(ownValue(sealed, name), ownValue(now, name), path ? `${path}.${name}` : name, changes)
    return
  }
  const textOf = (value: Json | undefined) => (value === undefined ? '' : canonicalJson(value))
  if (textOf(sealed) === textOf(now)) return
  changes.push(`${MEANINGS[path] ?? path}: sealed ${shown(sealed)}, now ${shown(now)}`)
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : canonicalJson(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX - 1)}…` : text
}
