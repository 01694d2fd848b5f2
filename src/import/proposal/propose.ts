// From the first rows of a source and what a service says of its object types to an import: object type, matching property, and where
// each property gets its value, each with its reason. Promises kept here: it is pure; what it proposes compiles; and where the rows do
// not show how values are meant, it asks instead of guessing. No cell is in a reason.

import { formatNumber } from '../../core/format.ts'
import { partsOf } from '../mapping/cell-parts.ts'
import type { Target } from '../mapping/target.ts'
import { assignColumns, getsText, type Assignment, type Pair } from './assignment.ts'
import {
  columnFacts,
  countCells,
  fittingShare,
  type ColumnFacts,
  type SourceSample,
} from './columns.ts'
import { showsDayFirst } from './dates.ts'
import type { GuessEvidence } from './evidence.ts'
import { keyCandidates, type KeyCandidate } from './matching.ts'
import { showsDecimal } from './numbers.ts'
import type { Hints, Question, ReadingSettings } from './reading.ts'
import { namesType, sharedPrefix, wordsOfType } from './words.ts'

export interface ProposedProperty {
  readonly property: string
  readonly column: string
  readonly settings: ReadingSettings
  readonly reason: string
  /** Undefined for a key that its values alone speak for. */
  readonly evidence?: GuessEvidence
}

/** A mapping that only a person can decide on. */
export interface OpenProperty extends ProposedProperty {
  readonly question?: Question
}

export interface Proposal {
  readonly objectType: string
  readonly typeReason: string
  /** Other object types that columns fit, best first. */
  readonly otherTypes: readonly { readonly name: string; readonly columns: number }[]
  /** Null: no column says which record a row is. */
  readonly key: KeyCandidate | null
  readonly keyReason: string
  readonly otherKeys: readonly KeyCandidate[]
  /** Where there is no key: those that come nearest, each with what speaks against it. */
  readonly nearKeys: readonly (KeyCandidate & { readonly reason: string })[]
  /** The matching property first, then in the order of the file. */
  readonly properties: readonly ProposedProperty[]
  readonly open: readonly OpenProperty[]
  readonly left: readonly { readonly column: string; readonly reason: string }[]
}

export interface ProposalWishes {
  /** What the rows are called, such as the name of their file. */
  readonly name: string
  /** The matching property that a person chose, and its column. */
  readonly key?: { readonly property: string; readonly column?: string | undefined } | undefined
}

/** What the name of the file adds to the object type that it names. */
const NAMED_BONUS = 1.5
const KEY_BONUS = 0.5

/**
 * The import that fits best.
 * @param targets the object types that the key may write, at least one
 * @returns null if no column fits any of them
 */
export function proposeImport(
  sample: SourceSample,
  targets: readonly Target[],
  wishes: ProposalWishes,
): Proposal | null {
  const columns = columnFacts(sample)
  const hints = hintsOf(columns, targets)
  const ranked = targets
    .map((target) => candidateOf(columns, target, hints, wishes))
    .filter(({ assignment, keys }) => assignment.pairs.length > 0 || keys.length > 0)
    .toSorted((a, b) => b.score - a.score)
  const [best, ...others] = ranked
  if (best === undefined) return null
  return composed(best, others, columns)
}

interface Candidate {
  readonly target: Target
  readonly assignment: Assignment
  readonly keys: readonly KeyCandidate[]
  readonly isNamed: boolean
  readonly score: number
}

function candidateOf(
  columns: readonly ColumnFacts[],
  target: Target,
  hints: Hints,
  wishes: ProposalWishes,
): Candidate {
  const assignment = assignColumns(columns, target, hints)
  const isNamed = namesType(wishes.name, wordsOfType(target.schema, hints.prefix))
  const found = keyCandidates(columns, assignment.pairs, target)
  const keys =
    wishes.key === undefined ? found : chosenKeys(wishes.key, found, columns, assignment, target)
  const score =
    assignment.pairs.reduce((sum, pair) => sum + pair.score, 0) +
    (isNamed ? NAMED_BONUS : 0) +
    (keys.length > 0 ? KEY_BONUS : 0)
  return { target, assignment, keys, isNamed, score }
}

