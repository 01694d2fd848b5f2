// Modes of an import, and the settings that say nothing in one of them: each has one error with its line, the value and what is valid.

import { expect, test } from 'vitest'
import { importOf, issuesOf, load } from './project.ts'

const withImport = (mode: string, more: string, properties: string) => `connections:
  crm:
    service: https://crm.example
    key: { env: KEY }
syncs:
  contacts:
    import:
      from: { csv: rows.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      mode: ${mode}
      ${more}
      properties:
        svc_external_id: id
        ${properties}
`
const email = 'svc_email: email'

test.each(['create', 'update', 'upsert'])('mode %s loads', async (mode) => {
  const config = await load(withImport(mode, 'rows_max: 5', email))
  expect(importOf(config, 'contacts').mode).toBe(mode)
})

test.each([
  [
    'insert',
    'rows_max: 5',
    email,
    '12:13: `syncs.contacts.import.mode` is `insert`; expected one of `upsert`, `create`, `update`; did you mean `upsert`?',
  ],
  [
    'update',
    'creates_max_percent: 5',
    email,
    '13:7: `mode: update` creates nothing; remove `creates_max_percent`, or choose the mode: upsert, create',
  ],
  [
    'update',
    'rows_max: 5',
    '',
    '14:7: `mode: update` changes properties other than the matching one, and `properties` has only `svc_external_id`; map at least one more',
  ],
  [
    'create',
    'clears_max_percent: 5',
    email,
    '13:7: `mode: create` clears nothing; remove `clears_max_percent`, or choose the mode: upsert, update',
  ],
  [
    'create',
    'empty: clear',
    email,
    '13:14: `clear` empties a property of a record that exists, and `mode: create` writes none of these; valid: omit, reject',
  ],
  [
    'create',
    'rows_max: 5',
    'svc_email: { column: email, empty: clear }',
    '16:44: `clear` empties a property of a record that exists, and `mode: create` writes none of these; valid: omit, reject',
  ],
])('mode %s with %s and %j is refused', async (mode, more, properties, issue) => {
  expect(await issuesOf(withImport(mode, more, properties))).toEqual([issue])
})

test('an update without a matching property is refused', async () => {
  const text = withImport('update', 'rows_max: 5', email).replace(/ +matching_property.*\n/, '')
  expect(await issuesOf(text)).toEqual([expect.stringContaining('matching_property')])
})
