// Associations (sections 2.5, 2.6 and 4.3 rule 6): the definitions that a key sees, linking, cardinalities, and the edges
// of a record in pages.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AssociationEdgePage,
  AssociationList,
  CARDINALITIES,
  CURSOR_LIFETIME_MS,
} from '../../../src/contract/index.ts'
import type { AssociationEdgeWire, AssociationWire } from '../../../src/contract/index.ts'
import type { ObjectSummary } from '../../../src/contract/index.ts'
import { Edges } from '../../../src/service/store/edges.ts'
import type { Edge } from '../../../src/service/store/edges.ts'
import { SYSTEM_SCHEMA } from '../../../src/service/schema/schema-file.ts'
import { expectProblem, expectStandardHeaders, manualClock, startApi } from './api.ts'
import type { Answer, Api, Caller } from './api.ts'
import { runs } from '../../runs.ts'

const contact = 'svc_contact'
const company = 'svc_company'
const deal = 'svc_deal'
const contactCompany = 'svc_contact_company'
const dealContact = 'svc_deal_contact'
const readonly = { read: true, write: false }
const full = { read: true, write: true }
const person = (id: string) => ({ id, displayName: id, admin: false, permissions: 'all' as const })

/** The one cardinality that no association of the system has. */
const projectTasks: AssociationWire = {
  name: 'project_tasks',
  label: 'Tasks',
  source: 'project',
  target: 'svc_task',
  cardinality: 'one_to_many',
  description: '',
}
const schema = {
  ...SYSTEM_SCHEMA,
  associations: new Map([...SYSTEM_SCHEMA.associations, [projectTasks.name, projectTasks]]),
}

const clock = manualClock()
let api: Api
let definitions: AssociationWire[]
let types: ObjectSummary[]
beforeAll(async () => {
  api = await startApi({ clock, schema, users: [person('ada'), person('ben')] })
  types = (await api.send('GET', '/objects/')).body.data
  definitions = AssociationList.parse((await api.send('GET', '/associations/')).body).data
})
afterAll(() => api.service.close())

async function made(type: string, properties: object = {}, by: Caller = api): Promise<string> {
  const { status, body } = await by.create(type, properties)
  expect(status).toBe(201)
  return body.data.id
}

/** New records of a type, in creation order. */
async function many(type: string, count: number, properties: object = {}): Promise<string[]> {
  const ids: string[] = []
  for (let left = count; left > 0; left -= 50) {
    const data = Array.from({ length: Math.min(left, 50) }, () => ({ properties }))
    const { body } = await api.send('POST', `/objects/${type}/records/batch/create/`, {
      body: { data },
    })
    ids.push(...body.data.map((item: { record: { id: string } }) => item.record.id))
  }
  // Edges are listed in the order of ids.
  return ids.toSorted()
}

const edgesPath = (type: string, id: string) => `/objects/${type}/records/${id}/associations/`
const as = (userId: string, more: object = {}) => api.as(api.service.mintKey({ userId, ...more }))

/** All edges of a record, page by page; each page but the last is full. */
async function edgesOf(
  caller: Caller,
  type: string,
  id: string,
  between: () => Promise<unknown> = async () => {},
): Promise<AssociationEdgeWire[]> {
  const found: AssociationEdgeWire[] = []
  let query = ''
  for (let pages = 0; pages < 20; pages += 1) {
    const answer = await caller.send('GET', edgesPath(type, id) + query)
    expect(answer.status).toBe(200)
    const { data, pagination } = AssociationEdgePage.parse(answer.body)
    found.push(...data)
    if (!pagination.has_more) {
      expect(pagination.next_cursor).toBeNull()
      return found
    }
    expect(data).toHaveLength(100)
    query = `?cursor=${encodeURIComponent(pagination.next_cursor!)}`
    await between()
  }
  throw new Error('The listing has no end')
}

const targetsOf = (edges: AssociationEdgeWire[]) => edges.map((edge) => edge.target_id)

