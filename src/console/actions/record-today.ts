// A record as it is now, on the page of a row: the one thing that a page asks the service for. Promises kept here: only people who may act
// may ask, where values are shown; only a record that the ledger knows is asked for, so that nobody reads others by their ids; so many
// ask at a time.

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readRecordNow } from '../../actions/read-record.ts'
import type { RecordRepresentation } from '../../client/index.ts'
import { SyncError } from '../../core/errors.ts'
import { isAllowed } from '../../core/domain/roles.ts'
import { ownValue } from '../../core/json.ts'
import { API_PATH } from '../api.ts'
import type { ConsoleDeps } from '../deps.ts'
import { changedValueText } from '../../report/plan-rows.ts'
import { recordMain } from '../pages/record.ts'
import { TEXT } from '../texts.ts'
import { readRow } from '../views/row.ts'
import type { RecordToday } from '../views/record.ts'
import { notAllowed, textsOf, type ActionSite, type NotDone } from './routes.ts'
import { valuesFor } from '../values.ts'

/** Requests of pages at a time: each waits for the quota as people do. */
const ASKING_MAX = 4

const no = (status: number, code: string, message: string): NotDone => ({ status, code, message })

export function addRecordToday(
  fastify: FastifyInstance,
  depsOf: (request: FastifyRequest) => ConsoleDeps,
  site: ActionSite,
): void {
  let asking = 0
  for (const path of ['/rows/today', `${API_PATH}/rows/today`])
    fastify.post(path, async (request, reply) => {
      const deps = depsOf(request)
      const {
        csrf,
        record = '',
        sync = '',
      } = {
        ...textsOf(request.query),
        ...textsOf(request.body),
      } as Record<string, string>
      if (!site.isOfSession(request, csrf ?? textsOf(request.headers)['x-csrf-token']))
        return await site.refuse(request, reply, no(403, 'no_session', TEXT.act.noSession))
      if (asking >= ASKING_MAX)
        return await site.refuse(request, reply, no(503, 'busy', TEXT.today.busy))
      asking++
      try {
        const found = await readToday(deps, sync, record)
        if ('status' in found) return await site.refuse(request, reply, found)
        if (path !== '/rows/today') return await reply.send(found)
        return await site.show(request, reply, {
          title: `${TEXT.today.title}, ${record}`,
          at: null,
          main: recordMain(found),
          query: record,
        })
      } finally {
        asking--
      }
    })
}

async function readToday(
  deps: ConsoleDeps,
  name: string,
  id: string,
): Promise<RecordToday | NotDone> {
  const { config } = await deps.readings.config()
  const visitor = deps.visitor!
  if (!isAllowed(visitor.role, 'operator')) return notAllowed(visitor, 'operator')
  if (valuesFor(deps, config) !== 'shown') return no(403, 'values_hidden', TEXT.today.hidden)
  const sync = ownValue(config.syncs, name)
  const row = await readRow(deps, { record: id })
  const type = sync?.kind === 'import' ? sync.import.object_type : null
  const known = row?.known.find(
    (each) => each.sync === name && each.object_type === type && each.record_id === id,
  )
  if (sync?.kind !== 'import' || known === undefined) return no(404, 'not_found', TEXT.notFound)
  try {
    const record = await readRecordNow(deps.parts.place, sync, id)
    const mapped = Object.keys(sync.import.properties)
    return viewOf(record, { deps, sync: name, id, type: known.object_type, key: known.key, mapped })
  } catch (error) {
    if (!(error instanceof SyncError)) throw error
    return no(503, 'service_away', `${TEXT.today.away} ${error.message}`)
  }
}

interface Asked {
  readonly deps: ConsoleDeps
  readonly sync: string
  readonly id: string
  readonly type: string
  readonly key: string
  readonly mapped: readonly string[]
}

function viewOf(
  record: RecordRepresentation | null,
  { deps, sync, id, type, key, mapped }: Asked,
): RecordToday {
  const names = Object.keys(record?.properties ?? {}).toSorted()
  const isMapped = (name: string) => mapped.includes(name)
  return {
    v: 1,
    made_at: new Date(deps.now()).toISOString(),
    sync,
    object_type: type,
    record: id,
    key,
    exists: record !== null,
    properties: [...names.filter(isMapped), ...names.filter((name) => !isMapped(name))].map(
      (property) => ({
        property,
        value: changedValueText(record!.properties[property] ?? null),
        mapped: isMapped(property),
      }),
    ),
  }
}
