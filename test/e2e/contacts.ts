// The contacts that most tests import, and their configuration.

/** One import of contacts, with a SQLite ledger. */
export const defaultConfig = `
ledger: ./ledger.db
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
      properties:
        svc_external_id: id
        svc_first_name: first_name
        svc_email: { column: email, split: ";" }
        svc_score: score
`

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
