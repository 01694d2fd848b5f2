// Links: the associations that rows ask for, one row of the ledger for each, written down before it is sent and settled after,
// and what is known of them from earlier runs. A link is known by its edge: association, key of the row, and target.

import type { ItemState, KnownLinkState, LinkState } from '../../core/domain/outcomes.ts'
import type { WrittenKey } from './accepted-records.ts'
import type { OnSlice } from './on-slice.ts'

/** What makes a link the same one in another row or another run, in one destination. */
export interface LinkEdge {
  /** The name of the association definition. */
  readonly association: string
  /** The canonical matching value of the row, as `StagedItem.key`. */
  readonly key: string
  /** The canonical value of the target's property `by`, or its record id; at most LINK_TARGET_CHARS_MAX characters. */
  readonly target: string
}

/** How its target is found. */
export interface LinkTarget {
  /** The object type of the target. */
  readonly to: string
  /** The property that finds it; null: `target` is its record id. */
  readonly by: string | null
}

/** Where a link is within its run, in this order. */
export interface LinkPlace {
  /** The row's ordinal; 0: carried over from an earlier run, and not read from the source. */
  readonly ordinal: number
  /** Counts the links of the row, or those that were carried over, from 1. */
  readonly number: number
}

/** The place in front of all links. */
export const BEFORE_LINKS: LinkPlace = { ordinal: 0, number: 0 }

/** A link as staging reads it, of a valid row. */
export interface StagedLink extends LinkPlace, LinkEdge, LinkTarget {
  /** The source's column; null where it has no name. */
  readonly column: string | null
  /** Why it cannot be a key of its target: it is `rejected` at once then, and `target` is as much of the cell as reports show. */
  readonly reject?: { readonly reason: string; readonly detail: string } | null
}

/**
 * What the definitions of associations allow, as lists of their names. A name may be in both (one_to_one).
 * `oneTarget`: a source has one target (many_to_one); `oneSource`: a target has one source (one_to_many).
 */
export interface LinkBounds {
  readonly oneTarget: readonly string[]
  readonly oneSource: readonly string[]
}

/** What staging decided about links. */
export interface StagedLinkCounts {
  readonly planned: number
  readonly unchanged: number
  /** Those that a later link of the run takes the place of (`LinkBounds`). */
  readonly not_wanted: number
  /** Those whose cell cannot be a key of its target. Left out if there are none. */
  readonly refused?: number
  /** Those of `planned` that were linked before the ledger was restored from a backup. Left out if there are none. */
  readonly distrusted?: number
}

/** A link that is to be sent, or was and is not settled. */
export interface PlannedLink extends StagedLink {
  /** How often it was answered. */
  readonly attempts: number
  /** Whether it was sent before and may be linked. */
  readonly isReplayed: boolean
  /** The state of its row in this run; null: it was carried over. */
  readonly row: ItemState | null
  /** Whether values are accepted for the key of its row: then its record is that of the key, also if the answer did not name it. */
  readonly isAccepted: boolean
  /** The record of its row: of this run's item, else what is accepted for the key in the destination; null: not known. */
  readonly sourceId: string | null
  /** The record of its target, once it was sent or settled. */
  readonly targetId: string | null
}

/** A page of links. `next`: where the next one begins behind; null at the end. A page may be empty before the end. */
export interface LinkPage<Link> {
  readonly links: readonly Link[]
  readonly next: LinkPlace | null
}

/** A link that is sent, with both records. */
export interface SentLink extends LinkPlace {
  readonly sourceId: string
  readonly targetId: string
}

/** A link that is about to be sent, with what it is compared by. */
export interface LinkWithEnds extends SentLink, Pick<LinkEdge, 'association'> {}

/** Why a link is not sent, or does not count any more: a later link of the run has its place. */
export type OvertakenReason = 'one_target' | 'one_source'

/**
 * How a link is settled. `planned`: a later round of this run sends it again; `sent`: it stays in flight, and the next attempt
 * sends it again; `unchanged`: a reconciliation found it there.
 */
export interface LinkOutcome extends LinkPlace {
  readonly state: LinkState
  readonly sourceId: string | null
  readonly targetId: string | null
  /** HTTP status; null if no answer decided it. */
  readonly httpStatus: number | null
  readonly requestId: string | null
  readonly code: string | null
  /** Such as `target_missing`, `row_not_written`. */
  readonly reason: string | null
  readonly detail: string | null
}