describe('the definitions', () => {
  const namesFor = async (grants: Record<string, { read: boolean; write: boolean }>) => {
    const { body } = await as('ada', { grants }).send('GET', '/associations/')
    return AssociationList.parse(body).data.map(({ name }) => name)
  }

  it('are between types that there are, each by one name', () => {
    const known = types.map(({ name }) => name)
    expect(new Set(definitions.map(({ name }) => name)).size).toBe(definitions.length)
    for (const { source, target } of definitions) {
      expect(known).toContain(source)
      expect(known).toContain(target)
    }
  })

  it('are those whose both ends the key may read', async () => {
    expect(await namesFor({})).toEqual([])
    const all = Object.fromEntries(types.map(({ name }) => [name, readonly]))
    expect(await namesFor(all)).toEqual(definitions.map(({ name }) => name))
    for (const { name: hidden } of types) {
      const expected = definitions.filter((each) => ![each.source, each.target].includes(hidden))
      const grants = { ...all, [hidden]: { read: false, write: true } }
      expect(await namesFor(grants)).toEqual(expected.map(({ name }) => name))
    }
  })
})

describe('linking', () => {
  it('makes an edge once: 201, then 200 with the same edge', async () => {
    const [source, target] = [await made(contact), await made(company)]
    const edge: AssociationEdgeWire = {
      association_type: contactCompany,
      source_id: source,
      target_id: target,
      cardinality: 'many_to_one',
    }
    for (const status of [201, 200, 200]) {
      const answer = await api.link(contact, source, contactCompany, target)
      expect([answer.status, answer.body]).toEqual([status, { data: edge }])
      expectStandardHeaders(answer)
    }
    expect(await edgesOf(api, contact, source)).toEqual([edge])
    // Edges are listed from their source.
    expect(await edgesOf(api, company, target)).toEqual([])
  })

  it('changes neither record, and reading the target is enough', async () => {
    const [source, target] = [await made(contact), await made(company)]
    const before = [...api.service.records(contact), ...api.service.records(company)]
    clock.nowMs += 1_000
    const caller = as('ada', { grants: { [contact]: full, [company]: readonly } })
    expect((await caller.link(contact, source, contactCompany, target)).status).toBe(201)
    expect([...api.service.records(contact), ...api.service.records(company)]).toEqual(before)
  })

  it('refuses any target that the key cannot see in the same bytes', async () => {
    const orgId = api.service.orgId + 1
    api.service.addOrg(orgId)
    const [caller, ben, foreign] = [as('ada'), as('ben'), as('ada', { orgId })]
    const gone = await made(company)
    await api.remove(company, gone)
    const source = await made(contact)
    const targets = {
      unknown: 'nothing',
      empty: '',
      deleted: gone,
      private: await made(company, { svc_private: true }, ben),
      foreign: await made(company, {}, foreign),
      'of another type': await made(contact),
      'the source': source,
    }
    const seen = new Set<string>()
    for (const [kind, target] of Object.entries(targets)) {
      const answer = await caller.link(contact, source, contactCompany, target)
      expectProblem(answer, 422, 'request_invalid')
      expect(answer.body.field, kind).toBe('/target_id')
      seen.add(answer.text.replace(answer.body.request_id, ''))
    }
    expect([...seen]).toHaveLength(1)
    expect(await edgesOf(api, contact, source)).toEqual([])
  })

  it('asks for permission first, then for the source, the association, and at last the target', async () => {
    const [source, target] = [await made(contact), await made(company)]
    const reader = as('ada', { grants: { [contact]: readonly, [company]: full } })
    const stranger = as('ada', { grants: { [company]: full } })
    const refused: [Promise<Answer>, number, string, string?][] = []
    for (const [from, name, to] of [
      [source, contactCompany, target],
      [source, contactCompany, 'nothing'],
      [source, 'nothing', 'nothing'],
      ['nothing', 'nothing', 'nothing'],
    ] as const) {
      refused.push(
        [api.link('svc_risk', from, name, to), 403, 'permission_denied', 'type_read_only'],
        [reader.link(contact, from, name, to), 403, 'permission_denied', 'write_forbidden'],
        [stranger.link(contact, from, name, to), 403, 'permission_denied', 'write_forbidden'],
      )
    }
    refused.push(
      [api.link(contact, 'nothing', contactCompany, 'nothing'), 404, 'not_found'],
      [api.link(contact, source, 'nothing', 'nothing'), 404, 'not_found'],
      [api.link(contact, source, dealContact, source), 404, 'not_found'],
      [api.link(contact, source, contactCompany, 'nothing'), 422, 'request_invalid'],
    )
    for (const [answer, status, code, reason] of refused) {
      expectProblem(await answer, status, code, reason)
    }
    expect(await edgesOf(api, contact, source)).toEqual([])
  })

  it.each([
    ['nothing', {}, ''],
    ['a list', { data: [] }, '/data'],
    ['no target', { data: {} }, '/data'],
    ['a number as target', { data: { target_id: 7 } }, '/data/target_id'],
    ['an unknown key', { data: { target_id: 'a', x: 1 } }, '/data'],
    ['a number as plain target', { target_id: 7 }, '/target_id'],
    ['an unknown key beside it', { target_id: 'a', x: 1 }, ''],
    ['both forms', { target_id: 'a', data: { target_id: 'a' } }, ''],
  ])('refuses a body of %s', async (_name, body, field) => {
    const path = `${edgesPath(contact, await made(contact))}${contactCompany}/`
    const answer = await api.send('PUT', path, { body })
    expectProblem(answer, 400, 'request_invalid')
    expect(answer.body.field).toBe(field)
  })

  it('is open to types that accept nothing else', async () => {
    const meeting = types.find(({ name }) => name === 'svc_meeting')!
    expect(meeting.writable_operations).toEqual(['associate'])
    const answer = await api.link('svc_meeting', 'nothing', 'svc_meeting_contact', 'nothing')
    expectProblem(answer, 404, 'not_found')
  })
})

