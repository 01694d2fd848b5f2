// Staging links: one row for each link that a row asks for, then decisions by SQL, slice by slice.

import { LEDGER_ROWS_MAX } from '../../../core/limits.ts'
import type {
  LinkBounds,
  LinkStaging,
  OvertakenReason,
  StagedLink,
  StagedLinkCounts,
} from '../../roles/links.ts'
import type { OnSlice } from '../../roles/on-slice.ts'
import type { StagedSource } from '../../roles/staging.ts'
import type { Reliance } from '../../rules/staging.ts'
import {
  DESTINATION,
  exists,
  hasLinks,
  isSinceRestore,
  itemOf,
  knownOrder,
  type LinkEndColumn,
  type LinkSql,
} from '../link-sql.ts'
import {
  read,
  write,
  writeGiven,
  type Given,
  type Transaction,
  type TransactionRunner,
} from '../transaction.ts'
import { eachKnownSlice } from './known-slices.ts'
import { OTHER_END, OVERTAKEN } from './settling.ts'
import { addCounts, checkStage, eachSlice, SLICE, sliceValues, sumOf } from './slices.ts'

const STAGED_COLUMNS = {
  ordinal: 'integer',
  number: 'integer',
  association: 'text',
  key: 'text',
  target_type: 'text',
  target_by: 'text',
  target: 'text',
  source_column: 'text',
  state: 'text',
  reason: 'text',
  detail: 'text',
} as const

const given = (links: readonly StagedLink[]): Given => ({
  columns: STAGED_COLUMNS,
  rows: links.map(({ ordinal, number, association, key, to, by, target, column, reject }) => [
    ordinal,
    number,
    association,
    key,
    to,
    by,
    target,
    column,
    reject ? 'refused' : 'pending',
    reject?.reason ?? null,
    reject?.detail ?? null,
  ]),
})

const LINK_COLUMNS =
  'run, ordinal, number, association, key, target_type, "by", target, "column", state'

const INSERT_SQL = `INSERT INTO links (${LINK_COLUMNS}, reason, detail)
  SELECT $1, ordinal, number, association, key, target_type, target_by, target, source_column, state, reason, detail FROM given`

/** Counts links of a run that may be its first. */
const COUNT_SQL = `INSERT INTO link_steps (run, read) VALUES ($1, $2)
  ON CONFLICT (run) DO UPDATE SET read = link_steps.read + excluded.read`

const isLater = '(other.ordinal, other.number) > (links.ordinal, links.number)'

/** The row of a link is gone, or does not count. */
const REMOVE_SQL = `DELETE FROM links WHERE ${SLICE} AND links.ordinal > 0
  AND NOT ${exists(itemOf('own', 'links'), hasLinks('own'))}`

const decisions = (sql: LinkSql) => {
  const counts = exists(itemOf('own', 'other'), hasLinks('own'))
  const otherTarget = exists(
    {
      table: 'links AS other',
      on: 'other.run = later.run AND other.ordinal = later.ordinal',
    },
    `other.association = links.association AND other.target <> links.target AND other.state <> 'refused' AND ${isLater}`,
  )
  const isOf = (place: string) => sql.isOneOf('links.association', place)
  const ofEdge = sql.knownOfEdge('known', DESTINATION, 'links')
  const linked = (run: string) =>
    exists(
      sql.knownOfEdge('known', DESTINATION, 'links'),
      `known.state = 'linked' AND known.left_source = 0 AND known.run ${run}`,
    )
  return {
    repeated: `DELETE FROM links WHERE ${SLICE}
      AND ${exists(sql.linksOfEdge('other', 'links.run', 'links'), `${isLater} AND ${counts}`)}`,
    oneTarget: `UPDATE links SET state = 'not_wanted', reason = 'one_target' WHERE ${SLICE} AND state = 'pending'
      AND ${isOf('$6')} AND ${exists(
        sql.itemsOfKey('later', 'links.run', 'links.key'),
        `later.ordinal >= links.ordinal AND ${hasLinks('later')} AND ${otherTarget}`,
      )}`,
    oneSource: `UPDATE links SET state = 'not_wanted', reason = 'one_source' WHERE ${SLICE} AND state = 'pending'
      AND ${isOf('$6')} AND ${exists(
        sql.linksOfTarget('other', 'links.run', 'links'),
        `other.key <> links.key AND other.state <> 'refused' AND ${isLater} AND ${counts}`,
      )}`,
    unchanged: `UPDATE links SET state = 'unchanged' WHERE ${SLICE} AND state = 'pending' AND ${linked('> $6')}`,
    /** Of associations that allow one: which records they are linked between. */
    ends: `UPDATE links SET (source_id, target_id) = (SELECT known.source_id, known.target_id FROM ${ofEdge.table} WHERE ${ofEdge.on})
      WHERE ${SLICE} AND state = 'unchanged' AND ${isOf('$6')}`,
    /** Of unchanged links that cannot be next to each other it is not known which one is there: the last one is sent again. */
    rivals: {
      oneTarget: rivalTexts(sql, 'source_id', 'one_target'),
      oneSource: rivalTexts(sql, 'target_id', 'one_source'),
    },
    distrusted: `SELECT count(*) AS links FROM links WHERE ${SLICE} AND state = 'pending' AND ${linked('<= $6')}`,
  }
}

