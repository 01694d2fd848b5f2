// The object types of section 5, and the association types among them.

import { describe, expect, it } from 'vitest'
import { AssociationWire, ObjectSchema } from '../../../src/contract/index.ts'
import { compileType, withChange } from '../../../src/service/schema/object-types.ts'
import { SYSTEM_ASSOCIATIONS, SYSTEM_TYPES } from '../../../src/service/schema/system-types.ts'

describe('the object types', () => {
  // Section 5 rule 6, as it stands there.
  const full = ['create', 'update', 'delete', 'associate']
  const accepts: [string[], string[]][] = [
    [['svc_meeting'], ['associate']],
    [['svc_meeting_notes', 'svc_booking', 'svc_email_thread', 'svc_file'], []],
    [['svc_web_visit', 'svc_web_visitor'], []],
    [['svc_risk'], []],
    [['svc_linkedin_conversation', 'svc_call', 'svc_sms_conversation'], full],
    [['svc_contact', 'svc_company', 'svc_deal', 'svc_note', 'svc_task', 'project'], full],
  ]
  it.each(accepts)('%j accept %j', (names, operations) => {
    for (const name of names) {
      expect(SYSTEM_TYPES.get(name)?.summary.writable_operations).toEqual(operations)
    }
  })

  it('are these and no others, each whole', () => {
    expect([...SYSTEM_TYPES.keys()].sort()).toEqual(accepts.flatMap(([names]) => names).sort())
    for (const type of SYSTEM_TYPES.values()) {
      const schema = ObjectSchema.parse(type.schema)
      const names = schema.properties.map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      const isChangeable = schema.writable_operations.includes('update')
      const byHand = schema.properties.find(({ name }) => name === 'svc_private')!
      expect(byHand.writability).toBe(isChangeable ? 'writable' : 'read_only')
      // A plural differs from its singular in its end only.
      expect(schema.label_plural).toContain(schema.label.slice(0, -1))
    }
  })
})

describe('a type', () => {
  const visit = {
    name: 'visit',
    label_plural: 'Visits',
    is_system: false,
    properties: [
      { name: 'page', field_type: 'url' },
      { name: 'hits', field_type: 'number' },
    ],
  }
  const kept = ['svc_created_at', 'svc_updated_at', 'svc_created_by', 'svc_private']

  it('whose records are created, and never changed, has private ones too', () => {
    const accepts = (writable_operations: ('create' | 'delete')[]) => {
      const { summary, properties } = compileType({ ...visit, writable_operations })
      const { writability } = properties.get('svc_private')!.wire
      return [writability, summary.allows_custom_properties]
    }
    expect(accepts(['create'])).toEqual(['writable', true])
    expect(accepts(['delete'])).toEqual(['read_only', false])
  })

  it('changes into another one, and stays as it is', () => {
    const before = compileType(visit)
    const after = withChange(before, {
      add: [{ name: 'code', field_type: 'text', is_unique: true }],
      remove: ['hits', 'svc_created_at', 'nobody'],
    })
    expect([...after.properties.keys()]).toEqual(['page', 'code', ...kept])
    expect(after.schema.properties.map(({ name }) => name)).toEqual(['page', 'code', ...kept])
    expect(after.unique.map(({ name }) => name)).toEqual(['code'])
    expect([...before.properties.keys()]).toEqual(['page', 'hits', ...kept])
  })

  it('has no property twice', () => {
    for (const name of ['page', 'svc_private']) {
      const add = [{ name, field_type: 'text' }]
      expect(() => withChange(compileType(visit), { add })).toThrow(
        `visit: the property ${name} is there twice`,
      )
    }
  })
})

it('association types go from a type to a type', () => {
  for (const [name, association] of SYSTEM_ASSOCIATIONS) {
    expect(AssociationWire.parse(association).name).toBe(name)
    expect(SYSTEM_TYPES.has(association.source)).toBe(true)
    expect(SYSTEM_TYPES.has(association.target)).toBe(true)
  }
})
