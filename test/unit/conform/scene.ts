// A service with records of every kind, and what the kit says of it.

import { runConformance } from '../../../src/conform/index.ts'
import type { ConformOptions, ConformReport } from '../../../src/conform/index.ts'
import { startService } from '../../../src/service/index.ts'
import type { RunningService, ServiceOptions } from '../../../src/service/index.ts'
import { startBroken } from './breaking.ts'
import type { Breakage } from './breaking.ts'

/** 12 contacts, with values that are absent, several, and of two currencies; two companies. */
export async function startScene(options: ServiceOptions = {}): Promise<RunningService> {
  const service = await startService({ seedRecords: 10, ...options })
  const make = async (type: string, properties: object) => {
    const answer = await fetch(`${service.url}/rest/v1/objects/${type}/records/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ data: { properties } }),
    })
    if (answer.status !== 201) throw new Error(`the scene was not made: ${await answer.text()}`)
  }
  await make('svc_contact', {
    svc_external_id: 'scene-1',
    svc_first_name: 'Quirin',
    svc_email: ['quirin@example.com', 'q@example.org'],
    svc_phone: ['+49 30 901820'],
    svc_tags: ['vip', 'press'],
    svc_birthday: '1980-02-29',
    svc_last_contacted_at: '2026-03-01T08:00:00Z',
    svc_website: 'https://example.com/quirin',
    svc_notes: 'met at the fair',
    svc_lifetime_value: { amount: '0.10', unit: 'USD' },
  })
  await make('svc_contact', { svc_external_id: 'scene-2', svc_birthday: '1991-07-01' })
  await make('svc_company', { svc_external_id: 'company-1', svc_name: 'Wolke' })
  await make('svc_company', { svc_external_id: 'company-2', svc_name: 'Regen' })
  return service
}

/** What the kit says of the service as a breakage makes it. */
export async function conformBroken(
  service: RunningService,
  breakage: Breakage,
  options: Partial<ConformOptions> = {},
): Promise<ConformReport> {
  const proxy = await startBroken(service.url, breakage)
  try {
    return await runConformance({ service: proxy.url, key: service.key, ...options })
  } finally {
    proxy.close()
  }
}

/** The ids of the rules with that verdict. */
export const idsOf = (
  { rules }: ConformReport,
  kind: ConformReport['rules'][number]['verdict']['kind'],
): string[] => rules.filter(({ verdict }) => verdict.kind === kind).map(({ id }) => id)

/** Every record of the service, as text. */
export function everythingIn(service: RunningService): string {
  const types = ['svc_contact', 'svc_company', 'svc_deal', 'svc_meeting', 'svc_risk', 'project']
  return JSON.stringify(types.map((type) => [...service.records(type)]))
}