function rivalTexts(sql: LinkSql, end: LinkEndColumn, reason: OvertakenReason) {
  const other = (fits: string) =>
    exists(
      sql.linksOfEnd('other', 'links.run', 'links', end),
      `other.association = links.association AND other.${OTHER_END[end]} <> links.${OTHER_END[end]} AND ${fits}`,
    )
  const from = `WHERE ${SLICE} AND state = 'unchanged' AND ${sql.isOneOf('links.association', '$6')}`
  return {
    skip: `UPDATE links SET state = 'not_wanted', reason = '${reason}', detail = '${OVERTAKEN}' ${from}
      AND ${other(`other.state = 'unchanged' AND ${isLater}`)}`,
    plan: `UPDATE links SET state = 'pending' ${from} AND ${other(`other.state = 'not_wanted' AND NOT ${isLater}`)}`,
  }
}

/** After all slices are decided; changes the counts of the slice. */
function* settleRivals(
  sql: LinkSql,
  text: ReturnType<typeof decisions>,
  slice: readonly number[],
  bounds: LinkBounds,
): Transaction<{ planned: number; unchanged: number; not_wanted: number }> {
  let [not_wanted, planned] = [0, 0]
  for (const name of ['oneTarget', 'oneSource'] as const) {
    if (bounds[name].length === 0) continue
    const values = [...slice, sql.list(bounds[name])]
    not_wanted += yield* write(text.rivals[name].skip, values)
    planned += yield* write(text.rivals[name].plan, values)
  }
  const counted = { planned, unchanged: -planned - not_wanted, not_wanted }
  yield* addCounts(slice[0]!, { ...counted, open: planned })
  return counted
}

/** Decides about the links of a slice. */
function* decideSlice(
  sql: LinkSql,
  text: ReturnType<typeof decisions>,
  slice: readonly number[],
  { relied, bounds }: { readonly relied: Reliance; readonly bounds: LinkBounds },
): Transaction<Required<StagedLinkCounts>> {
  const run = slice[0]!
  const removed = (yield* write(REMOVE_SQL, slice)) + (yield* write(text.repeated, slice))
  for (const name of ['oneTarget', 'oneSource'] as const)
    if (bounds[name].length > 0) yield* write(text[name], [...slice, sql.list(bounds[name])])
  const single = [...bounds.oneTarget, ...bounds.oneSource]
  if (relied) yield* write(text.unchanged, [...slice, relied.after])
  if (relied && single.length > 0) yield* write(text.ends, [...slice, sql.list(single)])
  const [doubted] =
    relied && relied.restored > 0 ? yield* read(text.distrusted, [...slice, relied.restored]) : []
  const counted = { planned: 0, unchanged: 0, not_wanted: 0, refused: 0 }
  const states = yield* read(
    `SELECT ${COUNTER} AS counter, count(*) AS links FROM links WHERE ${SLICE} GROUP BY state`,
    slice,
  )
  for (const row of states) counted[row['counter'] as keyof typeof counted] = Number(row['links'])
  yield* addCounts(run, { ...counted, open: counted.planned, read: -removed })
  return { ...counted, distrusted: Number(doubted?.['links'] ?? 0) }
}

const STAGED = ['planned', 'unchanged', 'not_wanted', 'refused', 'distrusted'] as const
/** The counter of a staged link. */
const COUNTER = "CASE state WHEN 'pending' THEN 'planned' ELSE state END"
const NO_BOUNDS: LinkBounds = { oneTarget: [], oneSource: [] }

