// What differs: by property first, then record by record, ours beside theirs.

import { DIFFERENCE_KINDS } from '../../core/domain/differences.ts'
import { html, type Markup } from '../../report/escape.ts'
import { comparisonPart } from '../../report/parts/comparison.ts'
import { part } from '../../report/parts/part.ts'
import { changesTable, type PlanPageRow } from '../../report/plan-rows.ts'
import { TEXT } from '../texts.ts'
import type { DifferencesView } from '../views/differences.ts'
import { chooser, inPath, stepsOf, valuesNote } from './parts.ts'
import { runHead } from './run.ts'

const { differing } = TEXT

export function differencesMain(data: DifferencesView): Markup {
  const { comparison, found, next, run } = data
  return html`${runHead(data, 'differences')}
    <p class="lead note">${leadOf(data)}</p>
    ${found > 0 && stepsOf(next)} ${comparison !== null && comparisonPart(comparison, run.kind)}
    ${found > 0 && recordsPart(data)}`
}

function leadOf({ from, found, left, read_back: readBack, run }: DifferencesView): string {
  if (from === 'reconciliation')
    return found === 0 ? differing.none : differing.found(found, found - left)
  if (run.kind === 'mirror') return differing.ofMirror
  if (readBack === null || readBack === 0) return differing.notReadBack
  return found === 0 ? differing.asSent(readBack) : differing.otherwise(found, readBack)
}

/** The address of the page with another filter. */
function shownAt(
  { run: { run } }: DifferencesView,
  { kind, property, left }: DifferencesView['filter'],
  after?: number,
): string {
  const query = [
    ...(kind === null ? [] : [`kind=${inPath(kind)}`]),
    ...(property === null ? [] : [`property=${inPath(property)}`]),
    ...(left ? ['left=1'] : []),
    ...(after === undefined ? [] : [`after=${after}`]),
  ]
  return `/runs/${run}/differences${query.length > 0 ? `?${query.join('&')}` : ''}#records`
}

function recordsPart(data: DifferencesView): Markup {
  const { differences, filter, next_after: next, values, from, run, commands } = data
  const isCompared = from === 'reconciliation'
  const heads = !isCompared
    ? [differing.said]
    : run.kind === 'import'
      ? differing.importHeads
      : differing.mirrorHeads
  return part(
    'records',
    isCompared ? differing.records : differing.rows,
    null,
    html`${valuesNote(values, commands.show)} ${isCompared && filterForm(data)}
    ${changesTable(recordsOf(data), { heads, areHidden: values === 'hidden', isChange: false })}
    ${differences.length === 0 && html`<p class="note">${differing.noneSo}</p>`}
    ${
      next !== null &&
      html`<p class="note"><a href="${shownAt(data, filter, next)}">${differing.next}</a></p>`
    }`,
  )
}

function filterForm({ run, comparison, filter }: DifferencesView): Markup {
  const kinds = DIFFERENCE_KINDS.filter((kind) => (comparison?.found[kind] ?? 0) > 0)
  const fields = comparison?.fields.flatMap(({ field }) => field ?? []) ?? []
  const others =
    filter.property === null || fields.includes(filter.property) ? [] : [filter.property]
  return html`<form class="filter" action="/runs/${run.run}/differences#records">
    ${chooser('kind', differing.kind, kinds, filter.kind)}
    ${chooser('property', TEXT.property, [...new Set([...fields, ...others])], filter.property)}
    ${chooser('left', differing.left, [['1', differing.onlyLeft]], filter.left ? '1' : null)}
    <button>${TEXT.plans.show}</button>
  </form>`
}

/** Differences of one record come one after another. */
function recordsOf({ differences }: DifferencesView): PlanPageRow[] {
  const records = new Map<string, DifferencesView['differences']>()
  for (const one of differences) {
    const id = JSON.stringify([one.stream, one.key, one.record_id, one.row])
    records.set(id, [...(records.get(id) ?? []), one])
  }
  return [...records.values()].map((all) => {
    const { stream, key, record_id: record, row, kind, meaning, repaired } = all[0]!
    return {
      line: null,
      key: key ?? record ?? '–',
      recordId: record,
      about: [
        kind,
        ...(stream === null ? [] : [stream]),
        ...(row === null ? [] : [differing.row(row)]),
      ].join(', '),
      note: `${meaning}${repaired ? `; ${differing.repaired}` : ''}`,
      changes: all.flatMap(changeOf),
      ...(key !== null
        ? { href: `/rows?key=${inPath(key)}` }
        : record !== null && { href: `/rows?record=${inPath(record)}` }),
    }
  })
}

function changeOf(one: DifferencesView['differences'][number]): PlanPageRow['changes'][number][] {
  const { property, ours, theirs, detail, changed_by: by, repaired } = one
  if (property === null && detail === null) return []
  const said = [
    ...(by === null ? [] : [differing.by(by)]),
    ...(repaired ? [differing.repaired] : []),
  ].join(', ')
  return [
    {
      property: property ?? '–',
      before: theirs,
      after: detail ?? ours,
      said: said === '' ? differing.differs : said,
      isNoted: said !== '',
    },
  ]
}
