// What the outcome of a link changes: the link itself, what is known of it, and what is known of those that it takes the place of.

import type { LinkState } from '../../../core/domain/outcomes.ts'
import { zeroCounts } from '../../../core/register.ts'
import { isMaybeWrittenSql } from '../../rules/settlement.ts'
import type { LinkBounds, LinkOutcome, OvertakenReason } from '../../roles/links.ts'
import { knownStateSql, leftLinkStates, openLinkStates } from '../../rows/links.ts'
import { text, type Row } from '../../rows/values.ts'
import { DESTINATION, type FoundRows, type LinkEndColumn, type LinkSql } from '../link-sql.ts'
import { readGiven, writeGiven, type Given, type Transaction } from '../transaction.ts'
import { takenRecords, takeRecordPlace } from './known-ends.ts'
import { addCounts, type LinkDeltas } from './slices.ts'

const SETTLED_COLUMNS = {
  run: 'integer',
  ordinal: 'integer',
  number: 'integer',
  state: 'text',
  source_id: 'text',
  target_id: 'text',
  http_status: 'integer',
  request_id: 'text',
  code: 'text',
  reason: 'text',
  detail: 'text',
} as const

const given = (run: number, links: readonly LinkOutcome[]): Given => ({
  columns: SETTLED_COLUMNS,
  rows: links.map((link) => [
    run,
    link.ordinal,
    link.number,
    link.state,
    link.sourceId,
    link.targetId,
    link.httpStatus,
    link.requestId,
    link.code,
    link.reason,
    link.detail,
  ]),
})

const PLACES = { run: 'integer', ordinal: 'integer', number: 'integer' } as const
const IS_GIVEN =
  'links.run = given.run AND links.ordinal = given.ordinal AND links.number = given.number'

/** Only an open link is settled. An answer of 500 or 503 leaves open whether it was linked. */
const SETTLE_SQL = `UPDATE links SET state = given.state, source_id = coalesce(given.source_id, links.source_id),
    target_id = coalesce(given.target_id, links.target_id), http_status = given.http_status, request_id = given.request_id,
    code = given.code, reason = given.reason, detail = given.detail,
    attempts = links.attempts + CASE WHEN given.http_status IS NULL THEN 0 ELSE 1 END,
    in_doubt = CASE WHEN given.state = 'outcome_unknown' AND coalesce(given.http_status, 500) >= 500 THEN 1 ELSE 0 END,
    replayed = CASE WHEN given.http_status IS NOT NULL AND ${isMaybeWrittenSql('given.state', 'given.http_status')} THEN 1 ELSE links.replayed END
  FROM given WHERE ${IS_GIVEN} AND links.state IN (${openLinkStates})
  RETURNING links.ordinal, links.number, links.state, links.association, links.key, links.target`

const EDGES = { key: 'text', target: 'text', association: 'text' } as const
/** The counters of links that left an open state. */
const SETTLED_COUNTERS = [
  'linked',
  'unchanged',
  'target_missing',
  'not_wanted',
  'refused',
  'outcome_unknown',
  'not_sent',
] as const satisfies readonly LinkState[]
const REPLACED_COLUMNS = { ...PLACES, replaced_id: 'text' } as const
const REPLACED_SQL = `UPDATE links SET replaced_id = given.replaced_id FROM given WHERE ${IS_GIVEN}`

/** A link that was not sent does not show that it is linked no more. */
const noteConflict = (hashed: LinkSql['hashed']): string => `
  ON CONFLICT (destination, ${hashed('key')}, ${hashed('target')}, association) DO UPDATE SET
    target_type = excluded.target_type, "by" = excluded."by", "column" = excluded."column", state = excluded.state,
    source_id = excluded.source_id, target_id = excluded.target_id, one_source = excluded.one_source, run = excluded.run,
    left_source = 0
  WHERE NOT (excluded.state = 'not_sent' AND known_links.state = 'linked')`

/**
 * Notes what is known of links that `from` gives, as `links` and `runs`.
 * @param state of the link, as SQL
 * @param oneSource whether its target may have one source, as SQL
 */
export const noteKnownSql = (
  { hashed }: LinkSql,
  from: string,
  state: string,
  oneSource: string,
): string => `INSERT INTO known_links (destination, key, target, association, target_type, "by", "column", state, source_id,
    target_id, one_source, run)
  SELECT runs.destination, links.key, links.target, links.association, links.target_type, links."by", links."column",
    ${knownStateSql(state)}, links.source_id, links.target_id, ${oneSource}, links.run
  ${from} ${noteConflict(hashed)}`

/** The bound by which two links with the same record at this end cannot be next to each other. */
const BOUND_OF_END = { source_id: 'one_target', target_id: 'one_source' } as const
export const OTHER_END = { source_id: 'target_id', target_id: 'source_id' } as const