/** What staging of rows does about their links. */
export function linkDecisions(db: TransactionRunner, sql: LinkSql) {
  const text = decisions(sql)
  const hasStaged = (run: number) =>
    db.transact(function* () {
      const [row] = yield* read('SELECT read FROM link_steps WHERE run = $1', [run])
      return Number(row?.['read'] ?? 0) > 0
    })
  return {
    /** After the items are decided; undefined if no links were staged. */
    async decide(
      run: number,
      fence: number,
      { linkBounds: bounds = NO_BOUNDS }: StagedSource,
      relied: Reliance,
      onSlice: OnSlice | undefined,
    ): Promise<StagedLinkCounts | undefined> {
      if (!(await hasStaged(run))) return undefined
      await db.transact(function* () {
        yield* checkStage(sql, run, fence)
        // An interrupted call is repeated.
        yield* write(
          'UPDATE link_steps SET planned = 0, unchanged = 0, not_wanted = 0, refused = 0, open = 0 WHERE run = $1',
          [run],
        )
      })
      const found = await eachSlice(
        db,
        run,
        function* (slice) {
          yield* checkStage(sql, run, fence)
          return yield* decideSlice(sql, text, sliceValues(run, slice), { relied, bounds })
        },
        { onSlice },
      )
      const { refused, distrusted, ...before } = sumOf(found, STAGED)
      const counts = { ...before }
      if (before.unchanged > 1 && bounds.oneTarget.length + bounds.oneSource.length > 0) {
        const settled = await eachSlice(
          db,
          run,
          function* (slice) {
            yield* checkStage(sql, run, fence)
            return yield* settleRivals(sql, text, sliceValues(run, slice), bounds)
          },
          { onSlice },
        )
        const changed = sumOf(settled, ['planned', 'unchanged', 'not_wanted'])
        for (const name of ['planned', 'unchanged', 'not_wanted'] as const)
          counts[name] += changed[name]
      }
      const some = { ...(refused > 0 && { refused }), ...(distrusted > 0 && { distrusted }) }
      return { ...counts, ...some }
    },

    /** Removes the links of items that a sample has not kept. */
    async dropOrphans(run: number, fence: number): Promise<void> {
      if (!(await hasStaged(run))) return
      await eachSlice(db, run, function* (slice) {
        yield* checkStage(sql, run, fence)
        const removed = yield* read(
          `${REMOVE_SQL} RETURNING ${COUNTER} AS counter`,
          sliceValues(run, slice),
        )
        const deltas = { planned: 0, unchanged: 0, not_wanted: 0, refused: 0 }
        for (const row of removed) deltas[row['counter'] as keyof typeof deltas]--
        yield* addCounts(run, { ...deltas, open: deltas.planned, read: -removed.length })
      })
    },
  }
}
export type LinkDecisions = ReturnType<typeof linkDecisions>

export const linkStaging = (db: TransactionRunner, sql: LinkSql): LinkStaging => ({
  async stageLinks(run, fence, links) {
    if (links.length === 0) return
    await db.transact(function* () {
      yield* checkStage(sql, run, fence)
      yield* writeGiven(given(links), INSERT_SQL, [run])
      yield* write(COUNT_SQL, [run, links.length])
    })
  },

  async carryLinks(run, fence, { of, bounds = NO_BOUNDS }, onSlice) {
    const isUnread =
      of === 'all left' ? '' : `AND NOT ${exists(sql.itemsOfKey('own', '$1', 'known.key'))}`
    const { table, on } = sql.knownLeft('known', DESTINATION)
    const newer = exists(
      sql.knownOfKey('other', DESTINATION, 'known.key'),
      `other.association = known.association AND (other.run > known.run OR other.run = known.run AND other.target > known.target)`,
    )
    await eachKnownSlice(
      db,
      sql,
      { run, found: sql.knownLeft('known', DESTINATION), rows: LEDGER_ROWS_MAX, onSlice },
      function* ({ range, values }) {
        yield* checkStage(sql, run, fence)
        const [row] = yield* read(
          'SELECT coalesce(max(number), 0) AS last FROM links WHERE run = $1 AND ordinal = 0',
          [run],
        )
        // The values behind those of the range.
        const [last, single] = [1, 2].map((behind) => `$${values.length + behind}`) as [
          string,
          string,
        ]
        const carried = yield* write(
          `INSERT INTO links (${LINK_COLUMNS})
           SELECT $1, 0, CAST(${last} AS integer) + CAST(row_number() OVER (ORDER BY ${knownOrder(sql, 'known')}) AS integer), known.association, known.key,
             known.target_type, known."by", known.target, known."column", 'pending'
           FROM ${table} WHERE ${on} AND ${range} AND ${isSinceRestore('known')} ${isUnread}
             AND NOT ${exists(sql.linksOfEdge('other', '$1', 'known'))}
             AND NOT (${sql.isOneOf('known.association', single)} AND ${newer})`,
          [...values, Number(row?.['last']), sql.list(bounds.oneTarget)],
        )
        if (carried === 0) return
        yield* write(COUNT_SQL, [run, carried])
        yield* addCounts(run, { planned: carried, open: carried })
      },
    )
    return await db.transact(function* () {
      const [row] = yield* read(
        'SELECT count(*) AS links FROM links WHERE run = $1 AND ordinal = 0',
        [run],
      )
      return Number(row?.['links'])
    })
  },
})
