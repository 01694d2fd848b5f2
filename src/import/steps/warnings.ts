// What a person should know about a run that was staged, one line each.

import { formatNumber } from '../../core/format.ts'
import { joinWords } from '../../core/suggest.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { RowStaging, Runs, StageCounts } from '../../ledger/ledger.ts'
import type { Target } from '../mapping/target.ts'
import { typeOfProperty } from '../mapping/types.ts'

/** The type by which the keys of an import are compared. */
export function keyTypeOf(config: ImportConfig, { schema }: Target): string {
  const name = config.matching_property
  const served = schema.properties.find((property) => property.name === name)?.field_type
  return typeOfProperty(config, name, served ?? 'text')
}

const rows = (count: number): string => (count === 1 ? '1 row' : `${formatNumber(count)} rows`)

/** @param isExact whether capitals make another key, although their type is one that some services fold */
export async function keyWarnings(
  ledger: Pick<RowStaging, 'keyCounts'>,
  run: number,
  { counts, isExact }: { counts: StageCounts; isExact: boolean },
): Promise<readonly string[]> {
  const { loose, merged, variants } = await ledger.keyCounts(run)
  const { newer = 0, gone = 0, older = 0, unknown = 0, distrusted = 0 } = counts
  const superseded = counts.superseded - newer - gone - older
  const texts = [
    distrusted > 0 &&
      `${rows(distrusted)} ${distrusted === 1 ? 'is' : 'are'} sent again although the ledger has ${distrusted === 1 ? 'it' : 'them'} as accepted: it was put back from a backup, and the service may hold newer values`,
    superseded > 0 &&
      `${rows(superseded)} superseded: a later row has the same key${
        merged > 0
          ? `, ${formatNumber(merged)} of them written otherwise (space around it, characters that cannot be seen, or another form of Unicode)`
          : ''
      }`,
    newer > 0 &&
      `${rows(newer)} left out: a row with the same key that was read later is brought in already, or may be where its answer was lost, and nothing older is written over it`,
    gone > 0 &&
      `${rows(gone)} left out: a later reading of the source ${gone === 1 ? 'lacks it, or asks for the deletion of its record' : 'lacks them, or asks for the deletion of their records'}; put ${gone === 1 ? 'the row' : 'the rows'} back into the source, and a run sends ${gone === 1 ? 'it' : 'them'}`,
    older > 0 &&
      `${rows(older)} left out: a row with the same key and a greater watermark was accepted, and nothing older is written over it; backfill --overwrite-newer sends ${older === 1 ? 'it' : 'them'}`,
    unknown > 0 &&
      `${rows(unknown)} sent without knowing whether something newer was accepted for their key: no watermark is kept of what was, because another source, or a row without a value, wrote it`,
    loose > 0 &&
      `${rows(loose)} with a key that has space around it, characters that cannot be seen, or another form of Unicode: it is sent without, unless the service has a record under that very form only`,
    isExact &&
      variants > 0 &&
      `${rows(variants)} with a key that differs from another one in capitals only: the service does not show that it takes them for the same, so each has a record of its own`,
  ]
  return texts.filter((text) => text !== false)
}

/** What neither answers nor rows that are read back are compared in: `equal` says nothing of it. */
export function notComparedText(config: ImportConfig): string[] {
  const names = Object.keys(config.properties).filter(
    (name) => config.properties[name]!.compare === false,
  )
  return names.length === 0
    ? []
    : [`not compared, because of \`compare: false\`: ${joinWords(names.toSorted())}`]
}

/** Earlier runs that are searched for one that read rows. */
const CHECKED_MAX = 100

/** Of a complete read without rows: a broken export looks the same as an empty one. */
export async function emptySourceWarning(
  ledger: Pick<Runs, 'runs'>,
  sync: string,
  run: number,
): Promise<readonly string[]> {
  const earlier = await ledger.runs({ sync, limit: CHECKED_MAX })
  const last = earlier.find(
    ({ id, mode, purpose, rowsRead }) =>
      // Numbers of plans are negative: every run is earlier than a plan.
      (run < 0 || id < run) && mode === 'run' && purpose === 'sync' && (rowsRead ?? 0) > 0,
  )
  const before =
    last === undefined
      ? ''
      : `; run ${last.id} read ${formatNumber(last.rowsRead!)}: did its export break?`
  return [`the source has no rows${before}`]
}
