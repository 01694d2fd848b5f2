// What `records-sync init` writes where it knows of no file.

/** A commented configuration that works unchanged with `records-sync dev`. */
export const STARTER_CONFIG = `# records-sync.yaml: what is kept in step with what. Paths count from this file's folder.
# A text may hold \${NAME} or \${NAME:-default}, filled from the environment.

# ledger: .records-sync/ledger.db      # where the outcome of every row is kept

connections:
  crm:
    service: "\${RECORDS_URL:-http://127.0.0.1:8080}" # that of "records-sync dev"; yours: https://…
    key: { file: .records-sync/dev.key } # written by "records-sync dev"; yours: "\${RECORDS_API_KEY}",
                                         # { file: ./crm.key } or { command: "op read …" }
    # quota: { reserve_percent: 20 }     # of the requests a minute, left to people and other applications

syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }      # more: delimiter, quote, encoding
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id # decides which record a row is
      empty: omit                        # an empty cell: omit, clear or reject
      verify: sample                     # read back what was written: none, sample or all
      properties:
        svc_external_id: id              # property: column
        svc_first_name: first_name
        svc_last_name: last_name
        svc_email: { column: email, split: ";" }
        # svc_birthday: { column: born, type: date, format: DD.MM.YYYY }
        # svc_lifetime_value: { column: amount, unit: EUR }
        # svc_source: { value: "csv import" }
      # rows_max: 100000                 # a run that would send more asks first: "records-sync approve"
    tests:                               # what rows become: "records-sync check --save-schema" once, then
      - name: Several addresses in a cell # "records-sync test", which asks no service
        row: { id: C-900, first_name: Ada, email: "ada@example.com;ada@example.org" }
        expect:
          svc_external_id: C-900
          svc_first_name: Ada
          svc_last_name: (not sent)      # an empty cell leaves the property alone; more: (cleared)
          svc_email: [ada@example.com, ada@example.org]
      - name: An address without @ is set aside
        row: { id: C-901, email: ada(at)example.com }
        reject: not_an_email in email
    # schedule: every 15 minutes         # then "records-sync schedules apply"
  # crm_tables:                          # the other way: the service's records as tables
  #   mirror: { from: crm, to: lake }    # more: object_types, associations, deletions

# warehouses:
#   lake: { duckdb: ./lake.duckdb }      # or { postgres: "\${DWH_URL}" }

# notifications:                         # who gets a message when a run needs a person
#   ops: { url: "\${SLACK_URL}" }
# worker: { listen: 127.0.0.1:9464 }     # metrics and health
# temporal: { address: localhost:7233, namespace: default }
`
