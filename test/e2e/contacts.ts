// The contacts that most tests import, and their configuration.

const PROPERTIES = `
        svc_external_id: id
        svc_first_name: first_name
        svc_email: { column: email, split: ";" }
        svc_score: score`

/** One import of contacts. What is given is YAML; more of the sync, or more syncs, can be put behind it. */
export const contactsConfig = ({
  ledger = './ledger.db',
  service = '"${RECORDS_URL}"',
  settings = 'verify: none',
  properties = PROPERTIES,
}: {
  readonly ledger?: string
  readonly service?: string
  /** Lines of the import. */
  readonly settings?: string
  readonly properties?: string
} = {}): string => `
ledger: ${ledger}
connections:
  crm: { service: ${service}, key: { file: ./key } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      ${settings}
      properties: ${properties}
`

/** With a SQLite ledger. */
export const defaultConfig = contactsConfig()

/** The columns of the default configuration, `rows` of them; `edit` changes a row's cells. */
export function contactsCsv(
  rows: number,
  edit: (index: number, cells: string[]) => string[] = (_, cells) => cells,
): string {
  const lines = ['id,first_name,email,score']
  for (let index = 1; index <= rows; index++)
    lines.push(
      edit(index, [
        `c-${index}`,
        `Name ${index}`,
        `person${index}@example.com`,
        String(index),
      ]).join(','),
    )
  return `${lines.join('\n')}\n`
}
