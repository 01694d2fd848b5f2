// The conformance kit and the other service, which keeps the specification in ways of its own: no rule is broken, and none is
// left unchecked for want of a record to write.

import { expect, it, onTestFinished } from 'vitest'
import { runConformance } from '../../src/conform/index.ts'
import { startOtherService } from './index.ts'
import type { OtherServiceOptions } from './index.ts'

it.each<[string, OtherServiceOptions]>([
  ['short and empty pages', { pages: 'empty', cursors: 'same', times: 'short' }],
  [
    'everything in another way',
    {
      prefix: 'q_',
      fieldTypes: 'other',
      paths: 'other',
      self: 'prose',
      times: 'offset',
      batchItems: 'bare',
      batchStatus: 207,
      lowerEmails: true,
      pages: 'short',
    },
  ],
])('%s', async (_, options) => {
  const service = await startOtherService(options)
  onTestFinished(() => service.close())
  const contact = service.name('contact')
  service.addKey('reader-key', { grants: { [contact]: 'read', thing: 'read' } })
  service.fill(
    contact,
    Array.from({ length: 30 }, (__, n) =>
      Object.fromEntries(
        Object.entries({
          external_id: `e${n}`,
          email: [`a${n}@x.org`],
          first_name: `First${n % 7}`,
          score: n * 1.5,
          subscribed: n % 2 === 0,
          birth_date: `1990-01-${String((n % 28) + 1).padStart(2, '0')}`,
          last_seen: `2024-01-01T00:00:${String(n).padStart(2, '0')}.000Z`,
          revenue: { amount: `${n}.50`, unit: 'EUR' },
          stage: 'new',
        }).map(([name, value]) => [service.name(name), value]),
      ),
    ),
  )
  service.fill(service.name('company'), [{ [service.name('name')]: 'A' }])
  const before = JSON.stringify(service.org.snapshot())
  const report = await runConformance({
    service: service.url,
    key: service.key,
    otherKey: 'reader-key',
    write: [contact, 'thing'],
    requestsMax: 5_000,
  })
  const of = (kind: string) => report.rules.filter(({ verdict }) => verdict.kind === kind)
  expect(of('broken')).toEqual([])
  const unwritten = of('unchecked').filter(({ verdict }) =>
    JSON.stringify(verdict).includes('scratch'),
  )
  expect(unwritten).toEqual([])
  expect(of('kept').length).toBeGreaterThan(170)
  expect(report.leftovers).toEqual([])
  expect(JSON.stringify(service.org.snapshot())).toBe(before)
})
