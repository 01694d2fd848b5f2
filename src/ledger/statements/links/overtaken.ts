// Links of a run that may not be sent: a later one has the only place that their records have. Of a retry this is also one of the run
// that is retried, or of a run since.

import type { LinkBounds, LinkPlace, LinkWithEnds, OvertakenReason } from '../../roles/links.ts'
import { placeOfRow } from '../../rows/links.ts'
import { exists, type LinkEndColumn, type LinkSql } from '../link-sql.ts'
import { readGiven, type Given, type Transaction } from '../transaction.ts'
import { OTHER_END } from './settling.ts'

const COLUMNS = {
  run: 'integer',
  ordinal: 'integer',
  number: 'integer',
  association: 'text',
  source_id: 'text',
  target_id: 'text',
} as const

/** `$1`: the associations that allow one record at the other end, or at any. */
export const overtakenTexts = (
  sql: LinkSql,
): Readonly<Record<LinkEndColumn | 'retried', string>> => {
  const ofEnd = (end: LinkEndColumn) => `SELECT given.ordinal, given.number FROM given
    WHERE ${sql.isOneOf('given.association', '$1')} AND ${exists(
      sql.linksOfEnd('other', 'given.run', 'given', end),
      `other.association = given.association AND other.${OTHER_END[end]} <> given.${OTHER_END[end]}
         AND other.state IN ('linked', 'unchanged', 'in_flight') AND (other.ordinal, other.number) > (given.ordinal, given.number)`,
    )}`
  const retried = `SELECT given.ordinal, given.number, before.reason FROM given
      JOIN runs ON runs.id = given.run
      JOIN items ON items.run = given.run AND items.ordinal = given.ordinal
      JOIN links AS own ON own.run = given.run AND own.ordinal = given.ordinal AND own.number = given.number
      JOIN links AS before ON before.run = runs.of_run AND before.ordinal = items.of_ordinal
        AND before.association = own.association AND before.target = own.target
    WHERE ${sql.isOneOf('given.association', '$1')} AND before.state = 'not_wanted'
      AND before.reason IN ('one_target', 'one_source')`
  // Of runs since the one that is retried; the place that a retry of it gave is that of a row of the same run.
  const sinceAt = (end: LinkEndColumn) => `SELECT given.ordinal, given.number FROM given
      JOIN runs ON runs.id = given.run AND runs.purpose = 'retry'
    WHERE ${sql.isOneOf('given.association', '$1')} AND ${exists(
      sql.knownOfRecord('known', end, `given.${end}`),
      `known.destination = runs.destination AND known.association = given.association AND known.run > runs.of_run
         AND known.${OTHER_END[end]} <> given.${OTHER_END[end]} AND EXISTS (SELECT 1 FROM runs AS later
           WHERE later.id = known.run AND later.id <> runs.id AND later.purpose <> 'retry')`,
    )}`
  return {
    source_id: `${ofEnd('source_id')} UNION ${sinceAt('source_id')}`,
    target_id: `${ofEnd('target_id')} UNION ${sinceAt('target_id')}`,
    retried,
  }
}

export function* findOvertaken(
  sql: LinkSql,
  texts: ReturnType<typeof overtakenTexts>,
  run: number,
  links: readonly LinkWithEnds[],
  { oneTarget, oneSource }: LinkBounds,
): Transaction<(LinkPlace & { reason: OvertakenReason })[]> {
  const given = (names: readonly string[]): Given => ({
    columns: COLUMNS,
    rows: links
      .filter(({ association }) => names.includes(association))
      .map((link) => [
        run,
        link.ordinal,
        link.number,
        link.association,
        link.sourceId,
        link.targetId,
      ]),
  })
  const ofTarget = yield* readGiven(given(oneTarget), texts.source_id, [sql.list(oneTarget)])
  const ofSource = yield* readGiven(given(oneSource), texts.target_id, [sql.list(oneSource)])
  const bound = [...new Set([...oneTarget, ...oneSource])]
  const ofRetried = yield* readGiven(given(bound), texts.retried, [sql.list(bound)])
  return [
    ...ofRetried.map((row) => ({
      ...placeOfRow(row),
      reason: row['reason'] as OvertakenReason,
    })),
    ...ofTarget.map((row) => ({ ...placeOfRow(row), reason: 'one_target' as const })),
    ...ofSource.map((row) => ({ ...placeOfRow(row), reason: 'one_source' as const })),
  ]
}