/** The key that a person chose: whatever its values are, it counts. */
function chosenKeys(
  wish: NonNullable<ProposalWishes['key']>,
  found: readonly KeyCandidate[],
  columns: readonly ColumnFacts[],
  { pairs }: Assignment,
  { schema }: Target,
): KeyCandidate[] {
  const property = schema.properties.find(({ name }) => name === wish.property)
  const name =
    wish.column ??
    pairs.find((pair) => pair.property === property)?.column.name ??
    found.find((one) => one.property === wish.property)?.column
  const column = columns.find((one) => one.name === name)
  if (!property || !column) return []
  return [
    {
      property: property.name,
      column: column.name,
      isUnique: property.is_unique,
      empty: column.rows - column.filled,
      repeated: column.filled - column.distinct,
      score: 0,
    },
  ]
}

function hintsOf(columns: readonly ColumnFacts[], targets: readonly Target[]): Hints {
  const agreed = <T>(shown: readonly (T | null)[]): T | null => {
    const found = new Set(shown.filter((one) => one !== null))
    return found.size === 1 ? [...found][0]! : null
  }
  const units = new Set(
    targets.flatMap(({ fieldTypes }) => fieldTypes.flatMap((type) => type.units)),
  )
  const isUnitCode = (value: string) => /^[A-Z]{3}$/.test(value.trim()) && units.has(value.trim())
  return {
    decimal: agreed(columns.map(showsDecimal)),
    dayFirst: agreed(columns.map(showsDayFirst)),
    unitColumns: columns
      .filter((column) => column.filled > 0 && fittingShare(column, isUnitCode) === 1)
      .map(({ name }) => name),
    prefix: sharedPrefix(
      targets.flatMap(({ schema }) => [schema.name, ...schema.properties.map(({ name }) => name)]),
    ),
  }
}

function composed(
  { target, assignment, keys, isNamed }: Candidate,
  otherTypes: readonly Candidate[],
  columns: readonly ColumnFacts[],
): Proposal {
  const [key = null, ...otherKeys] = keys
  const others = assignment.pairs.filter(({ property }) => property.name !== key?.property)
  const replaced = assignment.pairs.filter(
    (pair) => !others.includes(pair) && pair.column.name !== key?.column,
  )
  const rest = restOf(assignment, key, others)
  const count = assignment.pairs.length
  return {
    objectType: target.schema.name,
    typeReason: `${count} of ${columns.length} columns fit${isNamed ? ', and the name of the file' : ''}`,
    otherTypes: otherTypes
      .filter((one) => one.assignment.pairs.length > 0)
      .map((one) => ({ name: one.target.schema.name, columns: one.assignment.pairs.length })),
    key,
    keyReason: key === null ? '' : keyReasonOf(key, columns),
    otherKeys,
    nearKeys: key === null ? nearKeysOf(columns, assignment, target) : [],
    properties: [
      ...(key === null ? [] : [keyProperty(key, assignment, columns)]),
      ...others.filter(({ doubt }) => doubt === null).map(proposedOf),
    ],
    open: [...others.flatMap(openOf), ...rest.open],
    left: [
      ...rest.left,
      ...replaced.map(({ column }) => ({
        column: column.name,
        reason: getsText(key!.property, key!.column),
      })),
    ],
  }
}

const NEAR_KEYS_MAX = 3

function nearKeysOf(
  columns: readonly ColumnFacts[],
  { pairs }: Assignment,
  target: Target,
): Proposal['nearKeys'] {
  const own = ({ empty, repeated }: KeyCandidate) => empty + repeated
  return keyCandidates(columns, pairs, target, 0)
    .toSorted((a, b) => own(a) - own(b))
    .slice(0, NEAR_KEYS_MAX)
    .map((key) => ({ ...key, reason: valuesReason(key, columns) }))
}

