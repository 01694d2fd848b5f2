// The tables of a mirror in an SQL database: each call is a session with the catalogue (catalogue.ts) and the rows (rows.ts). A
// driver states how its sessions begin and end.

import type { Holder } from '../../core/domain/mirror.ts'
import type {
  Deletion,
  InstantRange,
  MirrorBatch,
  MirrorStream,
  MirrorTables,
  RowGroup,
  StoredRow,
  StreamChange,
} from '../mirror-tables.ts'
import {
  changeStreams,
  claimStream,
  ownSchema,
  readHolder,
  readNames,
  readPosition,
  readStreams,
  storePosition,
  takeOver,
} from './catalogue.ts'
import { countRows, deleteRows, readGroups, readIds, readOwnersOfGone, readRows } from './rows.ts'
import type { MirrorSession } from './session.ts'

/** What a call does; each but `read` is one transaction. */
export type MirrorAccess = 'own' | 'change' | 'read' | 'write'

export interface MirrorDriver {
  readonly place: string
  holdsId(id: string): boolean
  /** Whether there is a database to ask. */
  exists(): boolean
  session<Result>(
    access: MirrorAccess,
    work: (session: MirrorSession) => Promise<Result>,
  ): Promise<Result>
  batch(stream: MirrorStream): Promise<MirrorBatch>
  close(): Promise<void>
}

export class SqlMirrorTables implements MirrorTables {
  readonly #driver: MirrorDriver

  constructor(driver: MirrorDriver) {
    this.#driver = driver
  }

  get place(): string {
    return this.#driver.place
  }

  holdsId(id: string): boolean {
    return this.#driver.holdsId(id)
  }

  own(owner: string, project: string, sync: string | null = null): Promise<void> {
    return this.#driver.session('own', (session) => ownSchema(session, { owner, project, sync }))
  }

  async holder(): Promise<Holder | null> {
    return this.#driver.exists() ? await this.#driver.session('read', readHolder) : null
  }

  async takeOver(from: string, to: string): Promise<boolean> {
    if (!this.#driver.exists()) return false
    return await this.#driver.session('write', (session) => takeOver(session, from, to))
  }

  async streams(of?: readonly string[]): Promise<readonly MirrorStream[]> {
    if (!this.#driver.exists()) return []
    return await this.#driver.session('read', (session) => readStreams(session, of))
  }

  streamNames(): Promise<readonly string[]> {
    return this.#names('name')
  }

  tableNames(): Promise<readonly string[]> {
    return this.#names('table_name')
  }

  async #names(of: 'name' | 'table_name'): Promise<readonly string[]> {
    if (!this.#driver.exists()) return []
    return await this.#driver.session('read', (session) => readNames(session, of))
  }

  change(changes: readonly StreamChange[]): Promise<void> {
    return this.#driver.session('change', (session) => changeStreams(session, changes))
  }

  claim(stream: string): Promise<{ fence: number; position: string | null }> {
    return this.#driver.session('write', (session) => claimStream(session, stream))
  }

  position(stream: string): Promise<string | null> {
    return this.#driver.session('read', (session) => readPosition(session, stream))
  }

  move(stream: string, fence: number, position: string): Promise<void> {
    return this.#driver.session('write', (session) =>
      storePosition(session, stream, fence, position),
    )
  }

  batch(stream: MirrorStream): Promise<MirrorBatch> {
    return this.#driver.batch(stream)
  }

  delete(
    stream: MirrorStream,
    fence: number,
    position: string,
    deletion: Deletion,
  ): Promise<number> {
    return this.#driver.session('write', async (session) => {
      await storePosition(session, stream.name, fence, position)
      return await deleteRows(session, stream, deletion)
    })
  }

  count(stream: MirrorStream, within?: InstantRange): Promise<{ rows: number; misfits: number }> {
    return this.#driver.session('read', (session) => countRows(session, stream, within))
  }

  groups(
    stream: MirrorStream,
    columns: readonly string[],
    within?: InstantRange,
  ): Promise<readonly RowGroup[]> {
    return this.#driver.session('read', (session) => readGroups(session, stream, columns, within))
  }

  ids(...asked: Parameters<MirrorTables['ids']>): Promise<readonly string[]> {
    return this.#driver.session('read', (session) => readIds(session, ...asked))
  }

  ownersOfGone(...asked: Parameters<MirrorTables['ownersOfGone']>): Promise<readonly string[]> {
    return this.#driver.session('read', (session) => readOwnersOfGone(session, ...asked))
  }

  rows(stream: MirrorStream, ids: readonly string[]): Promise<readonly StoredRow[]> {
    return this.#driver.session('read', (session) => readRows(session, stream, ids))
  }

  close(): Promise<void> {
    return this.#driver.close()
  }
}
