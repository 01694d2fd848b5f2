// What a plan changes, for a person: totals by verdict and by property, and the first rows as a diff. Values of rows are shown on a
// screen alone: what is not one may be a log.

import type { KeptCounts } from '../../core/domain/books.ts'
import { writesOverText } from '../../core/domain/spared.ts'
import { ROW_VERDICTS, verdictMeaning, type RowVerdict } from '../../core/domain/row-changes.ts'
import type { Json } from '../../core/json.ts'
import type {
  LookedUp,
  LookUpBounds,
  PlannedChange,
  PropertyTotal,
  UndoneChange,
} from '../../import/index.ts'
import { changedValueText } from '../../report/plan-rows.ts'
import { countText, formatNumber, safeText, table, type Terminal } from '../shared/terminal.ts'
import type { ImportPlan } from './import-plan.ts'

/** What is kept of a plan with a look-up, next to the images of its rows. */
export interface KeptPlan {
  readonly plan: ImportPlan
  readonly lookedUp: LookedUp
  readonly bounds: LookUpBounds
  readonly verdicts: Readonly<Record<RowVerdict, number>>
  readonly properties: readonly PropertyTotal[]
  readonly writtenOver: KeptCounts | null
}

/** Rows of each verdict that are shown as a diff, and those that are only named. */
const ROWS_SHOWN = 3
const KEYS_SHOWN = 5
const PROPERTIES_SHOWN = 10
const TOTALS_SHOWN = 20
const VALUE_CHARS = 60
const KEY_CHARS = 80

/** `Looked up 500 of 10,000 rows to send, with 5 requests (--sample 500): what the others do is not known.` */
export function lookedUpText({ lookedUp, bounds }: Pick<KeptPlan, 'lookedUp' | 'bounds'>): string {
  const { rows, planned, requests } = lookedUp
  const { sample, limitRequests } = bounds
  const options = [
    ...(sample === undefined ? [] : [`--sample ${sample}`]),
    ...(limitRequests === undefined ? [] : [`--limit-requests ${limitRequests}`]),
  ]
  const text = `Looked up ${formatNumber(rows)} of ${countText(planned, 'row')} to send, with ${countText(requests, 'request')}`
  if (rows === planned) return text
  const why = options.length === 0 ? '' : ` (${options.join(', ')})`
  return `${text}${why}: what a run does with the others is not known`
}

export function printPlanTotals(terminal: Terminal, totals: KeptPlan): void {
  const { lookedUp } = totals
  const isWhole = lookedUp.rows === lookedUp.planned
  const text = lookedUpText(totals)
  terminal.out()
  terminal.out(isWhole ? text : terminal.style('yellow', text))
  printVerdicts(terminal, totals)
}

/** Rows by verdict, and those that get other values by property. */
export function printVerdicts(
  terminal: Terminal,
  { verdicts, properties, writtenOver }: Pick<KeptPlan, 'verdicts' | 'properties' | 'writtenOver'>,
): void {
  const there = ROW_VERDICTS.filter((verdict) => verdicts[verdict] > 0)
  if (there.length === 0) return
  terminal.out(
    table(
      ['a run would', 'rows', ''],
      there.map((verdict) => [verdict, verdicts[verdict], verdictMeaning(verdict)]),
    ),
  )
  if (writtenOver !== null) {
    terminal.out()
    terminal.out(terminal.style('yellow', writesOverText(writtenOver)))
  }
  if (properties.length === 0) return
  const hasKept = properties.some(({ kept = 0 }) => kept > 0)
  terminal.out()
  terminal.out(
    table(
      [
        'property of the updates',
        'rows',
        'of them cleared',
        ...(hasKept ? ['kept as others have it'] : []),
      ],
      properties
        .slice(0, TOTALS_SHOWN)
        .map(({ property, rows, cleared, kept = 0 }) => [
          safeText(property, 60),
          rows,
          cleared,
          ...(hasKept ? [kept] : []),
        ]),
    ),
  )
  const more = properties.length - TOTALS_SHOWN
  if (more > 0) terminal.out(`  and ${formatNumber(more)} more: --json has all of them`)
}

interface ChangedRow {
  readonly line: number
  readonly key: string
  readonly changes: readonly { readonly before: Json; readonly after: Json }[]
}

/** The first rows of a plan, by verdict, as they are shown; what has no place is not kept in memory. */
export class FirstChanges<
  Row extends ChangedRow = PlannedChange,
  Given extends PlannedChange | UndoneChange = PlannedChange,
