// An import whose rows are a query's answer: through a worker, twice, with balanced books and nothing sent again; and by a
// watermark, with only what is new.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProject, type Project } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject({
    config: `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  lake: { duckdb: ":memory:" }
syncs:
  contacts:
    import:
      from:
        warehouse: lake
        query: |
          SELECT 'c-' || id AS id, name, points::DECIMAL(10, 2) AS score, string_split(mails, ' ') AS mails
          FROM read_csv('export-*.csv') ORDER BY id
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: all
      properties:
        svc_external_id: id
        svc_last_name: name
        svc_score: score
        svc_email: mails
  recent:
    import:
      from:
        warehouse: lake
        query: |
          SELECT 'r-' || id AS id, id AS place, name, mails FROM read_csv('export-*.csv')
          WHERE place >= :watermark ORDER BY place
        watermark: { column: place, initial: 0 }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties:
        svc_external_id: id
        svc_last_name: name
        svc_email: mails
`,
  })
  project.write(
    'export-1.csv',
    'id,name,points,mails\n1,Ada,10.50,a@x.org a@y.org\n2,Béa,3,b@x.org\n',
  )
  project.write('export-2.csv', 'id,name,points,mails\n3,Cy,,c@x.org\n')
  await project.startWorker()
})
afterAll(() => project.stop())

it('imports the rows of a query, and sends nothing twice', async () => {
  const first = await (await project.start('contacts')).result()
  expect(first).toMatchObject({ state: 'complete', books: { states: { created: 3 } } })
  expect(project.held().get('c-1')).toMatchObject({
    svc_last_name: 'Ada',
    svc_score: 10.5,
    svc_email: ['a@x.org', 'a@y.org'],
  })
  expect(project.held().get('c-3')).toMatchObject({ svc_last_name: 'Cy', svc_score: null })
  const again = await (await project.start('contacts')).result()
  expect(again).toMatchObject({
    state: 'complete',
    books: { states: { unchanged: 3, created: 0 } },
  })
})

it('imports what is new since the last run, and again what was invalid', async () => {
  const states = async () => {
    const { state, books } = await (await project.start('recent')).result()
    return { state, read: books.read, ...books.states }
  }
  const first = await states()
  expect(first).toMatchObject({ state: 'complete_with_rejects', created: 2, invalid: 1 })
  project.write('export-3.csv', 'id,name,points,mails\n4,Di,,d@x.org\n')
  const plan = JSON.parse((await project.command('plan', 'recent', '--json')).out)
  expect(plan).toMatchObject({
    rows_read: 3,
    carried: 1,
    rows: { pending: 1, unchanged: 1 },
  })
  const second = { state: 'complete_with_rejects', read: 3, created: 1, unchanged: 1, invalid: 1 }
  expect(await states()).toMatchObject(second)
  expect(await states()).toMatchObject({ ...second, read: 2, created: 0 })
  project.write('export-4.csv', 'id,name,points,mails\n5,Ed,,e@x.org\n')
  expect(await states()).toMatchObject(second)
  expect([...project.held().keys()].filter((id) => id.startsWith('r-')).toSorted()).toEqual([
    'r-2',
    'r-3',
    'r-4',
    'r-5',
  ])
})