/** The edges that are left of `edges` where `edge` comes: each end has as many partners as its side of the cardinality says. */
function replaced(edges: readonly Edge[], edge: Edge, { cardinality }: { cardinality: string }) {
  const [sources, targets] = cardinality.split('_to_')
  return edges.filter(
    ({ source, target }) =>
      !(targets === 'one' && source === edge.source && target !== edge.target) &&
      !(sources === 'one' && target === edge.target && source !== edge.source),
  )
}

const edgeText = ({ association, source, target }: Edge) => [association, source, target].join(' ')

describe('a cardinality', () => {
  const step = fc.record({
    kind: fc.constantFrom('link', 'link', 'link', 'link', 'delete source', 'delete target'),
    source: fc.nat(3),
    target: fc.nat(3),
  })
  const steps = fc.array(step, { minLength: 1, maxLength: 25, size: 'max' })

  /** Whether its records can be made over the API. */
  const canBeMade = ({ source, target }: AssociationWire) =>
    [source, target].every((name) =>
      types.find((type) => type.name === name)!.writable_operations.includes('create'),
    )

  it('holds after any links and deletions, and no edge outlives an end', async () => {
    // One of each cardinality, between two types and within one.
    const kinds = new Map(
      definitions
        .filter(canBeMade)
        .map((each) => [`${each.cardinality} ${each.source === each.target}`, each]),
    )
    const usable = [...kinds.values()]
    expect(new Set(usable.map((each) => each.cardinality))).toEqual(new Set(CARDINALITIES))
    expect(usable.filter(({ source, target }) => source === target)).not.toEqual([])
    let orgs = api.service.orgId + 1_000
    let deleted = 0
    for (const definition of usable) {
      const { name, source: sourceType, target: targetType } = definition
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          api.service.addOrg((orgs += 1))
          const caller = as('ada', { orgId: orgs })
          const four = async (type: string) => {
            const ids: string[] = []
            for (let index = 0; index < 4; index += 1) ids.push(await made(type, {}, caller))
            return ids
          }
          const sources = await four(sourceType)
          const targets = sourceType === targetType ? sources : await four(targetType)
          const live = new Set([...sources, ...targets])
          let edges: Edge[] = []
          for (const each of all) {
            const [source, target] = [sources[each.source]!, targets[each.target]!]
            if (each.kind === 'link') {
              const edge = { association: name, source, target }
              const known = edges.some((other) => edgeText(other) === edgeText(edge))
              const answer = await caller.link(sourceType, source, name, target)
              const isThere = live.has(source) && live.has(target)
              const refusal = live.has(source) ? 422 : 404
              expect(answer.status).toBe(!isThere ? refusal : known ? 200 : 201)
              if (isThere && !known) edges = [...replaced(edges, edge, definition), edge]
            } else {
              const isSource = each.kind === 'delete source'
              const id = isSource ? source : target
              await caller.remove(isSource ? sourceType : targetType, id)
              live.delete(id)
              const before = edges.length
              edges = edges.filter((edge) => edge.source !== id && edge.target !== id)
              deleted += before - edges.length
            }
          }
          for (const id of sources.filter((each) => live.has(each))) {
            const own = edges.filter((edge) => edge.source === id)
            expect(await edgesOf(caller, sourceType, id)).toEqual(
              own
                .map((edge) => edge.target)
                .toSorted()
                .map((target_id) => ({
                  association_type: name,
                  source_id: id,
                  target_id,
                  cardinality: definition.cardinality,
                })),
            )
          }
        }),
        { numRuns: runs(20) },
      )
    }
    expect(deleted).toBeGreaterThan(runs(10))
  })

  it.each(CARDINALITIES)('%s is kept among edges of several associations', (cardinality) => {
    const id = fc.constantFrom('a', 'b', 'c')
    const edge = fc.record({ association: fc.constantFrom('x', 'y'), source: id, target: id })
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), edge), { maxLength: 40 }), (all) => {
        const edges = new Edges()
        let model: Edge[] = []
        for (const [isLink, each] of all) {
          const own = model.filter(({ association }) => association === each.association)
          const rest = model.filter(({ association }) => association !== each.association)
          const others = own.filter((other) => edgeText(other) !== edgeText(each))
          expect(edges.has(each)).toBe(others.length < own.length)
          if (isLink) {
            const left = replaced(others, each, { cardinality })
            const gone = others.filter((other) => !left.includes(other))
            const told = edges.replacedBy(each, cardinality)
            expect(told.map(edgeText).toSorted()).toEqual(gone.map(edgeText).toSorted())
            for (const other of told) edges.remove(other)
            edges.add(each)
            model = [...rest, ...left, each]
          } else {
            edges.remove(each)
            model = [...rest, ...others]
          }
          for (const end of ['a', 'b', 'c']) {
            const from = model.filter(({ source }) => source === end)
            expect(edges.from(end).map(edgeText)).toEqual(from.map(edgeText).toSorted())
            const touching = model.filter(({ source, target }) => [source, target].includes(end))
            expect(new Set(edges.touching(end).map(edgeText))).toEqual(
              new Set(touching.map(edgeText)),
            )
          }
        }
      }),
    )
  })
})

