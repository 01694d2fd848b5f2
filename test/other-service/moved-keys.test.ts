// Random histories of syncs that remember records, and of people who move keys, delete, make anew, and change what a filter asks for. At
// each write of ours it is asked of the service: a link joins records that have the keys which a file asks for, and a record is deleted
// only where the source of its copy has none of its key.

import { expect, test } from 'vitest'
import type { ImportConfig } from '../../config/index.ts'
import { importSceneOn, type RunOptions } from '../unit/import/scene.ts'
import { randoms, startOtherService } from './index.ts'
import { watchOrg, Writers } from './watch-org.ts'
import { rounds } from '../runs.ts'

const SEEDS = rounds(4, 12)
const STEPS = 14
const CONTACT = 'acme_contact'
const COMPANY = 'acme_company'
const ID = 'acme_external_id'
const DOMAIN = 'acme_domain'
const STATE = 'acme_first_name'
const ASSOCIATION = 'acme_contact_company'

const PEOPLE = ['c1', 'c2', 'c3', 'c4', 'c5']
const DOMAINS = ['d1', 'd2', 'd3', 'd4']

const how: RunOptions = {
  tries: 5,
  approves: true,
  tuning: { resend_backoff_ms: [1], item_backoff_ms: [1] },
}
const as = (name: string, config: object): RunOptions => ({
  ...how,
  as: { name, import: { links: undefined, ...config } as unknown as Partial<ImportConfig> },
})
const records = {
  connection: 'crm',
  object_type: CONTACT,
  filter: { property: STATE, op: 'eq', value: 'in' },
}
const COMPANIES = as('companies', {
  object_type: COMPANY,
  matching_property: DOMAIN,
  properties: { [DOMAIN]: { column: 'domain' } },
})
/** A copy of the contacts in the filter, as records of another type. */
const COPY = as('copy', {
  from: { records },
  object_type: 'thing',
  matching_property: 'code',
  properties: { code: { column: ID } },
  missing_rows: 'delete',
  missing_rows_max_percent: 100,
})
/** A property of the records that are read, so that they leave the filter by our own write. */
const STAMP = as('stamp', {
  from: { records },
  properties: { [ID]: { column: ID }, [STATE]: { value: 'out' } },
})

async function play(seed: number): Promise<readonly string[]> {
  const random = randoms(seed)
  const below = (count: number) => Math.floor(random() * count)
  const one = <T>(some: readonly T[]): T => some[below(some.length)]!
  const scene = await importSceneOn(
    () => startOtherService({ retryAfter: '0' }),
    { [ID]: { column: 'id' }, note: { column: 'note' } },
    {
      object_type: CONTACT,
      matching_property: ID,
      links: [
        { association: ASSOCIATION, to: COMPANY, by: DOMAIN, column: 'company', missing: 'park' },
      ],
    } as Partial<ImportConfig>,
  )
  const { org } = scene.service
  const writers = new Writers()
  const wrong: string[] = []
  /** What the file asks for that was read last. */
  let asked: ReadonlySet<string> = new Set()
  const keyOf = (type: string, id: string, name: string) =>
    org.record(type, id)?.properties[name] as string
  const has = (type: string, name: string, key: string) =>
    org.list(type).some(({ properties }) => properties[name] === key)
  let edges = org.edges
  Object.defineProperty(org, 'edges', {
    get: () => edges,
    set: (after: typeof edges) => {
      const before = new Set(edges.map((edge) => JSON.stringify(edge)))
      edges = after
      for (const edge of after.filter((each) => !before.has(JSON.stringify(each)))) {
        const pair = `${keyOf(CONTACT, edge.source, ID)} ${keyOf(COMPANY, edge.target, DOMAIN)}`
        if (!asked.has(pair)) wrong.push(`linked ${pair}, and no row asks for it`)
      }
    },
  })
  watchOrg(
    org,
    (id) => ({
      code: org.record('thing', id)?.properties['code'] as string | undefined,
      isContact: org.record(CONTACT, id) !== undefined,
    }),
    (_id, before, after) => {
      if (
        writers.by === 'others' ||
        before === null ||
        after?.code !== undefined ||
        after?.isContact
      )
        return
      if (before.isContact) wrong.push('deleted a contact')
      if (before.code !== undefined && has(CONTACT, ID, before.code))
        wrong.push(`deleted the copy of ${before.code}, which the source has`)
    },
  )
  const people = () => {
    const [type, name, keys] = one([
      [CONTACT, ID, PEOPLE],
      [COMPANY, DOMAIN, DOMAINS],
    ] as const)
    const [first, second] = [one(org.list(type)), one(org.list(type))]
    if (first === undefined) return
    const free = keys.filter((key) => !has(type, name, key))
    switch (one(['swap', 'swap', 'other', 'delete', 'make', 'leave', 'leave', 'enter'])) {
      case 'swap': {
        if (first === second || second === undefined) return
        const [a, b] = [first.properties[name]!, second.properties[name]!]
        org.change(first.id, { [name]: `between-${seed}` })
        org.change(second.id, { [name]: a })
        return void org.change(first.id, { [name]: b })
      }
      case 'other':
        return void org.change(first.id, { [name]: free[0] ?? `other-${below(9)}-${first.id}` })
      case 'delete':
        return org.remove(first.id)
      case 'make':
        return void (
          free[0] && org.put(type, { [name]: free[0], ...(type === CONTACT && { [STATE]: 'in' }) })
        )
      default:
        if (type === CONTACT) org.change(first.id, { [STATE]: one(['in', 'out']) })
    }
  }
  const file = () => {
    const rows = PEOPLE.filter(() => random() < 0.8).map((id) => [
      id,
      `n${below(3)}`,
      one(['', ...DOMAINS]),
    ])
    asked = new Set(rows.map(([id, , company]) => `${id} ${company}`))
    scene.rows(['id', 'note', 'company'], rows)
  }
  scene.rows(
    ['domain'],
    DOMAINS.map((name) => [name]),
  )
  await scene.run(COMPANIES)
  file()
  await scene.run(how)
  for (const { id } of org.list(CONTACT)) writers.others(() => org.change(id, { [STATE]: 'in' }))
  await scene.run(COPY)
  // A source that shrinks to nothing is refused.
  const isInFilter = () => org.list(CONTACT).some(({ properties }) => properties[STATE] === 'in')
  for (let step = 0; step < STEPS; step++) {
    for (let times = below(3); times > 0; times--) writers.others(people)
    const what = one(['run', 'run', 'links', 'repair', 'copy', 'copy', 'stamp', 'extra'])
    if (what === 'run' || what === 'repair') file()
    switch (what) {
      case 'links':
        await scene.links(how)
        break
      case 'repair':
        await scene.reconcile({ repair: true }, how)
        break
      case 'copy':
        if (isInFilter()) await scene.run(COPY)
        break
      case 'stamp':
        await scene.run(STAMP)
        break
      case 'extra':
        await scene.reconcile({ repair: true, deleteExtra: true }, COPY)
        break
      default:
        await scene.run(how)
    }
  }
  return wrong
}

test.each(Array.from({ length: SEEDS }, (_, at) => at + 1))(
  'history %d: no link at another key, and no deletion of what is there',
  async (seed) => {
    expect(await play(seed)).toEqual([])
  },
)
