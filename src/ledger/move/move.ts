// Moves a whole ledger to another place, of the same kind or the other one. Promises kept here: nobody writes to the old ledger once
// its first row is read; each batch is stored with how far it has come, so a move that was killed goes on; the new one opens only
// when every table has the same rows as the old one, which is said to be moved by then.

import { randomBytes } from 'node:crypto'
import { LedgerError } from '../../core/errors.ts'
import { LIVE_STATES } from '../../core/domain/books.ts'
import { sqlList } from '../rows/values.ts'
import { read, write, writeGiven, type Transaction } from '../statements/transaction.ts'
import { tableDigest, type TableDigest } from './digest.ts'
import { goneText, noteOfRow } from './note.ts'
import type { MovedCell, MovedTable, MoveNote, MovePosition, MoveStore } from './store.ts'

export interface MoveResult {
  readonly from: string
  readonly to: string
  readonly project: string
  /** False if an earlier call had ended the move. */
  readonly moved: boolean
  readonly tables: readonly TableDigest[]
}

export interface MoveOptions {
  now(): string
  /** Called as rows are copied (`copy`) and compared (`compare`). */
  onRows?(step: 'copy' | 'compare', table: string, rows: number): void
}

const NOTES = 'SELECT id, way, place, state, position FROM moves'

/** A stretch of a table. Runs refer to earlier runs, and plans, whose numbers are negative, to runs. */
interface Part {
  readonly table: MovedTable
  readonly where: string
}

/** In an order in which a row comes behind those that it refers to. */
function partsOf(tables: readonly MovedTable[]): readonly Part[] {
  const named = (name: string) => tables.filter((table) => table.name === name)
  const others = tables.filter(({ name }) => name !== 'destinations' && name !== 'runs')
  const whole = [...named('destinations'), ...others].map((table) => ({ table, where: 'true' }))
  const runs = named('runs').flatMap((table) =>
    ['id > 0', 'id < 0'].map((where) => ({ table, where })),
  )
  return [whole[0]!, ...runs, ...whole.slice(1)]
}

/** @throws LedgerError, with nothing lost in either place; called again, it goes on */
export async function moveLedger(
  source: MoveStore,
  target: MoveStore,
  options: MoveOptions,
): Promise<MoveResult> {
  const tables = await commonTables(source, target)
  const begun = await begin(source, target, { tables, now: options.now })
  const project = await projectOf(source)
  const result = { from: source.place, to: target.place, project }
  if (begun.state === 'done') return { ...result, moved: false, tables: [] }
  await copy(source, target, partsOf(tables), { ...options, note: begun })
  const compared = await compare(source, target, tables, options)
  await target.restartNumbers()
  // The old one first: both of them are never open at once.
  for (const [store, way] of [
    [source, 'to'],
    [target, 'from'],
  ] as const)
    await store.run(`UPDATE moves SET state = 'done', ended_at = $1 WHERE id = $2 AND way = $3`, [
      options.now(),
      begun.id,
      way,
    ])
  return { ...result, moved: true, tables: compared }
}

/** Takes back a move that has not ended: the old ledger is worked with again. @throws LedgerError `move_none` */
export async function cancelMove(source: MoveStore): Promise<{ readonly to: string }> {
  const tables = (await source.tables()).map(({ name }) => name)
  return await source.transact(function* () {
    const [row] = yield* read(`${NOTES} WHERE way = 'to'`)
    if (row === undefined)
      throw new LedgerError('move_none', `The ledger ${source.place} is not being moved`)
    const { place, state } = noteOfRow(row)
    if (state === 'done') throw new LedgerError('ledger_moved', goneText(source.place, place))
    yield* write(`DELETE FROM moves WHERE way = 'to'`)
    yield* source.unfence(tables)
    return { to: place }
  })
}

