// Deletes edges: those that their record does not have any more, and, after a pass over all records, those of records that are
// gone; a record without a row is not asked for. Promises kept here: the number is known before the first edge is deleted; many
// deletions wait for a person, and all do if the key sees less than before; an edge of an existing record is deleted only after
// an answer without it.

import { slicesOf } from '../core/slices.ts'
import { otherKeyText } from './last-visibility.ts'
import { deletionPermission, whyAsked } from './deletions.ts'
import { changedOwners } from './edges-owners.ts'
import type { EdgesWork } from './edges-work.ts'
import { OWNERS_MAX } from './edges-position.ts'
import { formatInstant } from './instant.ts'
import type { StreamResult } from './ports.ts'
import { tableIds } from './table-ids.ts'

/** Edges that one statement finds or deletes. */
const PAGE = 1_000

export class EdgesRemoval {
  readonly #work: EdgesWork

  constructor(work: EdgesWork) {
    this.#work = work
  }

  /** The records that have a row. */
  async thereOf(owners: readonly string[]): Promise<readonly string[]> {
    const { deps, source } = this.#work
    const values = { column: '_id', values: owners }
    return await deps.tables.ids(source, { after: null, limit: owners.length, owners: values })
  }

  /** Edges of these records that this run has not seen. `old`: how many of them the end of the pass finds as well. */
  async goneOf(
    owners: readonly string[],
  ): Promise<{ readonly gone: string[]; readonly old: number }> {
    const { after, startedAt, run } = this.#work.position
    const values = { column: 'source_id', values: owners }
    const gone = await this.#idsOf({ seenBefore: run.began, owners: values })
    // A pass that begins in this run, or later, finds all of them.
    const isWithin = after !== null && startedAt !== null && startedAt < run.began
    if (gone.length === 0 || !isWithin) return { gone, old: gone.length }
    return { gone, old: (await this.#idsOf({ seenBefore: startedAt, owners: values })).length }
  }

  /** Deletes what is gone, as far as that is permitted, and ends the run of the edges. Undefined if it is over. */
  async run(): Promise<StreamResult | undefined> {
    const { deps, job, stream, position, less, sight, say, differ, note } = this.#work
    const { run, spent = 0, kept = 0 } = position
    const ofGone = run.isLast === true ? Math.max(0, (await this.#countOld()) - run.old) : 0
    const rows = run.gone + ofGone
    // After a rejection, the next question comes at the end of a pass that is `full_every_hours` later.
    const isKnown = rows > 0 && rows <= kept && !this.#endsDay(position.keptSince)
    let may: ReturnType<typeof deletionPermission> = 'granted'
    if (rows > 0 && !isKnown) {
      const { rows: of } = await deps.tables.count(stream)
      const isLess = less !== null
      const share = `${rows} of ${of} rows`
      may = deletionPermission(rows, of, job.config, job.verdict, { isLess, spent })
      if (may === 'ask') {
        const before = spent === 0 || isLess ? '' : ` with ${spent} that went before`
        const why = whyAsked(job.config, isLess)
        await this.#store()
        await note('approval', `${share} would be deleted,${before} ${why}; approve or reject it`)
        return { state: 'approval', rows, of }
      }
      if (may === 'refused') differ(`the deletion of ${share} was rejected, so they stay`)
      else {
        if (!(await this.#remove())) return { state: 'again' }
        if (run.isLast === true) await this.#removeOld()
        const text = less === null ? otherKeyText(rows, sight, position) : null
        if (text !== null) say(text)
      }
    }
    this.#finish({ rows, isRefused: may === 'refused', isKnown })
    await this.#store()
    return undefined
  }

  /** Reads the edges of these records again, and deletes those that are still gone. Returns false if the time was over first. */
  async #remove(): Promise<boolean> {
    const { deps, source, position, endsAtMs } = this.#work
    const { run } = position
    const { tables, clock } = deps
    const limit = deps.ownersMax ?? OWNERS_MAX
    type Page = (after: string | null) => Promise<readonly string[]>
    const changed: Page = (after) => changedOwners(tables, this.#work, { after, limit })
    const every: Page = (after) => tables.ids(source, { after, limit })
    const { reached } = run
    const looks: { page: Page; from: string | null; to: string | null }[] = [
      { page: changed, from: null, to: null },
      ...(reached === undefined ? [] : [{ page: every, from: position.after, to: reached }]),
    ]
    for (const { page, from, to } of looks)
      for (let after = from; run.gone > 0;) {
        const ids = await page(after)
        const { gone } = await this.goneOf(ids)
        if (gone.length > 0) {
          // At least one of these in each activity, so that every activity makes progress.
          await this.#removeOf(gone)
          if (clock.now() >= endsAtMs && run.gone > 0) return false
        }
        if (ids.length < limit || (to !== null && ids.includes(to))) break
        after = ids.at(-1)!
      }
    run.gone = 0
    return true
  }

  async #removeOf(gone: readonly string[]): Promise<void> {
    const { position, readOwners } = this.#work
    const { run } = position
    const owners = [...new Set(gone.map((id) => (JSON.parse(id) as string[])[1]!))]
    const before = (await this.goneOf(owners)).old
    await readOwners(await this.thereOf(owners), 'mirror')
    run.gone -= gone.length
    run.old -= before
    for (const page of slicesOf(gone, PAGE)) await this.#delete(page, run.began)
  }

  /** Deletes what a whole pass over all records did not show. */
  async #removeOld(): Promise<void> {
    const { startedAt } = this.#work.position
    if (startedAt === null) return
    const ids = await this.#idsOf({ seenBefore: startedAt })
    for (const page of slicesOf(ids, PAGE)) await this.#delete(page, startedAt)
  }

  /** In one transaction with the position that counts them; what was seen since stays. */
  async #delete(ids: readonly string[], before: string): Promise<void> {
    const { deps, job, stream, fence, position, snapshot, now } = this.#work
    const { tally } = position.run
    position.spent = (position.spent ?? 0) + ids.length
    position.spentSince ??= formatInstant(deps.clock.now())
    tally.deleted += ids.length
    const at = now()
    const how = job.config.deletions
    const deleted = await deps.tables.delete(stream, fence, snapshot(), { before, ids, how, at })
    tally.deleted += deleted - ids.length
    position.spent += deleted - ids.length
  }

  /** Whether a pass over all records ends, and the time between full listings has passed since then. */
  #endsDay(since: string | undefined): boolean {
    const { deps, job, position } = this.#work
    if (position.run.isLast !== true) return false
    const everyMs = job.config.full_every_hours * 3_600_000
    const isDue = since === undefined || deps.clock.now() - Date.parse(since) >= everyMs
    return position.run.full || isDue
  }

  async #countOld(): Promise<number> {
    const { deps, stream, position, unlisted } = this.#work
    const { startedAt } = position
    if (startedAt === null) return 0
    if (unlisted.size > 0) return (await this.#idsOf({ seenBefore: startedAt })).length
    const within = { column: '_last_seen_at', from: null, to: startedAt }
    return (await deps.tables.count(stream, within)).rows
  }

  /** Ids of edges, without those of associations that are not listed. */
  async #idsOf(choice: {
    readonly seenBefore: string
    readonly owners?: { readonly column: string; readonly values: readonly string[] }
  }): Promise<string[]> {
    const { deps, stream, unlisted } = this.#work
    const found: string[] = []
    for await (const ids of tableIds(deps.tables, stream, { ...choice, limit: PAGE }))
      found.push(...ids)
    return unlisted.size === 0
      ? found
      : found.filter((id) => !unlisted.has((JSON.parse(id) as string[])[0]!))
  }

