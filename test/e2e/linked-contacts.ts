// Contacts that are linked to companies, and companies as a sync of their own.

import { RecordsClient } from '../../src/client/index.ts'
import type { Project } from './project.ts'

export const ASSOCIATION = 'svc_contact_company'

export const linksConfig = (ledger = './ledger.db', missing = 'park'): string => `
ledger: ${ledger}
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      verify: none
      properties: { svc_external_id: id, svc_first_name: first_name }
      links:
        - association: ${ASSOCIATION}
          to: svc_company
          by: svc_domain
          column: company
          missing: ${missing}
  companies:
    import:
      from: { csv: ./companies.csv }
      to: crm
      object_type: svc_company
      matching_property: svc_domain
      verify: none
      properties: { svc_domain: domain }
  links:
    link:
      from: { csv: ./links.csv }
      to: crm
      association: ${ASSOCIATION}
      source: { object_type: svc_contact, by: svc_external_id, column: contact }
      target: { object_type: svc_company, by: svc_domain, column: domain }
`

export const domainOf = (index: number, domains: number): string => `d${index % domains}.example`

/** Contacts `c-1` and so on, each with the domain of a company. */
export const linkedContactsCsv = (
  rows: number,
  domains: number,
  { name = 'Name', shift = 0 }: { readonly name?: string; readonly shift?: number } = {},
): string =>
  [
    'id,first_name,company',
    ...Array.from(
      { length: rows },
      (_, at) => `c-${at + 1},${name} ${at + 1},${domainOf(at + 1 + shift, domains)}`,
    ),
    '',
  ].join('\n')

export const companiesCsv = (domains: number): string =>
  ['domain', ...Array.from({ length: domains }, (_, at) => `d${at}.example`), ''].join('\n')

/** The domains that each contact is linked to, by external id. */
export async function linkedDomains(project: Project): Promise<Map<string, readonly string[]>> {
  const { url, key } = project.service
  const client = new RecordsClient({ baseUrl: url, key })
  try {
    const domains = new Map(
      [...project.service.records('svc_company')].map(({ id, properties }) => [
        id,
        String(properties['svc_domain']),
      ]),
    )
    const contacts = [...project.service.records('svc_contact')]
    const found = await Promise.all(
      contacts.map(async ({ id, properties }) => {
        const { data } = await client.listAssociationEdges('svc_contact', id)
        const ids = data.map((edge) => domains.get(edge.target_id) ?? edge.target_id)
        return [String(properties['svc_external_id']), ids] as const
      }),
    )
    return new Map(found)
  } finally {
    await client.close()
  }
}