/** @throws LedgerError where two engines of one schema version differ */
async function commonTables(source: MoveStore, target: MoveStore): Promise<readonly MovedTable[]> {
  const [ours, theirs] = [await source.tables(), await target.tables()]
  const shape = (tables: readonly MovedTable[]) =>
    JSON.stringify(tables.map(({ name, columns }) => [name, columns]))
  if (shape(ours) !== shape(theirs))
    throw new LedgerError(
      'move_shape',
      `The ledgers ${source.place} and ${target.place} have other tables or columns: one of them was changed by hand`,
    )
  return theirs
}

async function projectOf(store: MoveStore): Promise<string> {
  return String((await store.one('SELECT id FROM project'))!['id'])
}

/** The note of the move in the place that is filled. Both places know it from then on, and nobody writes to the old one. */
async function begin(
  source: MoveStore,
  target: MoveStore,
  { tables, now }: { readonly tables: readonly MovedTable[]; now(): string },
): Promise<MoveNote> {
  const gone = await source.one(`${NOTES} WHERE way = 'to'`)
  const leaving = gone === undefined ? null : noteOfRow(gone)
  const id = leaving?.id ?? randomBytes(8).toString('hex')
  const names = tables.map(({ name }) => name)
  if (leaving !== null && leaving.place !== target.place) throw movesElsewhere(source, leaving)
  if (leaving === null) await source.transact(() => checkNoRun(source))
  const note = await target.transact(() => noteFilling(target, source, { id, names, now }))
  if (note.state === 'done') return note
  if (leaving === null && note.position !== null)
    throw new LedgerError(
      'move_taken_back',
      `The move of ${source.place} to ${target.place} was taken back, and ${source.place} may have changed since: remove what is in ${target.place}, and move again`,
    )
  if (leaving !== null && leaving.id !== note.id) throw movesElsewhere(source, leaving)
  if (leaving === null)
    await source.transact(() => noteLeaving(source, target, { id: note.id, names, now }))
  return note
}

const movesElsewhere = (source: MoveStore, { place, state }: MoveNote): LedgerError =>
  state === 'done'
    ? new LedgerError('ledger_moved', goneText(source.place, place))
    : new LedgerError(
        'move_other',
        `The ledger ${source.place} is being moved to ${place}: end that move, or take it back with \`records-sync ledger move --cancel\` while ${source.place} is under \`ledger:\``,
      )

/** Notes the move in the place that it fills, which must be empty. */
function* noteFilling(
  target: MoveStore,
  source: MoveStore,
  { id, names, now }: { readonly id: string; readonly names: readonly string[]; now(): string },
): Transaction<MoveNote> {
  const rows = yield* read(`${NOTES} WHERE way = 'to' OR state = 'open' OR id = $1`, [id])
  const notes = rows.map(noteOfRow)
  const left = notes.find(({ way }) => way === 'to')
  if (left !== undefined) throw movesElsewhere(target, left)
  const filling =
    notes.find(({ state }) => state === 'open') ?? notes.find((note) => note.id === id)
  if (filling !== undefined) {
    if (filling.place === source.place) return filling
    throw new LedgerError(
      'move_other',
      `The ledger ${target.place} is being filled from ${filling.place}: end that move, or choose an empty place`,
    )
  }
  for (const name of names) {
    if (name === 'project') continue
    const found = yield* read(`SELECT 1 AS found FROM ${name} LIMIT 1`)
    if (found.length > 0)
      throw new LedgerError(
        'move_not_empty',
        `The ledger ${target.place} is not empty: its table \`${name}\` has rows. A ledger is moved to an empty place; nothing was changed`,
      )
  }
  yield* write(
    `INSERT INTO moves (id, way, place, state, began_at) VALUES ($1, 'from', $2, 'open', $3)`,
    [id, source.place, now()],
  )
  return { id, way: 'from', place: source.place, state: 'open', position: null }
}