describe('the edges of a record', () => {
  /** A deal that is linked to contacts. */
  async function linkedDeal(targets: readonly string[]): Promise<string> {
    const source = await made(deal)
    for (const target of targets) {
      expect((await api.link(deal, source, dealContact, target)).status).toBe(201)
    }
    return source
  }

  it('come in pages of 100, in one order, and end where they do', async () => {
    const targets = await many(contact, 230)
    const source = await linkedDeal(targets.toReversed())
    const [buyer, summary] = [await made(company), await made('svc_note')]
    await api.link(deal, source, 'svc_deal_summary', summary)
    await api.link(deal, source, 'svc_deal_company', buyer)
    // By association type, then by target.
    const expected = [buyer, ...targets, summary]
    expect(targetsOf(await edgesOf(api, deal, source))).toEqual(expected)
    const exact = await linkedDeal(targets.slice(0, 100))
    const { body } = await api.send('GET', edgesPath(deal, exact))
    expect(targetsOf(body.data)).toEqual(targets.slice(0, 100))
    expect(body.pagination).toEqual({ has_more: false, next_cursor: null })
  })

  it('go when one of their ends does, in a batch too', async () => {
    const targets = await many(contact, 5)
    const source = await linkedDeal(targets)
    await api.remove(contact, targets[0]!)
    const path = `/objects/${contact}/records/batch/delete/`
    const data = [{ id: targets[2]! }, { id: targets[4]! }]
    expect((await api.send('POST', path, { body: { data } })).body.summary.succeeded).toBe(2)
    expect(targetsOf(await edgesOf(api, deal, source))).toEqual([targets[1], targets[3]])
    await api.remove(deal, source)
    expectProblem(await api.send('GET', edgesPath(deal, source)), 404, 'not_found')
  })

  it('are gone from the data file as well: what nobody sees is not kept', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'records-sync-edges-'))
    const data = join(dir, 'crm.db')
    const kept = await startApi({ data })
    try {
      const [first, second] = [await made(contact, {}, kept), await made(contact, {}, kept)]
      const [parent, child] = [await made(company, {}, kept), await made(company, {}, kept)]
      await kept.link(contact, first, contactCompany, parent)
      await kept.link(contact, second, contactCompany, child)
      await kept.link(company, child, 'svc_company_parent', parent)
      await kept.link(company, child, 'svc_company_parent', child)
      await kept.link(company, parent, 'svc_company_parent', parent)
      const file = new DatabaseSync(data, { readOnly: true })
      const rows = () => file.prepare('SELECT source, target FROM edges ORDER BY source').all()
      expect(rows()).toHaveLength(4)
      await kept.remove(company, parent)
      await kept.remove(contact, second)
      expect(rows()).toEqual([{ source: child, target: child }])
      await kept.remove(company, child)
      expect(rows()).toEqual([])
      file.close()
    } finally {
      await kept.service.close()
      rmSync(dir, { recursive: true })
    }
  })

  it('are on one page each, whatever is linked and deleted meanwhile', async () => {
    const linked = fc.constantFrom('linked', 'linked', 'linked', 'later', 'deleted', 'both')
    await fc.assert(
      fc.asyncProperty(
        fc.array(linked, { minLength: 210, maxLength: 260, size: 'max' }),
        async (fates) => {
          const targets = await many(contact, fates.length)
          const withFate = (...wanted: string[]) =>
            targets.filter((_target, index) => wanted.includes(fates[index]!))
          const source = await linkedDeal(withFate('linked', 'deleted'))
          const later = withFate('later', 'both')
          const deleted = withFate('deleted', 'both')
          // What is written between the pages is spread over all of them, those that were read already included.
          const shuffled = <Item>(list: Item[]) =>
            list.map((_item, index) => list[(index * 37) % list.length]!)
          const links = new Set(shuffled(later))
          const removals = new Set(shuffled(deleted))
          const firstOf = <Item>(set: Set<Item>, count: number) => {
            const first = [...set].slice(0, count)
            for (const item of first) set.delete(item)
            return first
          }
          const found = await edgesOf(api, deal, source, async () => {
            for (const target of firstOf(links, 20)) {
              await api.link(deal, source, dealContact, target)
            }
            for (const target of firstOf(removals, 20)) await api.remove(contact, target)
          })
          const shown = targetsOf(found)
          expect(new Set(shown).size).toBe(shown.length)
          expect(shown).toEqual(shown.toSorted())
          const staying = new Set(withFate('linked'))
          expect(shown.filter((target) => staying.has(target))).toEqual([...staying])
        },
      ),
      { numRuns: runs(10) },
    )
  })

  it('leave out what the key cannot see, and pages know nothing of it', async () => {
    const [ada, ben] = [as('ada'), as('ben')]
    const targets = await many(contact, 150)
    const source = await linkedDeal(targets)
    // Every third, and all behind the hundredth that is left.
    const hidden = targets.filter((_target, index) => index % 3 === 0 || index >= 149)
    for (const target of hidden) await api.update(contact, target, { svc_private: true })
    const visible = targets.filter((target) => !hidden.includes(target))
    expect(visible).toHaveLength(99)
    const more = await made(contact)
    await api.link(deal, source, dealContact, more)
    const secret = await made(contact, { svc_private: true }, ben)
    await ben.link(deal, source, dealContact, secret)
    const { body } = await ada.send('GET', edgesPath(deal, source))
    expect(targetsOf(body.data)).toEqual([...visible, more].toSorted())
    expect(body.pagination).toEqual({ has_more: false, next_cursor: null })
    expect(targetsOf(await edgesOf(ben, deal, source))).toEqual(
      [...visible, more, secret].toSorted(),
    )
    expect(targetsOf(await edgesOf(api, deal, source))).toEqual(
      [...targets, more, secret].toSorted(),
    )
    const narrow = as('ada', { grants: { [deal]: full } })
    expect(await edgesOf(narrow, deal, source)).toEqual([])
  })

  it('take the place of those that the key sees, and of no other', async () => {
    const [ada, ben] = [as('ada'), as('ben')]
    const source = await made(contact)
    const secret = await made(company, { svc_private: true }, ben)
    expect((await ben.link(contact, source, contactCompany, secret)).status).toBe(201)
    for (let time = 0; time < 2; time += 1) {
      const target = await made(company)
      expect((await ada.link(contact, source, contactCompany, target)).status).toBe(201)
      expect(targetsOf(await edgesOf(ada, contact, source))).toEqual([target])
      expect(targetsOf(await edgesOf(ben, contact, source))).toEqual([secret, target].sort())
    }
    const target = await made(company)
    await ben.link(contact, source, contactCompany, target)
    expect(targetsOf(await edgesOf(api, contact, source))).toEqual([target])
  })

  it('are made by a body of either form', async () => {
    const [source, target] = [await made(contact), await made(company)]
    const path = `${edgesPath(contact, source)}${contactCompany}/`
    expect((await api.send('PUT', path, { body: { target_id: target } })).status).toBe(201)
    const again = await api.send('PUT', path, { body: { data: { target_id: target } } })
    expect(again.status).toBe(200)
    expect(targetsOf(await edgesOf(api, contact, source))).toEqual([target])
  })

  it('are those of a record that is there, of a type that the key may read', async () => {
    expectProblem(await api.send('GET', edgesPath(deal, 'nothing')), 404, 'not_found')
    const source = await made(deal)
    expectProblem(await api.send('GET', edgesPath(contact, source)), 404, 'not_found')
    const stranger = as('ada', { grants: { [contact]: full } })
    expectProblem(await stranger.send('GET', edgesPath(deal, source)), 404, 'not_found')
  })

  it('take a cursor of theirs only, for 24 hours', async () => {
    const targets = await many(contact, 101)
    const [source, other] = [await linkedDeal(targets), await linkedDeal(targets)]
    const { body } = await api.send('GET', edgesPath(deal, source))
    const cursor: string = body.pagination.next_cursor
    const read = (id: string, given: string) =>
      api.send('GET', `${edgesPath(deal, id)}?cursor=${encodeURIComponent(given)}`)
    const records = (await api.query(contact, { limit: 1 })).body.pagination.next_cursor
    for (const [id, given] of [
      [other, cursor],
      [source, 'made up'],
      [source, `${cursor}x`],
      [source, ''],
      [source, records],
    ] as const) {
      expectProblem(await read(id, given), 400, 'request_invalid', 'cursor_invalid')
    }
    const listing = await api.query(deal, { cursor })
    expectProblem(listing, 400, 'request_invalid', 'cursor_invalid')
    clock.nowMs += CURSOR_LIFETIME_MS - 1
    expect(targetsOf((await read(source, cursor)).body.data)).toEqual([targets[100]])
    clock.nowMs += 1
    expectProblem(await read(source, cursor), 400, 'request_invalid', 'cursor_invalid')
  })
})