/** A link as reports show it. */
export interface ReportedLink extends LinkPlace, LinkEdge, LinkTarget {
  /** The line of its row; null: it was carried over. */
  readonly line: number | null
  readonly column: string | null
  readonly state: LinkState
  readonly attempts: number
  readonly sourceId: string | null
  readonly targetId: string | null
  /** The record whose link it took the place of. */
  readonly replacedId: string | null
  readonly httpStatus: number | null
  readonly requestId: string | null
  readonly code: string | null
  readonly reason: string | null
  readonly detail: string | null
  /** Whether the service may have it although no answer says so. */
  readonly inDoubt: boolean
}

/** What is known of a link in a destination, from the run that found it out last. */
export interface KnownLink extends LinkEdge, LinkTarget {
  readonly state: KnownLinkState
  readonly sourceId: string | null
  readonly targetId: string | null
  readonly run: number
  /**
   * Whether the run that asks has compared the edges of the record: it has a link of the key and association that is `unchanged` or
   * planned.
   */
  readonly isCompared: boolean
}

/** What became of links at a record that is gone. */
export interface GoneLinks {
  /** Links that wait for their record again. */
  readonly waiting: number
  /** Links of which nothing is known any more: they are made again when their row is read. */
  readonly forgotten: number
}

/** The keys of a kind of record: those of any sync of the origin and org that writes the type by this property. */
export interface RecordType {
  readonly origin: string
  readonly orgId: number
  readonly objectType: string
  readonly matchingProperty: string
}

/** Another sync of the same origin and org that has waiting links to the object type that a run wrote. */
export interface WaitingElsewhere {
  readonly sync: string
  /** How many, in the destination of its newest run. */
  readonly links: number
  /**
   * Whether a target of them may exist by now: the destination of the run has its key, or it is found in a way that the ledger
   * cannot check (another property, or a record id). False: a run would park all of them again.
   */
  readonly mayExist: boolean
}

/** Staging; each under the fence that `beginStage` gave, which also removes the links of the run. */
export interface LinkStaging {
  /**
   * Writes at most 1,000 links of valid items of the run, in any order. `finishStage` decides about them: it removes those whose
   * row is superseded or not valid, and those that occur again later in the run; `StagedSource.linkBounds` makes those `skipped`
   * that a later one takes the place of; those that are known as linked are `unchanged` (`skipUnchanged`), and the others stay
   * planned. `countLeft` removes the links of the items that were removed.
   */
  stageLinks(run: number, fence: number, links: readonly StagedLink[]): Promise<void>
  /**
   * After `finishStage`: adds what earlier runs of the destination left over (waiting or rejected), since the ledger was
   * restored from a backup if it was, as planned links of ordinal 0, slice by slice. `unread keys`: of keys that no item of the run has; `all left`: all of them. Where `bounds` allow a
   * source one target, it is the newest one. An interrupted call is repeated without harm. Returns how many it added in all.
   */
  carryLinks(
    run: number,
    fence: number,
    options: { readonly of: 'unread keys' | 'all left'; readonly bounds?: LinkBounds },
    onSlice?: OnSlice,
  ): Promise<number>
}

