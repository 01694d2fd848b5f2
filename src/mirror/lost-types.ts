// Object types of a mirror that the service does not list: the key lost the right to read them, or they were removed. Promise kept
// here: each of them is a stream of the run and reports it; the others are mirrored all the same.

import { formatInstant } from './instant.ts'
import type { MappingProblem } from '../core/errors.ts'
import type { MirrorConfig } from '../../config/index.ts'
import type { ObjectSummary } from '../contract/index.ts'
import { isDefinitions } from './definitions.ts'
import { isEdgesStream, waitingStream } from './streams.ts'
import type { MirrorDeps } from './ports.ts'
import { parsePosition } from './position.ts'

/** The mirrored types, and those that cannot be. */
export interface SelectedTypes {
  /** In the order of their names. */
  readonly names: readonly string[]
  /** Named by the configuration, and not listed. */
  readonly unlisted: readonly string[]
}

/** Which of the listed types are mirrored. */
export function selectTypes(
  { object_types: wanted, except }: Pick<MirrorConfig, 'object_types' | 'except'>,
  types: readonly ObjectSummary[],
): SelectedTypes {
  const listed = types.map(({ name }) => name).toSorted()
  if (wanted === 'all')
    return { names: listed.filter((name) => !except.includes(name)), unlisted: [] }
  const sorted = wanted.toSorted()
  return {
    names: sorted.filter((name) => listed.includes(name)),
    unlisted: sorted.filter((name) => !listed.includes(name)),
  }
}

/**
 * Notes the types that are not listed as streams of the run: with `all` those that have a table, otherwise those that are named.
 */
export async function noteLostTypes(
  deps: Pick<MirrorDeps, 'ledger' | 'tables' | 'placed'>,
  run: number,
  { object_types: wanted, except }: Pick<MirrorConfig, 'object_types' | 'except'>,
  types: readonly ObjectSummary[],
): Promise<void> {
  const { ledger, tables } = deps
  const listed = new Set(types.map(({ name }) => name))
  const known = await tables.streamNames()
  if (wanted === 'all') {
    const gone = known.filter(
      (name) => !listed.has(name) && !except.includes(name) && !isEdgesStream(name),
    )
    for (const name of gone) {
      if (await isDefinitions(tables, name)) continue
      const { table, rows, since } = await lostTypeStatus(deps, name)
      await ledger.noteStream(run, {
        ...waitingStream(name),
        table,
        tableCount: rows,
        state: 'complete',
        differs: true,
        message: `${name} is not listed any more, so the key cannot read it, or it is gone; its table ages${since === null ? '' : ` since ${since}`}. Write it under except to leave the table as it is`,
      })
    }
    return
  }
  const readable = [...listed].toSorted().join(', ') || 'none'
  for (const name of selectTypes({ object_types: wanted, except }, types).unlisted) {
    const isKnown = known.includes(name)
    const status = isKnown ? await lostTypeStatus(deps, name) : null
    const ages = status?.since ? `ages since ${status.since}` : 'stays as it is'
    const message = isKnown
      ? `object type ${name} is not listed any more, so the key cannot read it, or it is gone; its table ${ages}`
      : `there is no object type ${name}, or the key cannot read it; it can read: ${readable}`
    await ledger.noteStream(run, {
      ...waitingStream(name),
      table: status?.table ?? null,
      tableCount: status?.rows ?? null,
      state: 'failed',
      differs: isKnown,
      message: await placedIn(deps, { message, path: ['object_types', name] }),
    })
  }
}

/** What is wrong with a setting, with its place in the file if that is known. */
export const placedIn = async (
  deps: Pick<MirrorDeps, 'placed'>,
  problem: MappingProblem,
): Promise<string> => (await deps.placed?.(problem)) ?? problem.message

/** What is known of a table without its type; less of one that was altered. */
async function lostTypeStatus(
  { tables }: Pick<MirrorDeps, 'tables'>,
  name: string,
): Promise<{ table: string | null; rows: number | null; since: string | null }> {
  try {
    const [stream] = await tables.streams([name])
    if (!stream) return { table: null, rows: null, since: null }
    const text = await tables.position(name)
    const position = text === null ? null : parsePosition(text, tables.place, name)
    const since = position?.askedAt ?? position?.listedAt ?? null
    const { rows } = await tables.count(stream)
    const minute = since === null ? null : formatInstant(Date.parse(since)).slice(0, 16)
    return { table: stream.table, rows, since: minute && `${minute.replace('T', ' ')} UTC` }
  } catch {
    return { table: null, rows: null, since: null }
  }
}
