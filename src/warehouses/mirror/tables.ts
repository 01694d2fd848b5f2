// The tables of a mirror in an SQL database: each call is a session with the catalogue (catalogue.ts) and the rows (rows.ts). A
// driver states how its sessions begin and end.

import { OWN_COLUMNS } from '../../core/domain/mirror.ts'
import type { MirrorTables } from '../mirror-tables.ts'
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
import {
  countRows,
  hasValues,
  deleteRows,
  readGroups,
  readIds,
  readNewestIds,
  readOwnersOfGone,
  readRows,
} from './rows.ts'
import type { MirrorSession } from './session.ts'

/** What a call does; each but `read` is one transaction. */
export type MirrorAccess = 'own' | 'change' | 'read' | 'write'

export interface MirrorDriver extends Pick<MirrorTables, 'place' | 'holdsId' | 'batch' | 'close'> {
  /** Whether there is a database to ask. */
  exists(): boolean
  session<Result>(
    access: MirrorAccess,
    work: (session: MirrorSession) => Promise<Result>,
  ): Promise<Result>
}

export function sqlMirrorTables(driver: MirrorDriver): MirrorTables {
  type Work<Result> = (session: MirrorSession) => Promise<Result>
  const read = <Result>(work: Work<Result>) => driver.session('read', work)
  const write = <Result>(work: Work<Result>) => driver.session('write', work)
  const names = async (of: 'name' | 'table_name') =>
    driver.exists() ? await read((session) => readNames(session, of)) : []
  return {
    place: driver.place,
    holdsId: (id) => driver.holdsId(id),
    own: (owner, project, sync = null) =>
      driver.session('own', (session) => ownSchema(session, { owner, project, sync })),
    holder: async () => (driver.exists() ? await read(readHolder) : null),
    takeOver: async (from, to) =>
      driver.exists() && (await write((session) => takeOver(session, from, to))),
    streams: async (of) =>
      driver.exists() ? await read((session) => readStreams(session, of)) : [],
    streamNames: () => names('name'),
    tableNames: () => names('table_name'),
    change: (changes) => driver.session('change', (session) => changeStreams(session, changes)),
    claim: (stream) => write((session) => claimStream(session, stream)),
    identity: ({ table, columns }) =>
      read((session) =>
        session.identityOf(table, [...OWN_COLUMNS, ...columns.map(({ name }) => name)]),
      ),
    position: (stream) => read((session) => readPosition(session, stream)),
    move: (...moved) => write((session) => storePosition(session, ...moved)),
    batch: (stream) => driver.batch(stream),
    delete: (stream, fence, position, deletion) =>
      write(async (session) => {
        await storePosition(session, stream.name, fence, position)
        return await deleteRows(session, stream, deletion)
      }),
    count: (...asked) => read((session) => countRows(session, ...asked)),
    hasValues: (...asked) => read((session) => hasValues(session, ...asked)),
    groups: (...asked) => read((session) => readGroups(session, ...asked)),
    ids: (...asked) => read((session) => readIds(session, ...asked)),
    newestIds: (...asked) => read((session) => readNewestIds(session, ...asked)),
    ownersOfGone: (...asked) => read((session) => readOwnersOfGone(session, ...asked)),
    rows: (...asked) => read((session) => readRows(session, ...asked)),
    close: () => driver.close(),
  }
}