/** The link step of a run: one worker at a time, under the fence of `claimLinks`. */
export interface LinkOutbox {
  /** Takes the link step of a live run over; its holder before can settle nothing more. */
  claimLinks(run: number): Promise<number>
  /**
   * Plans those `unchanged` links again that are not known as linked any more, whose row was written to another record since they were
   * linked, or whose target another sync has written to another record: the ledger knows their records. Returns their number.
   */
  reopenLinks(run: number, fence: number, onSlice?: OnSlice): Promise<number>
  /**
   * Forgets links of the destination that are known and not linked, and that the run does not have; notes of those that are linked that
   * the source has left them, so that staging does not rely on them. `all`: the source was read as a whole, and links of invalid items
   * stay as they are; `read keys`: only those of keys that a valid item of the run has. Returns how many it has forgotten.
   */
  forgetLinks(
    run: number,
    fence: number,
    options: { readonly of: 'all' | 'read keys' },
    onSlice?: OnSlice,
  ): Promise<number>
  /** Planned links behind `after` that were answered less than `attemptsBelow` times; at most `limit` of them, up to 1,000. */
  plannedLinks(
    run: number,
    options: {
      readonly after: LinkPlace
      readonly limit: number
      readonly attemptsBelow: number
    },
  ): Promise<LinkPage<PlannedLink>>
  /** Links behind `after` that were sent and never settled, by an earlier attempt of the step. They may be sent again. */
  sentLinks(
    run: number,
    options: { readonly after: LinkPlace; readonly limit: number },
  ): Promise<LinkPage<PlannedLink>>
  /**
   * Writes a group of at most 1,000 links down before they are sent, one request each. `isReplayed`: they are in flight already, and
   * are sent again.
   */
  recordLinksSent(
    run: number,
    fence: number,
    links: readonly SentLink[],
    options?: { readonly isReplayed?: boolean },
  ): Promise<void>
  /**
   * Settles at most 1,000 links that are planned or sent, and notes what is known of them. A link that is `linked` takes the place
   * of those that `bounds` does not allow next to it, in each destination of the origin and org: these are forgotten, and those of the
   * run are `skipped`, whichever values name their records. Returns how many took the place of another.
   */
  settleLinks(
    run: number,
    fence: number,
    links: readonly LinkOutcome[],
    bounds: LinkBounds,
  ): Promise<{ readonly replaced: number }>
  /**
   * Which of at most 1,000 links may not be sent, because a later link of the run has the only place that their records have
   * (`bounds`): it is linked, unchanged or in flight. Of a retry also those that were `skipped` for such a link by the run that it
   * retries, and those whose place a run since has given to another link.
   */
  overtakenLinks(
    run: number,
    links: readonly LinkWithEnds[],
    bounds: LinkBounds,
  ): Promise<readonly (LinkPlace & { readonly reason: OvertakenReason })[]>
  /**
   * Notes that at most 1,000 links which the run has linked are not there: they are `not_kept`, and known as left over. Those that
   * are not `linked` stay as they are. Returns their number.
   */
  noteNotKept(run: number, fence: number, places: readonly LinkPlace[]): Promise<number>
}

/** What is known of links, and of their records. */
export interface KnownLinks {
  /** What is accepted for at most 1,000 keys, whichever sync wrote it; of several, the newest run counts. */
  recordsOfType(type: RecordType, keys: readonly string[]): Promise<ReadonlyMap<string, WrittenKey>>
  /** Which other syncs have waiting links to the object type that the run wrote, in the order of their names. */
  waitingElsewhere(run: number): Promise<readonly WaitingElsewhere[]>
  /** What is known of the links of at most 1,000 keys in the run's destination, by key. */
  knownLinksOf(
    run: number,
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, readonly KnownLink[]>>
  /**
   * A page of what is known in the run's destination; the links of a key follow each other. `next` null at the end. `isParked`: only
   * those that wait, and were left since the ledger was restored from a backup.
   */
  knownLinks(
    run: number,
    options: { readonly after: string | null; readonly limit: number; readonly isParked?: true },
  ): Promise<{ readonly links: readonly KnownLink[]; readonly next: string | null }>
  /**
   * Records of the type, at most 1,000, are gone: what is known of links holds only while both records are those that were linked, in
   * each destination of the origin and org. Links to such a record are waiting, and those of other destinations from it; those of
   * the run's own destination from it are forgotten. In transactions of their own: called before it is settled that the records are gone, and again without harm.
   */
  recordsGone(run: number, objectType: string, recordIds: readonly string[]): Promise<GoneLinks>
}

/** What people ask about the links of a run. */
export interface LinkReports {
  /** Links in the given states, in their order. `isLeft`: only those that are left over or waiting still, whatever came later. */
  reportLinks(
    run: number,
    options: {
      readonly states: readonly LinkState[]
      readonly after: LinkPlace
      readonly limit: number
      readonly isLeft?: boolean
    },
  ): Promise<LinkPage<ReportedLink>>
  /** Links that are rejected or waiting, by association, state, code, reason and column, most frequent first. */
}

export interface Links extends LinkStaging, LinkOutbox, KnownLinks, LinkReports {}
