// How the operations of a service are requested, as `check` shows it: what is as expected in one line, the rest by name. A
// request is shown as it would be written in the configuration.

import { isUsual, type Resolution, type ResolvedOperation } from '../../client/index.ts'
import {
  BASE_PATH,
  COUNTED_OPERATIONS,
  EVERY_OPERATION,
  MOVABLE,
  OPERATIONS,
  usualRequest,
  type OperationId,
} from '../../contract/index.ts'
import { safeText, wrapped } from '../shared/terminal.ts'

/** One operation, as `--json` has it too. */
export interface OperationRow {
  readonly operation: OperationId
  readonly request: string
  readonly places: ResolvedOperation['places']
  readonly source: ResolvedOperation['source']
  /** The document has it as we would request it anyway. */
  readonly expected: boolean
  readonly reason: string
}

export function operationRows({ operations }: Resolution): OperationRow[] {
  return EVERY_OPERATION.map((id) => {
    const { method, path, places, source, reason } = operations[id]
    const isBelow = path.startsWith(`${BASE_PATH}/`)
    return {
      operation: id,
      request: `${method} ${isBelow ? path.slice(BASE_PATH.length) : `{base_url}${path}`}`,
      places,
      source,
      expected:
        isUsual(id, operations[id]) && (source === 'openapi' || !OPERATIONS[id].authenticated),
      reason,
    }
  })
}

const indent = 4
const nameWidth = 22

/** The lines for people: a summary, and the operations that are requested in an unusual way, or all of them. */
export function operationLines(rows: readonly OperationRow[], all: boolean): string[] {
  if (rows.length === 0) return []
  const of = (source: OperationRow['source']) => (row: OperationRow) =>
    row.source === source && !row.expected
  const kinds: readonly (readonly [string, (row: OperationRow) => boolean])[] = [
    ['as expected', ({ expected }) => expected],
    ['found elsewhere', of('openapi')],
    ['configured', of('configuration')],
    ['not in the document', of('absent')],
    ['as usual, for want of better', of('default')],
  ]
  const counted = rows.filter(({ operation }) => COUNTED_OPERATIONS.includes(operation))
  const counts = kinds
    .map(([words, is]) => [counted.filter(is).length, words] as const)
    .filter(([count]) => count > 0)
    .map(([count, words], index) => `${count}${index === 0 ? ' operations' : ''} ${words}`)
  // The warnings name what is absent or uncertain.
  const isNamed = (row: OperationRow) => of('openapi')(row) || of('configuration')(row)
  const shown = rows.filter((row) => all || isNamed(row))
  return [...wrapped(counts.join(', '), indent * 2), ...shown.flatMap(linesOf)]
}

const placeWords = {
  path: 'in the path',
  query: 'in the query',
  body: 'beside data',
  item: 'within data',
} as const

function linesOf({ operation, request, places, reason }: OperationRow): string[] {
  const usual = usualRequest(operation).places
  const moved = MOVABLE.flatMap((name) => {
    const place = places[name]
    if (!place || (place.in === usual[name]?.in && place.name === name)) return []
    return `${name} ${placeWords[place.in]}${place.name === name ? '' : ` as ${place.name}`}`
  })
  const facts = [reason, ...(moved.length > 0 ? [moved.join(', ')] : [])]
  return [
    ' '.repeat(indent) + operation.padEnd(nameWidth) + safeText(request, 400),
    ...facts.flatMap((fact) => wrapped(safeText(fact, 1_000), indent + nameWidth)),
  ]
}
