// Links on another service: other paths and names, the target in the path, and a service that has no operation that links. What it holds
// afterwards is asked of the service itself.

import { describe, expect, it } from 'vitest'
import type { ImportConfig } from '../../config/index.ts'
import { importSceneOn } from '../unit/import/scene.ts'
import { startOtherService } from './index.ts'
import type { OtherServiceOptions } from './index.ts'

const fast = { tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] } }

async function scene(options: OtherServiceOptions) {
  const { prefix = 'acme_' } = options
  const id = `${prefix}external_id`
  const links = [
    {
      association: `${prefix}contact_company`,
      to: `${prefix}company`,
      by: `${prefix}domain`,
      column: 'company',
      missing: 'park',
    },
    {
      association: 'contact_thing',
      to: 'thing',
      by: 'code',
      column: 'things',
      split: ';',
      missing: 'reject',
    },
  ]
  const made = await importSceneOn(
    () => startOtherService({ ...options, retryAfter: '0' }),
    { [id]: { column: 'id' } },
    {
      object_type: `${prefix}contact`,
      matching_property: id,
      links,
    } as Partial<ImportConfig>,
  )
  const { service } = made
  const ofRecord = async (key: string) => {
    const record = service
      .records(`${prefix}contact`)
      .find(({ properties }) => properties[id] === key)!
    const targets: string[] = []
    for await (const { data } of made.client.associationEdgePages(`${prefix}contact`, record.id))
      targets.push(...data.map((edge) => edge.target_id))
    return targets.toSorted()
  }
  return { ...made, company: `${prefix}company`, domain: `${prefix}domain`, ofRecord }
}

const SERVICES: readonly [string, OtherServiceOptions][] = [
  ['a plain service', {}],
  ['other names and paths, with the target in the path', { prefix: 'q_', paths: 'other' }],
  ['short pages', { pages: 'short' }],
  ['single operations alone', { lacks: ['batchCreate', 'batchUpdate', 'batchUpsert'] }],
]

describe.each(SERVICES)('%s', (_, options) => {
  it('is linked, and asked nothing of links that are known', async () => {
    const made = await scene(options)
    const { service } = made
    const [acme] = service.fill(made.company, [{ [made.domain]: 'acme.example' }])
    const [one, two] = service.fill('thing', [{ code: 'T-1' }, { code: 'T-2' }])
    made.rows(
      ['id', 'company', 'things'],
      [
        ['C-1', 'acme.example', 'T-1;T-2'],
        ['C-2', 'bolt.example', 'T-9'],
      ],
    )
    const first = await made.run(fast)
    expect(first.books.links).toMatchObject({
      read: 5,
      states: { linked: 3, target_missing: 1, refused: 1 },
    })
    expect(await made.ofRecord('C-1')).toEqual([acme!.id, one!.id, two!.id].toSorted())
    expect(service.asked('associateRecords')).toBe(3)
    const [bolt] = service.fill(made.company, [{ [made.domain]: 'bolt.example' }])
    const second = await made.run(fast)
    expect(second.books.links).toMatchObject({
      states: { unchanged: 3, linked: 1, refused: 1 },
    })
    expect(await made.ofRecord('C-2')).toEqual([bolt!.id])
    expect(service.asked('associateRecords')).toBe(4)
    expect((await made.reconcile()).books.links).toMatchObject({ states: { unchanged: 4 } })
  })
})

it.each([['associateRecords'], ['listAssociations']])(
  'without %s in its document it is refused before anything is staged',
  async (operation) => {
    const made = await scene({ lacks: [operation] })
    made.rows(['id', 'company', 'things'], [['C-1', 'acme.example', '']])
    const failed = await made.run(fast).catch((error: unknown) => String(error))
    expect(failed).toContain(
      `links need listAssociations and associateRecords, and the document of the service does not have ${operation}`,
    )
    expect(made.service.count('acme_contact')).toBe(0)
  },
)
