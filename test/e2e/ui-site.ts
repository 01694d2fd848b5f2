// What an operator has: a service, a Temporal server with its UI, a worker, a configuration.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import type { UiLocation } from '../../src/core/temporal/temporal-ui.ts'
import { silentLogger } from '../../src/core/ports.ts'
import { startTemporal } from '../../src/dev/temporal-server.ts'
import { startService, type RunningService } from '../../src/service/index.ts'
import { contactsCsv } from './project.ts'
import { startWorkerHere } from './worker.ts'

export interface UiSite {
  readonly place: UiLocation
  readonly address: string
  readonly configFile: string
  readonly service: RunningService
  /** Id of the project. */
  readonly project: string
  readonly client: Client
  stop(): Promise<void>
}

const config = (ui: string | null) => `
ledger: ./ledger.db
temporal: { ui: "${ui}" }
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  lake: { duckdb: ./lake.duckdb }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties:
        svc_external_id: id
        svc_first_name: first_name
        svc_email: { column: email, split: ";" }
        svc_score: score
  crm_copy:
    mirror: { from: crm, to: lake, object_types: [svc_contact] }
`

/** `rows` of contacts to import, `limitPerMinute` requests to do it with. */
export async function startUiSite(options: {
  readonly cliPath: string
  readonly rows: number
  readonly limitPerMinute: number
}): Promise<UiSite> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-ui-'))
  const service = await startService({ limitPerMinute: options.limitPerMinute })
  const temporal = await startTemporal({ cliPath: options.cliPath, logger: silentLogger })
  const { address, uiUrl, namespace } = temporal
  writeFileSync(join(dir, 'contacts.csv'), contactsCsv(options.rows))
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  const configFile = join(dir, 'records-sync.yaml')
  writeFileSync(configFile, config(uiUrl))
  const worker = await startWorkerHere({
    configFile,
    env: { RECORDS_URL: service.url },
    temporal: { address, namespace },
    logger: silentLogger,
  })
  const connection = await Connection.connect({ address })
  return {
    place: { ui: uiUrl!, namespace },
    address,
    configFile,
    service,
    project: worker.project,
    client: new Client({ connection, namespace }),
    async stop() {
      worker.shutdown()
      await worker.stopped.catch(() => {})
      await connection.close()
      await temporal.stop()
      await service.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
