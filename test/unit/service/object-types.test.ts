// The object types of section 5, and the association types among them.

import { describe, expect, it } from 'vitest'
import { AssociationWire, ObjectSchema } from '../../../src/contract/index.ts'
import { SYSTEM_ASSOCIATIONS, SYSTEM_TYPES } from '../../../src/service/system-types.ts'

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
