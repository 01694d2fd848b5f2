// How statements about links find rows, each in the words of an engine.

import type { SqlDialect } from './engine.ts'

/** A table under a name, such as `links AS other`, and the condition by which an index of it finds rows. */
export interface FoundRows {
  readonly table: string
  readonly on: string
}

/** The column of the record of one end of a link. */
export type LinkEndColumn = 'source_id' | 'target_id'

export interface LinkSql extends SqlDialect {
  /** Behind a SELECT of one row: nobody else changes it until the transaction ends. */
  readonly lock: string
  /** A text, or a column, as the indexes have it that find keys and targets. */
  hashed(text: string): string
  /** The links of a run with the edge of `own`. */
  linksOfEdge(alias: string, run: string, own: string): FoundRows
  /** The links of a run with the association and the target of `own`. */
  linksOfTarget(alias: string, run: string, own: string): FoundRows
  /** The links of a run that have the same record at one end as `own`. */
  linksOfEnd(alias: string, run: string, own: string, end: LinkEndColumn): FoundRows
  /** The items of a run with a key. */
  itemsOfKey(alias: string, run: string, key: string): FoundRows
  /** The removals of a run with a key. */
  removalsOfKey(alias: string, run: string, key: string): FoundRows
  /** The watermark of the last row of a key that asked for the deletion of its record. */
  withdrawnOfKey(alias: string, destination: string, key: string): FoundRows
  /** The items of a run that were written to a record. */
  itemsOfRecord(alias: string, run: string, recordId: string): FoundRows
  /** The differences of rows of a run that were found under a record. */
  differencesOfRecord(alias: string, run: string, recordId: string): FoundRows
  /** The differences of a run of one subject. */
  differencesOfSubject(alias: string, run: string, subject: string): FoundRows
  /** Deletes the differences of the run `$1` that `given` names by these columns; a condition on `differences` may follow. */
  deleteDifferences(columns: 'subject' | 'subject, stream'): string
  /** The number of a difference that is inserted from `given`; null where the database gives one. */
  readonly numbered: string | null
  /** What is accepted with a record. */
  acceptedOfRecord(alias: string, destination: string, recordId: string): FoundRows
  /** Deletes what is accepted for the keys that a statement selects with their destinations. */
  deleteAccepted(select: string): string
  /** A figure of the books of a run that is closed. */
  counted(name: string): string
  /** What is accepted for a key. */
  acceptedOfKey(alias: string, destination: string, key: string): FoundRows
  /** What is known of the edge of `own`. */
  knownOfEdge(alias: string, destination: string, own: string): FoundRows
  /** What is known of the links of a key. */
  knownOfKey(alias: string, destination: string, key: string): FoundRows
  /** What is known of the links to the target of `own`, which may have one source. */
  knownOfTarget(alias: string, destination: string, own: string): FoundRows
  /** What is known of the linked links that begin, or end, at a record, in all destinations. */
  knownOfRecord(alias: string, end: LinkEndColumn, id: string): FoundRows
  /** What is known of links that are not linked; in the order of `knownOrder`. */
  knownLeft(alias: string, destination: string): FoundRows
  /** What is known of links that are waiting, to an object type; in the same order. */
  knownWaiting(alias: string, destination: string, type: string): FoundRows
  /** Deletes what is known, as `known`, of the edges that a statement selects with their destination, where it fits. */
  deleteKnown(select: string, fits: string): string
  /** Joins what is found, with these columns, to each of the rows in front. */
  joined(found: FoundRows, alias: string, columns: string): string
  /** The same, with rows for which nothing is found. At most one row is found for each. */
  leftJoined(found: FoundRows, alias: string, columns: string): string
}

/** Whether a row is found that fits. No engine can turn it into a search of the whole table. */
export const exists = ({ table, on }: FoundRows, fits = 'true'): string =>
  `(SELECT 1 FROM ${table} WHERE ${on} AND ${fits} LIMIT 1) IS NOT NULL`

/** The order of known links within a destination, as columns of `alias`. */
export const knownOrder = ({ hashed }: LinkSql, alias: string): string =>
  `${hashed(`${alias}.key`)}, ${hashed(`${alias}.target`)}, ${alias}.association`

/** The destination of the run `$1`. */
export const DESTINATION = '(SELECT destination FROM runs WHERE id = $1)'

/** The item of the row of a link. */
export const itemOf = (alias: string, own: string): FoundRows => ({
  table: `items AS ${alias}`,
  on: `${alias}.run = ${own}.run AND ${alias}.ordinal = ${own}.ordinal`,
})

/** Whether an item is one whose links count. */
export const hasLinks = (item: string): string =>
  `${item}.state NOT IN ('superseded', 'invalid', 'corrected', 'deletion_requested')`

/** Whether an item says which links its row asks for; one that asks for the deletion of its record asks for none. */
export const saysLinks = (item: string): string =>
  `${item}.state NOT IN ('superseded', 'invalid', 'corrected')`

/** Whether what is known, as `alias`, was found out since the ledger was restored from a backup, if it was. */
export const isSinceRestore = (alias: string): string =>
  `${alias}.run > (SELECT restored_after FROM project)`
