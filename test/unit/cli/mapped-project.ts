// A project on a real service with one import, `people`, of contacts.csv.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startService } from '../../../src/service/index.ts'

/**
 * Its configuration, in which `properties` begin in line 11.
 * @param files by name
 */
export async function mappedProject(
  objectType: string,
  properties: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'records-sync-mapped-'))
  const service = await startService()
  onTestFinished(async () => {
    await service.close()
    rmSync(dir, { recursive: true })
  })
  writeFileSync(join(dir, 'key'), service.key, { mode: 0o600 })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  const config = join(dir, 'records-sync.yaml')
  const lines = [
    'ledger: ./ledger.db',
    `connections: { crm: { service: "${service.url}", key: { file: ./key } } }`,
    'syncs:',
    '  people:',
    '    import:',
    '      from: { csv: ./contacts.csv }',
    '      to: crm',
    `      object_type: ${objectType}`,
    '      matching_property: svc_external_id',
    '      properties:',
    ...properties.map((line) => `        ${line}`),
  ]
  writeFileSync(config, `${lines.join('\n')}\n`)
  return config
}