> {
  readonly rows = new Map<Given['verdict'], Row[]>()
  readonly #rowsMax: number
  readonly #shown: (row: Given) => Row
  #charsLeft: number

  /** @param charsMax of all keys and values together; the last row may have more */
  constructor(rowsMax: number, charsMax: number, shown: (row: Given) => Row) {
    this.#rowsMax = rowsMax
    this.#charsLeft = charsMax
    this.#shown = shown
  }

  add(row: Given): void {
    const verdict: Given['verdict'] = row.verdict
    const rows = this.rows.get(verdict) ?? []
    if (rows.length >= this.#rowsMax || this.#charsLeft <= 0) return
    const shown = this.#shown(row)
    rows.push(shown)
    this.rows.set(verdict, rows)
    for (const { before, after } of shown.changes)
      this.#charsLeft -= charsOf(before) + charsOf(after)
    this.#charsLeft -= shown.key.length
  }

  /** Whether no further row of a plan with these counts has a place. */
  has(verdicts: Readonly<Record<Given['verdict'], number>>): boolean {
    const isFull = ([verdict, rows]: [string, unknown]) =>
      (this.rows.get(verdict as Given['verdict'])?.length ?? 0) >=
      Math.min(rows as number, this.#rowsMax)
    return this.#charsLeft <= 0 || Object.entries(verdicts).every(isFull)
  }

  /** In the order of the source. */
  get all(): readonly Row[] {
    return [...this.rows.values()].flat().toSorted((a, b) => a.line - b.line)
  }
}

const charsOf = (value: Json): number => changedValueText(value)?.length ?? 0

type Verdict = RowVerdict | UndoneChange['verdict']

const SIGNS: Readonly<Record<Verdict, readonly [sign: string, Parameters<Terminal['style']>[0]]>> =
  {
    create: ['+', 'green'],
    update: ['~', 'yellow'],
    equal: ['=', 'dim'],
    protected: ['=', 'dim'],
    changed: ['!', 'red'],
    exists: ['=', 'dim'],
    not_found: ['=', 'dim'],
    ambiguous: ['!', 'red'],
    unknown: ['?', 'yellow'],
    restore: ['~', 'yellow'],
    delete: ['-', 'red'],
    make: ['+', 'green'],
  }

/** `~ key`, in the colour of the verdict. @param key safe for a terminal */
export function signedKeyText(terminal: Terminal, verdict: Verdict, key: string): string {
  const [sign, style] = SIGNS[verdict]
  return terminal.style(style, `${sign} ${key}`)
}

interface ShownRow extends Pick<PlannedChange, 'line' | 'key' | 'changes'> {
  readonly verdict: Verdict
}

/** The first rows of each verdict, as a diff. */
export function printFirstChanges(
  terminal: Terminal,
  first: { readonly all: readonly ShownRow[] },
  verdicts: Readonly<Partial<Record<Verdict, number>>>,
): void {
  const there = Object.entries(verdicts).filter(([, rows]) => rows > 0)
  if (there.length === 0) return
  if (!terminal.isScreen) {
    terminal.out()
    terminal.out('No row is shown here, as this is no terminal: --out FILE writes all of them')
    return
  }
  for (const [name, all] of there) {
    const verdict = name as Verdict
    const rows = first.all.filter((row) => row.verdict === verdict)
    const shows = rows.some(({ changes }) => changes.length > 0)
    const shown = rows.slice(0, shows ? ROWS_SHOWN : KEYS_SHOWN)
    if (shown.length === 0) continue
    terminal.out()
    const which = shown.length < all ? `the first ${formatNumber(shown.length)} of ` : ''
    terminal.out(terminal.style('bold', `${verdict}, ${which}${countText(all, 'row')}`))
    for (const { key, line, changes } of shown) {
      const name = signedKeyText(terminal, verdict, safeText(key, KEY_CHARS))
      terminal.out(line > 0 ? `${name}  ${terminal.style('dim', `line ${line}`)}` : name)
      for (const change of changes.slice(0, PROPERTIES_SHOWN))
        terminal.out(`    ${changeText(terminal, verdict, change)}`)
      const more = changes.length - PROPERTIES_SHOWN
      if (more > 0) terminal.out(`    and ${countText(more, 'more property', 'more properties')}`)
    }
  }
}

/** Verdicts whose properties have a value before, and another one that the row has. */
const HAS_BOTH: readonly Verdict[] = ['update', 'protected', 'changed', 'restore']

/** `svc_phone: old → new` */
export function changeText(
  terminal: Terminal,
  verdict: Verdict,
  { property, before, after, kept }: PlannedChange['changes'][number],
): string {
  const name = safeText(property, VALUE_CHARS)
  const to = shown(terminal, 'green', after)
  if (kept)
    return `${name}: ${shown(terminal, 'red', before)} stays, because others changed it (the row has ${to})`
  return `${name}: ${HAS_BOTH.includes(verdict) ? `${shown(terminal, 'red', before)} → ${to}` : to}`
}

const shown = (terminal: Terminal, style: 'red' | 'green', value: Json): string => {
  const text = changedValueText(value)
  return text === null
    ? terminal.style('dim', '(none)')
    : terminal.style(style, safeText(text, VALUE_CHARS))
}