/** @throws LedgerError `move_live_run` */
function* checkNoRun(source: MoveStore): Transaction<void> {
  const [live] = yield* read(
    `SELECT id, sync FROM runs WHERE mode = 'run' AND state IN (${sqlList(LIVE_STATES)}) ORDER BY id LIMIT 1`,
  )
  if (live !== undefined)
    throw new LedgerError(
      'move_live_run',
      `Run ${String(live['id'])} of ${String(live['sync'])} is at work in the ledger ${source.place}: wait for its end, or cancel it; nothing was changed`,
    )
}

/** Notes the move in the old ledger, and fences it. */
function* noteLeaving(
  source: MoveStore,
  target: MoveStore,
  { id, names, now }: { readonly id: string; readonly names: readonly string[]; now(): string },
): Transaction<void> {
  // First, so that no run is opened between the question and the answer.
  yield* source.fence(names, goneText(source.place, target.place))
  yield* checkNoRun(source)
  yield* write(
    `INSERT INTO moves (id, way, place, state, began_at) VALUES ($1, 'to', $2, 'open', $3)`,
    [id, target.place, now()],
  )
}

async function copy(
  source: MoveStore,
  target: MoveStore,
  parts: readonly Part[],
  { note, onRows }: MoveOptions & { readonly note: MoveNote },
): Promise<void> {
  let { position } = note
  const { part: first, after: began }: MovePosition = position ?? { part: 0, after: null }
  for (const [index, { table, where }] of parts.entries()) {
    if (index < first) continue
    let copied = 0
    for (let after = index === first ? began : null; ;) {
      const page = await source.page(table.name, where, after)
      const next: MovePosition =
        page.next === null ? { part: index + 1, after: null } : { part: index, after: page.next }
      const before = position
      await target.transact(() =>
        store(target, { id: note.id, table, rows: page.rows, before, next }),
      )
      position = next
      onRows?.('copy', table.name, (copied += page.rows.length))
      if (page.next === null) break
      after = page.next
    }
  }
}

/** Stores rows, and how far the move has come with them. */
function* store(
  target: MoveStore,
  of: {
    readonly id: string
    readonly table: MovedTable
    readonly rows: readonly (readonly MovedCell[])[]
    readonly before: MovePosition | null
    readonly next: MovePosition
  },
): Transaction<void> {
  const text = (position: MovePosition | null) => position && JSON.stringify(position)
  const changed = yield* write(
    `UPDATE moves SET position = $1 WHERE id = $2 AND way = 'from' AND coalesce(position, '') = coalesce($3, '')`,
    [text(of.next), of.id, text(of.before)],
  )
  if (changed !== 1)
    throw new LedgerError(
      'move_taken',
      `Another process goes on with the move to ${target.place}; this one has ended`,
    )
  // The row that a new ledger has is of another project.
  if (of.table.name === 'project') yield* write('DELETE FROM project')
  const columns = Object.fromEntries(of.table.columns.map((_, at) => [`c${at}`, 'text' as const]))
  yield* writeGiven({ columns, rows: of.rows }, of.table.insert)
}

/** @throws LedgerError `move_differs` */
async function compare(
  source: MoveStore,
  target: MoveStore,
  tables: readonly MovedTable[],
  { onRows }: MoveOptions,
): Promise<readonly TableDigest[]> {
  const compared: TableDigest[] = []
  for (const { name } of tables) {
    const said = (rows: number) => onRows?.('compare', name, rows)
    const [was, is] = [await tableDigest(source, name), await tableDigest(target, name, said)]
    if (was.rows !== is.rows || was.digest !== is.digest)
      throw new LedgerError(
        'move_differs',
        `The table \`${name}\` has ${was.rows} rows (digest ${was.digest}) in ${source.place}, and ${is.rows} (${is.digest}) in ${target.place}: one of the two was changed meanwhile. The move has not ended; empty ${target.place}, and move again`,
      )
    compared.push(is)
  }
  return compared
}
