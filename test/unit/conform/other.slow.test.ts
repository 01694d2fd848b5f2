// The kit and another implementation of the service: what the specification leaves open is no fault.

import { describe, expect, test } from 'vitest'
import { runConformance } from '../../../src/conform/index.ts'
import type { ConformReport } from '../../../src/conform/index.ts'
import { startOtherService } from '../../other-service/index.ts'
import type { OtherServiceOptions } from '../../other-service/index.ts'
import { idsOf } from './scene.ts'

async function judged(options: OtherServiceOptions): Promise<ConformReport> {
  const service = await startOtherService(options)
  try {
    const write = [service.name('contact'), service.name('company')]
    return await runConformance({ service: service.url, key: service.key, write })
  } finally {
    await service.close()
  }
}

/** What needs another key, records that were there before, or a spent quota. */
const needsMore = [
  '4.3.5.write-forbidden',
  '4.5.list-pages',
  '4.5.cursor-carries-query',
  '8.rate-limited',
]

describe('a service keeps every rule', () => {
  test.each<[string, OtherServiceOptions]>([
    ['as it is, with an e-mail that is unique and a list', {}],
    ['with other names and paths', { prefix: 'zz_', fieldTypes: 'other', paths: 'other' }],
    ['whose batch items have no record', { batchItems: 'bare' }],
    ['whose batch items are 204', { batchItems: '204' }],
    ['whose pages are short', { pages: 'short' }],
  ])('%s', async (_what, options) => {
    const report = await judged(options)
    expect(
      report.rules.flatMap(({ id, verdict }) =>
        verdict.kind === 'broken' ? [[id, verdict.evidence]] : [],
      ),
    ).toEqual([])
    expect(report.unprepared).toEqual([])
    expect(idsOf(report, 'unchecked').filter((id) => !needsMore.includes(id))).toEqual([])
    expect(report.leftovers).toEqual([])
  })

  test('but those that it breaks: an update answers with the record', async () => {
    const report = await judged({ singleWrites: 'nothing' })
    expect(idsOf(report, 'broken')).toEqual(['4.update', '4.3.2.patch'])
  })
})
