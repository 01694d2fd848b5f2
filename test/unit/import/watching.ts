// What a run sends and looks up, at a service whose answers show nothing of the records.

import type { ImportClient } from '../../../src/import/ports.ts'
import { clientWith } from './scene.ts'

type Answer = Awaited<ReturnType<ImportClient['batchUpsert']>>

/** As a service answers that tells nothing of its records: only reading them back shows what they hold. */
const bare = (answer: Answer): Answer => ({
  ...answer,
  data: answer.data.map((result) => ({ ...result, record: undefined })),
})

/** Counts rows that are sent, and look-ups; `stores` is what the service makes of a property. */
export function watching(
  stores: (name: string) => string = (name) => name,
  property = 'svc_first_name',
) {
  const seen = { sent: 0, lookUps: 0 }
  const changed = (batch: unknown) => {
    const { body, count } = batch as { body: string; count: number }
    seen.sent += count
    const { data } = JSON.parse(body) as { data: { properties: Record<string, string> }[] }
    const items = data.map(({ properties, ...item }) => {
      const name = properties[property]
      const stored = name === undefined ? {} : { [property]: stores(name) }
      return { ...item, properties: { ...properties, ...stored } }
    })
    return { body: JSON.stringify({ data: items }), count }
  }
  const through = (client: ImportClient): ImportClient =>
    clientWith(client, {
      batchUpsert: async (type, matching, batch, options) =>
        bare(await client.batchUpsert(type, matching, changed(batch), options)),
      batchCreate: async (type, batch, options) =>
        bare(await client.batchCreate(type, changed(batch), options)),
      queryRecords: (...given) => {
        seen.lookUps++
        return client.queryRecords(...given)
      },
    })
  return { seen, through }
}

export const otherwise = (name: string) => `not ${name}`
