// Batches on a service that has none, when the time to send them is over in their middle.

import { expect, onTestFinished, test, vi } from 'vitest'
import { RecordsClient } from '../../../src/client/index.ts'
import { Deadline } from '../../../src/core/deadline.ts'
import { startOtherService } from '../../other-service/index.ts'

test.each(['batchUpsert', 'batchCreate'] as const)(
  '%s: items that were answered count, and the others may be sent again',
  async (operation) => {
    const service = await startOtherService({
      lacks: ['batchCreate', 'batchUpdate', 'batchUpsert', 'batchDelete'],
      types: [{ name: 'thing', properties: [{ name: 'code', kind: 'text', unique: true }] }],
      prefix: '',
    })
    const client = new RecordsClient({ baseUrl: service.url, key: service.key })
    onTestFinished(async () => {
      await client.close()
      await service.close()
    })
    const sendBefore = new Deadline(3_600_000)
    vi.spyOn(sendBefore, 'isOver').mockImplementation(() => service.records('thing').length >= 2)
    const items = ['a', 'b', 'c', 'd'].map((code) => ({ properties: { code } }))
    const send = () =>
      operation === 'batchUpsert'
        ? client.batchUpsert('thing', 'code', { items }, { sendBefore })
        : client.batchCreate('thing', { items }, { sendBefore })
    const { data, summary } = await send()
    expect(data.map(({ status }) => status)).toEqual([201, 201, 503, 503])
    expect(data[2]!.problem).toMatchObject({
      code: 'service_unavailable',
      detail: expect.stringContaining('was not sent'),
    })
    expect(summary).toEqual({ total: 4, succeeded: 2, failed: 2 })
    expect(service.records('thing')).toHaveLength(2)
  },
)
