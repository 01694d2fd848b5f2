// Contacts to begin with. Promise kept here: the same number gives the same contacts, times included.

import { seededRandom } from '../limits/faults.ts'
import { ADMINISTRATOR } from '../auth/keys.ts'
import type { Org } from './org.ts'
import { writeRecord } from './writes.ts'

const sight = { user: ADMINISTRATOR, reach: 'org' } as const
const startMs = Date.UTC(2026, 0, 1)
const first = ['Ada', 'Bela', 'Chiara', 'Dmitri', 'Elif', 'Farid', 'Greta', 'Hugo', 'Ines', 'Jonas']
const last = ['Albers', 'Bianchi', 'Costa', 'Demir', 'Eriksson', 'Fischer', 'Garcia', 'Horvat']
const titles = ['Buyer', 'Engineer', 'Head of Sales', 'Owner']
const stages = ['subscriber', 'lead', 'opportunity', 'customer', 'former']

/** Creates `count` contacts, a second apart from 2026-01-01 on. */
export function seedContacts(org: Org, count: number): void {
  const type = org.types.get('svc_contact')!
  const random = seededRandom(count)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  for (let index = 1; index <= count; index += 1) {
    const given = pick(first)
    const family = pick(last)
    const properties = {
      svc_external_id: `seed-${index}`,
      svc_first_name: given,
      svc_last_name: family,
      svc_job_title: pick(titles),
      svc_email: [`${given}.${family}.${index}@example.com`],
      svc_score: Math.floor(random() * 1_000) / 10,
      svc_lifecycle_stage: pick(stages),
      svc_lifetime_value: { amount: String(Math.floor(random() * 10_000)), unit: 'EUR' },
      svc_subscribed: random() < 0.5,
      svc_source: 'seed',
    }
    const context = org.writing(sight, type, startMs + index * 1_000)
    const outcome = org.transaction(() => writeRecord(context, null, properties, ''))
    if ('refused' in outcome) throw new Error(`Seed contact ${index}: ${outcome.refused.detail}`)
  }
}
