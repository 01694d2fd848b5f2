// The association types of an org (section 2.5): which records can be linked, and how many.

import type { AssociationWire, Cardinality } from '../contract/index.ts'

function association(
  name: string,
  label: string,
  source: string,
  target: string,
  cardinality: Cardinality,
): AssociationWire {
  return { name, label, source, target, cardinality, description: '' }
}

/** Every association type of an org, by name. */
export const ASSOCIATION_TYPES: ReadonlyMap<string, AssociationWire> = new Map(
  [
    association('svc_contact_company', 'Company', 'svc_contact', 'svc_company', 'many_to_one'),
    association('svc_deal_contact', 'Contacts', 'svc_deal', 'svc_contact', 'many_to_many'),
    association('svc_meeting_contact', 'Contacts', 'svc_meeting', 'svc_contact', 'many_to_many'),
  ].map((type) => [type.name, type]),
)