/** The columns that have no property: those that a person may map as they stand, and the others. */
function restOf(
  { left }: Assignment,
  key: KeyCandidate | null,
  pairs: readonly Pair[],
): Pick<Proposal, 'open' | 'left'> {
  const taken = new Map(pairs.map(({ property, column }) => [property.name, column.name]))
  if (key !== null) taken.set(key.property, key.column)
  const open: OpenProperty[] = []
  const others: { column: string; reason: string }[] = []
  for (const { column, reason, pair } of left) {
    if (column.name === key?.column) continue
    const other = pair && taken.get(pair.property.name)
    if (pair === undefined) others.push({ column: column.name, reason })
    else if (other !== undefined)
      others.push({ column: column.name, reason: getsText(pair.property.name, other) })
    else {
      open.push({ ...proposedOf(pair), reason })
      taken.set(pair.property.name, column.name)
    }
  }
  return { open, left: others }
}

function keyProperty(
  { property, column }: KeyCandidate,
  { pairs }: Assignment,
  columns: readonly ColumnFacts[],
): ProposedProperty {
  const pair = pairs.find((one) => one.property.name === property && one.column.name === column)
  if (pair) return proposedOf(ofOneValue(pair))
  const settings = columns.find(({ name }) => name === column)?.guard?.settings ?? {}
  return { property, column, settings, reason: 'the key of the rows' }
}

/** A row whose key has several values is set aside. */
function ofOneValue(pair: Pair): Pair {
  const { split } = pair.reading.settings
  if (split === undefined) return pair
  const isSingle = (value: string) => partsOf(value, split).length === 1
  return { ...pair, evidence: { ...pair.evidence, ...countCells(pair.column.all, isSingle) } }
}

function proposedOf({ property, column, reading, reason, evidence }: Pair): ProposedProperty {
  const { settings, fits, what } = reading
  const percent = Math.floor(fits * 100)
  const share = fits < 1 ? `${percent} % are ${what || 'accepted'}` : what
  return {
    property: property.name,
    column: column.name,
    settings,
    reason: [reason, ...(share === '' ? [] : [share]), ...guardText(column)].join('; '),
    evidence,
  }
}

const guardText = ({ guard }: ColumnFacts): string[] =>
  guard === null ? [] : ['without the guard of a spreadsheet around the cells']

function openOf(pair: Pair): OpenProperty[] {
  const { doubt, reading } = pair
  if (doubt === null) return []
  const proposed = proposedOf(pair)
  const question: Question = reading.question ?? {
    about: 'whether',
    text: doubt,
    answers: [reading.settings],
  }
  const { hint } = question
  const why = reading.question ? '' : `${proposed.reason}; `
  const reason = `${why}${doubt}${hint === undefined ? '' : `: ${hint}`}`
  return [{ ...proposed, reason, question }]
}

const keyReasonOf = (key: KeyCandidate, columns: readonly ColumnFacts[]): string =>
  `${key.isUnique ? 'unique at the service' : 'not unique at the service: a value that two records share is refused'}; ${valuesReason(key, columns)}`

function valuesReason(
  { column, empty, repeated }: KeyCandidate,
  columns: readonly ColumnFacts[],
): string {
  const { rows } = columns.find(({ name }) => name === column)!
  const counted = (count: number) => (count === 1 ? '1 row' : `${formatNumber(count)} rows`)
  const defects = [
    ...(empty > 0 ? [`${counted(empty)} ${empty === 1 ? 'has' : 'have'} none`] : []),
    ...(repeated > 0 ? [`${counted(repeated)} ${repeated === 1 ? 'repeats' : 'repeat'} one`] : []),
  ]
  return defects.length === 0
    ? `each of ${counted(rows)} has a value of its own`
    : `of ${counted(rows)}, ${defects.join(' and ')}`
}

/** The proposal with an answer to one of its questions: the property is mapped as answered. */
export function withAnswer(
  proposal: Proposal,
  { property, column, reason, question }: OpenProperty,
  settings: ReadingSettings,
): Proposal {
  const why = `${question?.text ?? reason}; answered in "init"`
  const answered = { property, column, settings, reason: why }
  return {
    ...proposal,
    properties: [...proposal.properties, answered],
    open: proposal.open.filter((one) => one.property !== property),
  }
}