  /** From now on the next run does not read these records again. */
  #finish(result: { rows: number; isRefused: boolean; isKnown: boolean }): void {
    const { rows, isRefused, isKnown } = result
    const { deps, job, position, less, sight, unlisted, differ } = this.#work
    const { run } = position
    const stay = isRefused ? rows : 0
    const at = Date.parse(run.began)
    position.version = formatInstant(at - job.config.overlap_seconds * 1_000)
    position.clock = { at, aheadMs: deps.client.clockAheadMs() }
    position.endsSeenAt = position.version
    if (isRefused) position.keptSince = formatInstant(deps.clock.now())
    if (run.isLast === true) {
      if (this.#endsDay(position.spentSince) || job.verdict?.approved === true) {
        position.spent = 0
        delete position.spentSince
      }
      if (position.startedAt !== null) position.sweptFrom = position.startedAt
      position.after = null
      position.startedAt = null
      position.sweptAt = formatInstant(deps.clock.now())
      position.kept = isRefused || isKnown ? rows : 0
      delete position.other
    } else {
      if (run.reached !== undefined) position.after = run.reached
      position.kept = (position.kept ?? 0) + stay
      if (job.verdict?.approved === true) position.spent = 0
    }
    if (position.kept > 0 && !isRefused)
      differ(`${position.kept} rows stay whose deletion was rejected`)
    const isApproved = rows > 0 && !isRefused && !isKnown
    const isWhole = run.isLast === true && rows === 0 && unlisted.size === 0
    if (sight && (less === null || isApproved || isWhole)) position.sight = sight
    run.phase = 'done'
  }

  async #store(): Promise<void> {
    const { deps, stream, fence, snapshot } = this.#work
    await deps.tables.move(stream.name, fence, snapshot())
  }
}
