// Settings of records whose rows are gone: what fits neither each other nor the source nor the mode has one error, with its line, the
// value and what is valid.

import { expect, test } from 'vitest'
import { importOf, issuesOf, load } from './project.ts'

const withImport = (more: string, from = '{ csv: rows.csv }') => `connections:
  crm:
    service: https://crm.example
    key: { env: KEY }
warehouses:
  lake: { duckdb: lake.duckdb }
syncs:
  contacts:
    import:
      from: ${from}
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties:
        svc_external_id: id
        svc_email: email
      ${more}
`

const INCREMENTAL =
  "{ query: 'SELECT * FROM t WHERE u >= :watermark', warehouse: lake, watermark: { column: u, initial: '0' } }"

test('what is given is what is loaded', async () => {
  const config = await load(
    withImport(
      "missing_rows: { clear: { svc_status: gone, svc_owner: null } }\n      missing_rows_max_percent: 0\n      delete_when: { column: state, equals: '1' }",
    ),
  )
  expect(importOf(config, 'contacts')).toMatchObject({
    missing_rows: { clear: { svc_status: 'gone', svc_owner: null } },
    missing_rows_max_percent: 0,
    delete_when: { column: 'state', equals: ['1'] },
  })
})

test.each([
  [
    'missing_rows: remove',
    '17:21: `syncs.contacts.import.missing_rows` is `remove`; expected `ignore`, `delete` or a mapping',
  ],
  [
    'missing_rows: { clear: {} }',
    '17:30: expected at least one property with its value, such as `clear: { svc_status: gone }`',
  ],
  [
    'missing_rows: { clear: { svc_external_id: x } }',
    '17:32: records are found by the matching property, so it stays as it is; remove it from `clear`',
  ],
  [
    'missing_rows_max_percent: 5',
    '17:7: nothing is deleted without `missing_rows` or `delete_when`; add one of them, or remove `missing_rows_max_percent`',
  ],
  [
    'missing_rows: delete\n      missing_rows_max_percent: 101',
    '18:33: `syncs.contacts.import.missing_rows_max_percent` is `101`; expected a number from 0 to 100',
  ],
  [
    'missing_rows: delete\n      mode: update',
    '17:21: `mode: update` writes records that others have created, and deletes none; valid: ignore, clear: { PROPERTY: value }',
  ],
  [
    'delete_when: { column: state, equals: gone }\n      mode: update',
    '17:7: `mode: update` writes records that others have created, and deletes none; remove `delete_when`, or choose the mode: upsert, create',
  ],
  [
    'delete_when: { column: state, equals: 1 }',
    '17:45: `syncs.contacts.import.delete_when.equals` is `1`; expected a text or a list',
  ],
  [
    'delete_when: { column: state }',
    '17:7: missing key `equals` in `syncs.contacts.import.delete_when`',
  ],
  [
    'delete_when: { column: state, equals: [] }',
    '17:45: `syncs.contacts.import.delete_when.equals` is a list; expected at least one word',
  ],
])('%s is refused', async (more, issue) => {
  expect(await issuesOf(withImport(more))).toEqual([issue])
})

test('a query that reads what is new cannot say which rows are gone, only which say so', async () => {
  expect(await issuesOf(withImport('missing_rows: delete', INCREMENTAL))).toEqual([
    '17:21: a query with `watermark` reads what is new, so a row that it does not return is not gone; valid: ignore. Or remove `watermark`, or name a column that says what is deleted (`delete_when`)',
  ])
  expect(
    await issuesOf(withImport("delete_when: { column: d, equals: 'true' }", INCREMENTAL)),
  ).toEqual([])
})
