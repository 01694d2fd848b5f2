// The digest of a plan: one fingerprint over all that a run of it would send, and over what records held when it was made. Its parts
// say what has changed where two plans differ.

import { createHash, type Hash } from 'node:crypto'
import { canonicalJson, type Json } from '../../core/json.ts'
import { SyncError } from '../../core/errors.ts'
import { LEDGER_ROWS_MAX } from '../../core/limits.ts'
import { ROW_VERDICTS } from '../../core/domain/row-changes.ts'
import type { ImportConfig } from '../../../config/index.ts'
import { jobOf } from '../../runs/job.ts'
import type {
  BeforeImages,
  ImagedItem,
  LinkOutbox,
  Outbox,
  Removals,
  Runs,
} from '../../ledger/ledger.ts'
import { FIRST_LINK_PLACE } from '../look/places.ts'
import { WHOLE_RUN } from '../look/whole-run.ts'
import type { ImportDeps } from '../ports.ts'

/** What a plan consists of. `rows`: the planned ones, by ordinal, key and what is sent; `images`: what was found of them. */
export const PLAN_PARTS = [
  'mapping',
  'schema',
  'destination',
  'rows',
  'removals',
  'links',
  'images',
] as const
export type PlanPart = (typeof PLAN_PARTS)[number]

export interface PlanDigest {
  /** SHA-256, hex; so are the parts. */
  readonly digest: string
  readonly parts: Readonly<Record<PlanPart, string>>
  /** Whether every planned row was looked up. */
  readonly isWhole: boolean
}

export type DigestedLedger = BeforeImages & LinkOutbox & Outbox & Removals & Runs

type DigestDeps = Pick<ImportDeps<DigestedLedger>, 'ledger' | 'signal' | 'beat'>

/**
 * Settings that change nothing of what is sent: where rows are and what a connection is called, which may differ between a terminal
 * and a worker, what a person is asked about, and what is read back.
 */
const NOT_SENT = [
  'from',
  'to',
  'rows_min',
  'rows_max',
  'creates_max_percent',
  'clears_max_percent',
  'missing_rows_max_percent',
  'approve',
  'keep_before',
  'verify',
] as const satisfies readonly (keyof ImportConfig)[]

/**
 * The digest of a run that is staged, before anything of it is sent. Reads it page by page.
 * @param see gets every image
 */
export async function planDigest(
  deps: DigestDeps,
  run: number,
  see: (image: ImagedItem) => void = () => {},
): Promise<PlanDigest> {
  const { ledger } = deps
  const row = await ledger.run(run)
  if (row === null) throw new SyncError('run_unknown', `Run ${run} is not in the ledger`)
  const { import: config } = jobOf(row, 'import').sync
  const sent = Object.fromEntries(
    Object.entries(config).filter(([name]) => !(NOT_SENT as readonly string[]).includes(name)),
  )
  const parts: PlanDigest['parts'] = {
    mapping: digestOf(sent as unknown as Json),
    schema: digestOf(row.schema as unknown as Json),
    destination: digestOf((await ledger.destinationOf(run)) as unknown as Json),
    rows: await digestOfRows(deps, run),
    removals: await digestOfRemovals(deps, run),
    links: await digestOfLinks(deps, run),
    images: await digestOfImages(deps, run, see),
  }
  const [missing] = await ledger.withoutImage(run, { after: 0, limit: 1 })
  return { digest: digestOf(parts), parts, isWhole: missing === undefined }
}

/** The parts in which two plans differ, in their order. */
export const differingParts = (
  one: PlanDigest['parts'],
  other: PlanDigest['parts'],
): readonly PlanPart[] => PLAN_PARTS.filter((part) => one[part] !== other[part])

const digestOf = (value: Json): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex')

/** Of pages: `next` gives what follows a place, and the place behind it; null at the end. Bounded by what the run has. */
async function digestOfPages<Place>(
  { signal, beat }: DigestDeps,
  first: Place,
  next: (after: Place, hash: Hash) => Promise<Place | null>,
): Promise<string> {
  const hash = createHash('sha256')
  for (let place: Place | null = first; place !== null;) {
    signal.throwIfAborted()
    place = await next(place, hash)
    beat()
  }
  return hash.digest('hex')
}

/** Each entry ends with a character that no JSON text has. */
const add = (hash: Hash, ...facts: readonly (string | number | null)[]): void =>
  void hash.update(`${JSON.stringify(facts)}\n`)

const digestOfRows = (deps: DigestDeps, run: number): Promise<string> =>
  digestOfPages(deps, 0, async (after, hash) => {
    const page = { after, attemptsBelow: Number.MAX_SAFE_INTEGER, limit: LEDGER_ROWS_MAX }
    const items = await deps.ledger.nextPlanned(run, WHOLE_RUN, page)
    for (const { ordinal, key, hash: payload } of items) add(hash, ordinal, key, payload)
    return items.at(-1)?.ordinal ?? null
  })

const digestOfRemovals = (deps: DigestDeps, run: number): Promise<string> =>
  digestOfPages(deps, 0, async (after, hash) => {
    const states = ['pending'] as const
    const { rows, next } = await deps.ledger.removals(run, {
      after,
      limit: LEDGER_ROWS_MAX,
      states,
    })
    for (const { key, recordId, cause } of rows) add(hash, key, recordId, cause)
    return next
  })

const digestOfLinks = (deps: DigestDeps, run: number): Promise<string> =>
  digestOfPages(deps, FIRST_LINK_PLACE, async (after, hash) => {
    const page = { after, limit: LEDGER_ROWS_MAX, attemptsBelow: Number.MAX_SAFE_INTEGER }
    const { links, next } = await deps.ledger.plannedLinks(run, page)
    for (const { association, key, target, to, by } of links)
      add(hash, association, key, target, to, by)
    return next
  })

const digestOfImages = (
  deps: DigestDeps,
  run: number,
  see: (image: ImagedItem) => void,
): Promise<string> =>
  digestOfPages(deps, 0, async (after, hash) => {
    const page = { after, limit: LEDGER_ROWS_MAX, verdicts: ROW_VERDICTS }
    const images = await deps.ledger.images(run, page)
    for (const image of images) {
      const { ordinal, verdict, recordId, before, sent } = image
      add(hash, ordinal, verdict, recordId, before, sent)
      see(image)
    }
    return images.at(-1)?.ordinal ?? null
  })
