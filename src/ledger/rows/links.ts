// Rows of `links` and `known_links`, and the lists of states that statements about them name.

import {
  LEFT_LINK_STATES,
  LINK_REJECT_STATES,
  LINK_STATES,
  OPEN_STATES,
  knownStateOf,
  type KnownLinkState,
  type LinkState,
  type ItemState,
} from '../../core/domain/outcomes.ts'
import type {
  KnownLink,
  LinkEdge,
  LinkPlace,
  LinkTarget,
  PlannedLink,
  ReportedLink,
} from '../roles/links.ts'
import { number, sqlList, text, type Row } from './values.ts'

export const openLinkStates = sqlList(OPEN_STATES)
export const linkRejectStates = sqlList(LINK_REJECT_STATES)
export const leftLinkStates = sqlList(LEFT_LINK_STATES)

/** What is known of a link that ended in the state of a column; null: nothing. */
export const knownStateSql = (state: string): string =>
  `CASE ${state} ${LINK_STATES.flatMap((name) => {
    const known = knownStateOf(name)
    return known === null ? [] : [`WHEN '${name}' THEN '${known}'`]
  }).join(' ')} END`

/** The columns of an edge and its target, with the place of a table in front. */
export const edgeColumns = (table: string): string =>
  ['association', 'key', 'target', 'target_type', '"by"']
    .map((name) => `${table}.${name}`)
    .join(', ')

export const placeOfRow = (row: Row): LinkPlace => ({
  ordinal: Number(row['ordinal']),
  number: Number(row['number']),
})

const edgeOfRow = (row: Row): LinkEdge & LinkTarget => ({
  association: String(row['association']),
  key: String(row['key']),
  target: String(row['target']),
  to: String(row['target_type']),
  by: text(row['by']),
})

/** Of `links` with the state of its row as `row_state`, its record as `record_id`, and whether its key has values as `is_accepted`. */
export const plannedLinkOfRow = (row: Row): PlannedLink => ({
  ...placeOfRow(row),
  ...edgeOfRow(row),
  column: text(row['column']),
  attempts: Number(row['attempts']),
  isReplayed: Number(row['replayed']) === 1,
  row: row['row_state'] as ItemState | null,
  isAccepted: Number(row['is_accepted'] ?? 0) === 1,
  sourceId: text(row['record_id']),
  targetId: text(row['target_id']),
})

/** Of `links` with the line of its row. */
export const reportedLinkOfRow = (row: Row): ReportedLink => ({
  ...placeOfRow(row),
  ...edgeOfRow(row),
  line: number(row['line']),
  column: text(row['column']),
  state: row['state'] as LinkState,
  attempts: Number(row['attempts']),
  sourceId: text(row['source_id']),
  targetId: text(row['target_id']),
  replacedId: text(row['replaced_id']),
  httpStatus: number(row['http_status']),
  requestId: text(row['request_id']),
  code: text(row['code']),
  reason: text(row['reason']),
  detail: text(row['detail']),
  inDoubt: Number(row['in_doubt']) === 1,
})

/** Of `known_links`. */
export const knownLinkOfRow = (row: Row): KnownLink => ({
  ...edgeOfRow(row),
  state: row['state'] as KnownLinkState,
  sourceId: text(row['source_id']),
  targetId: text(row['target_id']),
  run: Number(row['run']),
  isCompared: Number(row['is_compared']) === 1,
})