/** Why a link does not count any more. */
export const OVERTAKEN = 'a later link of the run has the same record in this place'

export type SettlingTexts = ReturnType<typeof settlingTexts>

export function settlingTexts(sql: LinkSql) {
  const { join } = sql
  const fromGiven = `FROM given ${join} links ON ${IS_GIVEN} ${join} runs ON runs.id = links.run`
  const isOneSource = `CASE WHEN ${sql.isOneOf('links.association', '$1')} THEN 1 ELSE 0 END`
  /** Of another record at the end that both have, it was not there any more. */
  const taken = (found: FoundRows, one: 'target' | 'key', recordId: LinkEndColumn) =>
    `SELECT links.ordinal, links.number, links.state, old.key, old.target, old.association,
       CASE WHEN old.${OTHER_END[recordId]} <> links.${OTHER_END[recordId]} THEN 'gone' ELSE old.state END AS old_state,
       old.${recordId} AS record_id
     ${fromGiven} ${sql.joined(
       found,
       'old',
       'old.key, old.target, old.association, old.state, old.source_id, old.target_id',
     )}
     WHERE ${sql.isOneOf('links.association', '$1')} AND old.association = links.association AND old.${one} <> links.${one}`
  const edge = 'links.key, links.target, links.association'
  /** Links of the run that have the same record at this end, and another one at the other. `$1`: the associations that allow one. */
  const rivals = (
    end: LinkEndColumn,
  ) => `SELECT links.ordinal, links.number, other.ordinal AS other_ordinal, other.number AS other_number,
      other.key, other.target, other.association, other.state AS old_state, other.${OTHER_END[end]} AS record_id
    FROM given ${join} links ON ${IS_GIVEN}
    ${sql.joined(
      sql.linksOfEnd('other', 'links.run', 'links', end),
      'other',
      'other.ordinal, other.number, other.key, other.target, other.association, other.state, other.source_id, other.target_id',
    )}
    WHERE ${sql.isOneOf('links.association', '$1')} AND other.association = links.association
      AND other.${OTHER_END[end]} <> links.${OTHER_END[end]} AND other.state IN ('linked', 'unchanged', 'not_wanted')`
  return {
    /** `$1`: the associations that allow one source. */
    note: noteKnownSql(
      sql,
      `${fromGiven} WHERE ${knownStateSql('links.state')} IS NOT NULL`,
      'links.state',
      isOneSource,
    ),
    forget: sql.deleteKnown(
      `SELECT runs.destination, ${edge} ${fromGiven}`,
      `known.state IN (${leftLinkStates})`,
    ),
    /** `$1`: the run. */
    remove: sql.deleteKnown(
      `SELECT ${DESTINATION} AS destination, given.key, given.target, given.association FROM given`,
      'true',
    ),
    takenTargets: taken(
      sql.knownOfKey('old', 'runs.destination', 'links.key'),
      'target',
      'target_id',
    ),
    takenSources: taken(sql.knownOfTarget('old', 'runs.destination', 'links'), 'key', 'source_id'),
    rivalTargets: rivals('source_id'),
    rivalSources: rivals('target_id'),
    ...takenRecords(sql, fromGiven),
  }
}

const places = (run: number, links: readonly Row[]): Given => ({
  columns: PLACES,
  rows: links.map((row) => [run, Number(row['ordinal']), Number(row['number'])]),
})

const edgeText = (row: Row): string =>
  JSON.stringify([row['association'], row['key'], row['target']])
/** In the order of places. */
const placeNumber = (row: Row): number => Number(row['ordinal']) * 2 ** 21 + Number(row['number'])

const edges = (links: readonly Row[]): Given => ({
  columns: EDGES,
  rows: links.map((row) => [String(row['key']), String(row['target']), String(row['association'])]),
})

/** Stores whose place links have taken, one for each; returns their places. */
function* noteReplaced(run: number, links: readonly Row[]): Transaction<readonly number[]> {
  const replaced = new Map(
    links.map((row) => [
      placeNumber(row),
      [run, Number(row['ordinal']), Number(row['number']), text(row['record_id'])] as const,
    ]),
  )
  yield* writeGiven({ columns: REPLACED_COLUMNS, rows: [...replaced.values()] }, REPLACED_SQL)
  return [...replaced.keys()]
}

