// A sync whose source is the records that it writes deletes none of them: it is refused, by whatever connections they are named.

import { expect, onTestFinished, test } from 'vitest'
import type { ImportConfig } from '../../../config/index.ts'
import { RecordsClient } from '../../../src/client/index.ts'
import type { ReconcileScope } from '../../../src/core/domain/purpose.ts'
import { CONTACT, importScene, type Scene } from './scene.ts'
import { part } from '../../runs.ts'

const [ID, STATE] = ['svc_external_id', 'svc_first_name']
const LEADS = { property: STATE, op: 'eq', value: 'lead' }
const CLEAR = { clear: { svc_last_name: 'gone' } }
const ORG = 4_711
const REPAIR = { repair: true, deleteExtra: true }

type Source =
  | 'the same connection'
  | 'another key'
  | 'a key of a user'
  | 'another org'
  | 'another address'

interface Case {
  readonly source: Source
  readonly type: string
  readonly filter: boolean
  readonly config: Partial<ImportConfig>
  readonly scope: Partial<ReconcileScope> | null
}

const sources: readonly Source[] = [
  'the same connection',
  'another key',
  'a key of a user',
  'another org',
  'another address',
]
const actions: readonly (readonly [string, Case['config'], Case['scope']])[] = [
  ['missing_rows: delete', { missing_rows: 'delete' }, null],
  ['missing_rows: clear', { missing_rows: CLEAR } as Partial<ImportConfig>, null],
  ['reconcile --repair --delete-extra', {}, REPAIR],
  ['nothing that deletes', {}, null],
  ['reconcile --repair', {}, { repair: true }],
]
const CASES = sources.flatMap((source) =>
  [CONTACT, 'svc_company'].flatMap((type) =>
    (type === CONTACT ? [true, false] : [true]).flatMap((filter) =>
      actions.map(
        ([name, config, scope]) =>
          [
            `${source}, ${type}, ${filter ? 'a part' : 'all'}: ${name}`,
            { source, type, filter, config, scope },
          ] as const,
      ),
    ),
  ),
)

function clientOf(scene: Scene, source: Source): RecordsClient {
  const { service } = scene
  if (source === 'another org') service.addOrg(ORG)
  const key = {
    'the same connection': () => service.key,
    'another key': () => service.mintKey({ reach: 'org' }),
    'a key of a user': () => service.mintKey({ reach: 'user' }),
    'another org': () => service.mintKey({ orgId: ORG, reach: 'org' }),
    'another address': () => service.key,
  }[source]()
  const baseUrl =
    source === 'another address' ? service.url.replace('127.0.0.1', 'localhost') : service.url
  const client = new RecordsClient({ baseUrl, key })
  onTestFinished(() => client.close())
  return client
}

test.each(part(CASES, 3))('%s', async (_, { source, type, filter, config, scope }) => {
  const isContact = type === CONTACT
  const [key, state] = isContact ? [ID, STATE] : ['svc_domain', 'svc_name']
  const records = {
    connection: 'source',
    object_type: type,
    ...(filter && { filter: { ...LEADS, property: state } }),
  }
  const scene = await importScene({ [ID]: { column: key }, [STATE]: { value: 'qualified' } }, {
    from: { records },
    ...config,
  } as Partial<ImportConfig>)
  const readsWith = clientOf(scene, source)
  for (let n = 0; n < 5; n++)
    await readsWith.createRecord(type, { [key]: `p${n}`, [state]: 'lead' })
  const held = () => scene.service.records(CONTACT).length
  const before = held()
  const isOwn = isContact && !['another org', 'another address'].includes(source)
  const how = { readsWith, approves: true }
  const work = async () =>
    scope === null ? await scene.run(how) : await scene.reconcile(scope, how)
  const deletes = config.missing_rows !== undefined || scope?.deleteExtra === true
  if (scope !== null) await scene.run(how)
  if (isOwn && deletes) {
    const error = await work().then(
      () => 'not refused',
      (thrown: unknown) => `${String(thrown)} ${String((thrown as Error).cause ?? '')}`,
    )
    expect(error).toMatch(
      /the source is the records that are written \(svc_contact of http:\/\/127\.0\.0\.1:\d+ org \d+\)/,
    )
    expect(error).toContain(scope === null ? 'remove missing_rows' : 'without --delete-extra')
    expect(held()).toBe(before)
    return
  }
  await work()
  await readsWith.createRecord(type, { [key]: 'p9', [state]: 'lead' })
  await work()
  // At another address the records are the same, and none of them is gone.
  expect(held()).toBeGreaterThanOrEqual(before)
  for (const one of ['p0', 'p1', 'p2', 'p3', 'p4', 'p9'])
    expect(await scene.held(one)).not.toBeNull()
})