/** Forgets what the new links of a group take the place of; returns the places of those that did. */
function* takePlace(
  sql: LinkSql,
  texts: SettlingTexts,
  run: number,
  links: readonly Row[],
  { oneTarget, oneSource }: LinkBounds,
): Transaction<readonly number[]> {
  const given = places(run, links)
  const taken: Row[] = []
  if (oneTarget.length > 0)
    taken.push(...(yield* readGiven(given, texts.takenTargets, [sql.list(oneTarget)])))
  if (oneSource.length > 0)
    taken.push(...(yield* readGiven(given, texts.takenSources, [sql.list(oneSource)])))
  // Of two links of a group that cannot be next to each other the later one stays.
  const placeOf = new Map(links.map((row) => [edgeText(row), placeNumber(row)]))
  const gone = taken.filter((row) => (placeOf.get(edgeText(row)) ?? 0) < placeNumber(row))
  yield* writeGiven(edges(gone), texts.remove, [run])
  const isReplaced = (row: Row) => row['state'] === 'linked' && row['old_state'] === 'linked'
  return yield* noteReplaced(run, gone.filter(isReplaced))
}

const OVERTAKEN_COLUMNS = { ...PLACES, reason: 'text' } as const
const OVERTAKE_SQL = `UPDATE links SET state = 'not_wanted', reason = given.reason, detail = '${OVERTAKEN}'
  FROM given WHERE ${IS_GIVEN} AND links.state IN ('linked', 'unchanged')`

/**
 * The links of the run whose place new links of a group have taken by their records, although other values name these: they do not
 * count any more. Returns the places of those that took the place of one that was linked.
 */
function* takeRecords(
  sql: LinkSql,
  texts: SettlingTexts,
  run: number,
  links: readonly Row[],
  { oneTarget, oneSource }: LinkBounds,
): Transaction<readonly number[]> {
  const placed = places(run, links)
  const found: { readonly row: Row; readonly reason: OvertakenReason }[] = []
  const bounds = { source_id: oneTarget, target_id: oneSource }
  for (const end of ['source_id', 'target_id'] as const) {
    if (bounds[end].length === 0) continue
    const text = end === 'source_id' ? texts.rivalTargets : texts.rivalSources
    const rows = yield* readGiven(placed, text, [sql.list(bounds[end])])
    found.push(...rows.map((row) => ({ row, reason: BOUND_OF_END[end] })))
  }
  const own = new Set(links.map(placeNumber))
  const otherPlace = (row: Row): number =>
    placeNumber({ ordinal: row['other_ordinal']!, number: row['other_number']! })
  // Of two links of a group the later one was sent last.
  const gone = found.filter(
    ({ row }) => !own.has(otherPlace(row)) || otherPlace(row) < placeNumber(row),
  )
  yield* writeGiven(edges(gone.map(({ row }) => row)), texts.remove, [run])
  const lost = new Map(gone.map((one) => [otherPlace(one.row), one]))
  const overtaken = [...lost.values()].filter(({ row }) => row['old_state'] !== 'not_wanted')
  yield* writeGiven(
    {
      columns: OVERTAKEN_COLUMNS,
      rows: overtaken.map(({ row, reason }) => [
        run,
        Number(row['other_ordinal']),
        Number(row['other_number']),
        reason,
      ]),
    },
    OVERTAKE_SQL,
  )
  const inState = (state: LinkState) =>
    overtaken.filter(({ row }) => row['old_state'] === state).length
  yield* addCounts(run, {
    linked: -inState('linked'),
    unchanged: -inState('unchanged'),
    not_wanted: overtaken.length,
  })
  const rows = overtaken.map(({ row }) => row)
  return yield* noteReplaced(run, rows)
}

/** Within the transaction that checked the fence; returns how many links took the place of another one. */
export function* settleGroup(
  sql: LinkSql,
  texts: SettlingTexts,
  run: number,
  outcomes: readonly LinkOutcome[],
  bounds: LinkBounds,
): Transaction<number> {
  const settled = yield* readGiven(given(run, outcomes), SETTLE_SQL)
  const inState = (...states: readonly LinkState[]) =>
    settled.filter((row) => states.includes(row['state'] as LinkState))
  yield* writeGiven(places(run, settled), texts.note, [sql.list(bounds.oneSource)])
  yield* writeGiven(places(run, inState('not_wanted')), texts.forget)
  const there = inState('linked', 'unchanged')
  const replaced = yield* takePlace(sql, texts, run, there, bounds)
  const overtaken = yield* takeRecords(sql, texts, run, inState('linked'), bounds)
  const elsewhere = yield* takeRecordPlace(sql, texts, run, places(run, there), bounds)
  yield* addCounts(run, deltasOf(settled))
  return new Set([...replaced, ...overtaken]).size + elsewhere
}

/** What the counters change by. */
function deltasOf(settled: readonly Row[]): LinkDeltas {
  const deltas = zeroCounts([...SETTLED_COUNTERS, 'open'])
  for (const row of settled) {
    const counter = SETTLED_COUNTERS.find((name) => name === row['state'])
    if (counter === undefined) continue
    deltas[counter]++
    deltas.open--
  }
  return deltas
}
