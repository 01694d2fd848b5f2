// Refusals that may be of one row or of all: 403 and 404 of whole requests, 403 of row after row inside answers, and rows that are
// always answered with 500. A real service; the client between it and the run refuses.

import { expect, test } from 'vitest'
import { liveProgressOf } from '../../../src/report/live-progress.ts'
import type { BatchAnswer } from '../../../src/client/index.ts'
import { ServiceFailure } from '../../../src/core/errors.ts'
import { DEFAULT_IMPORT_TUNING, type ImportClient } from '../../../src/import/ports.ts'
import { RefusedInRow } from '../../../src/import/judge/refusals.ts'
import { clientWith, importScene } from './scene.ts'

type Upsert = ImportClient['batchUpsert']

const sceneOf = async (names: readonly string[]) => {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_first_name: { column: 'name' },
  })
  scene.rows(
    ['id', 'name'],
    names.map((name, index) => [`c-${index}`, name]),
  )
  return scene
}
const named = (count: number, poisoned: (index: number) => boolean) =>
  Array.from({ length: count }, (_, index) => (poisoned(index) ? 'Poison' : 'Ada'))

const refusal = (status: 403 | 404, reason?: string) =>
  new ServiceFailure(`batchUpsert: refused with ${status}`, {
    kind: 'problem',
    disposition: 'halt',
    block: status === 403 ? 'permission' : 'contract',
    outcomeUnknown: false,
    status,
    problemCode: status === 403 ? 'permission_denied' : 'not_found',
    ...(reason !== undefined && { reason }),
  })

/** Refuses whole requests that have a row named `Poison`; counts all requests. */
function refusing(failure: ServiceFailure) {
  const counts = { requests: 0 }
  const through = (client: ImportClient) =>
    clientWith(client, {
      batchUpsert: async (...given: Parameters<Upsert>) => {
        counts.requests++
        if (!JSON.stringify(given[2]).includes('Poison')) return await client.batchUpsert(...given)
        given[3]?.permit?.unused()
        throw failure
      },
    })
  return { through, counts }
}

/** Answers rows of that name with a status of their own, and passes the others on. */
const answering = (client: ImportClient, status: 403 | 500, name = 'Poison') =>
  clientWith(client, {
    batchUpsert: async (...given: Parameters<Upsert>): Promise<BatchAnswer> => {
      const [type, matching, batch, options] = given
      const { data } = JSON.parse((batch as { body: string }).body) as { data: object[] }
      const isBad = data.map((item) => JSON.stringify(item).includes(name))
      const taken = data.filter((_, index) => !isBad[index])
      const answer =
        taken.length === 0
          ? { data: [], requestId: 'none' }
          : await client.batchUpsert(
              type,
              matching,
              { body: JSON.stringify({ data: taken }), count: taken.length },
              options,
            )
      if (taken.length === 0) options?.permit?.unused()
      const code = status === 403 ? 'permission_denied' : 'internal_error'
      const problem = { type: 'x', title: 'x', detail: 'x', status, code }
      let next = 0
      const results = isBad.map((bad, index) =>
        bad ? { index, status, record: null, problem } : { ...answer.data[next++]!, index },
      )
      return { ...answer, data: results } as unknown as BatchAnswer
    },
  })

test.each([403, 404] as const)(
  'a row that makes the whole request a %s is set aside, and the others are written',
  async (status) => {
    const scene = await sceneOf(named(120, (index) => index === 17 || index === 119))
    const { through, counts } = refusing(refusal(status))
    const ended = await scene.run({ through })
    expect(ended.state).toBe('complete_with_rejects')
    expect(ended.books.states).toMatchObject({ created: 118, refused: 2 })
    expect(counts.requests).toBeLessThan(35)
  },
  60_000,
)

test.each([1, 4])(
  'a service that refuses all with 403 blocks the run after a few rows sent alone, and sets none aside (%s in flight)',
  async (in_flight) => {
    const scene = await sceneOf(named(300, () => true))
    const { through, counts } = refusing(refusal(403))
    await expect(scene.run({ through, tuning: { in_flight } })).rejects.toThrow(/permission/)
    expect(counts.requests).toBeLessThanOrEqual(5 + in_flight)
    const [run] = await scene.ledger.runs({ limit: 1 })
    expect(run).toMatchObject({ state: 'blocked', reason: 'permission' })
    expect(await scene.ledger.progress(run!.id)).toMatchObject({ rejected: 0, planned: 300 })
  },
  60_000,
)

test('a refusal that is the key’s or the type’s, as its reason says, blocks the run at once', async () => {
  const scene = await sceneOf(named(120, (index) => index === 3))
  const { through, counts } = refusing(refusal(403, 'write_forbidden'))
  await expect(scene.run({ through, tuning: { in_flight: 1 } })).rejects.toThrow(/permission/)
  expect(counts.requests).toBe(1)
})

test('row after row refused with 403 inside answers blocks the run, and what was sent is bounded', async () => {
  const scene = await sceneOf(named(600, () => true))
  const through = (client: ImportClient) => answering(client, 403)
  await expect(scene.run({ through, tuning: { in_flight: 1 } })).rejects.toThrow(
    /permission: the service refused 100 rows in a row with 403/,
  )
  const [run] = await scene.ledger.runs({ limit: 1 })
  expect(run).toMatchObject({ state: 'blocked', reason: 'permission' })
  expect(await scene.ledger.progress(run!.id)).toMatchObject({ rejected: 100 })
}, 60_000)

test('rows refused with 403 among others are rejects; a run may let more of them pass', async () => {
  const among = await sceneOf(named(300, (index) => index % 4 > 0))
  const through = (client: ImportClient) => answering(client, 403)
  expect(await among.run({ through })).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { created: 75, refused: 225 } },
  })
  const all = await sceneOf(named(300, () => true))
  expect(await all.run({ through, tuning: { refused_in_row_max: 1_000 } })).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { refused: 300 } },
  })
}, 60_000)

test('a row that is always answered with 500 says so while the run waits for it', async () => {
  const scene = await sceneOf(named(60, (index) => index === 9))
  const shown = new Set<string | undefined>()
  const look = async () => {
    const [run] = await scene.ledger.runs({ limit: 1 })
    shown.add((await liveProgressOf(scene.ledger, run!))?.details[0])
  }
  const through = (client: ImportClient) => {
    const answered = answering(client, 500)
    return clientWith(answered, {
      batchUpsert: async (...given: Parameters<Upsert>) => {
        await look()
        return await answered.batchUpsert(...given)
      },
    })
  }
  const ended = await scene.run({ through, tuning: { item_backoff_ms: [1] } })
  expect(ended.books.states).toMatchObject({ created: 59, outcome_unknown: 1 })
  expect([...shown]).toContain('1 row answered with 500 (internal_error), to be sent again')
}, 60_000)

test.each([1, 6])(
  'a sync that has written rows is not blocked by %s rows that are refused again, with nothing else to send',
  async (bad) => {
    const scene = await sceneOf(named(60, (index) => index < bad))
    const { through, counts } = refusing(refusal(403))
    expect((await scene.run({ through })).books.states).toMatchObject({ refused: bad })
    counts.requests = 0
    expect(await scene.run({ through })).toMatchObject({
      state: 'complete_with_rejects',
      books: { states: { unchanged: 60 - bad, refused: bad } },
    })
    expect(counts.requests).toBeLessThan(5 * bad)
  },
)

test('a row that is a batch of its own at the end of a file, and refused, is set aside', async () => {
  const scene = await sceneOf(named(51, (index) => index === 50))
  const { through } = refusing(refusal(404))
  expect(await scene.run({ through, tuning: { in_flight: 1 } })).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { created: 50, refused: 1 } },
  })
})

test('a row that is refused before the first batch is answered waits for that answer', async () => {
  const scene = await sceneOf(named(51, (index) => index === 50))
  const { through } = refusing(refusal(404))
  let isRefused = () => {}
  const refused = new Promise<void>((resolve) => (isRefused = resolve))
  const late = (client: ImportClient) => {
    const inner = through(client)
    return clientWith(inner, {
      batchUpsert: async (...given: Parameters<Upsert>) => {
        if ((given[2] as { count: number }).count > 1) await refused
        return await inner.batchUpsert(...given).catch((error: unknown) => {
          setImmediate(isRefused)
          throw error
        })
      },
    })
  }
  expect(await scene.run({ through: late, tuning: { in_flight: 2 } })).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { created: 50, refused: 1 } },
  })
})

test('a service that begins to refuse all of a sync that it took blocks the run after a batch of rows sent alone', async () => {
  const scene = await sceneOf(named(300, () => false))
  await scene.run()
  scene.rows(
    ['id', 'name'],
    Array.from({ length: 300 }, (_, index) => [`c-${index}`, 'Poison']),
  )
  const { through } = refusing(refusal(403))
  await expect(scene.run({ through, tuning: { in_flight: 2 } })).rejects.toThrow(
    /permission: the service refused 5\d rows in a row/,
  )
  const [run] = await scene.ledger.runs({ limit: 1 })
  expect(run).toMatchObject({ state: 'blocked', reason: 'permission' })
  expect((await scene.ledger.progress(run!.id)).rejected).toBeLessThan(60)
})

test('a refused row whose answer was lost before is set aside as well', async () => {
  const scene = await sceneOf(named(120, (index) => index % 7 === 3))
  const { through } = refusing(refusal(403))
  let lost = 0
  const losing = (client: ImportClient) => {
    const refused = through(client)
    return clientWith(refused, {
      batchUpsert: async (...given: Parameters<Upsert>) => {
        const isAlone = (given[2] as { count: number }).count === 1
        if (!isAlone || !JSON.stringify(given[2]).includes('Poison') || lost++ > 0)
          return await refused.batchUpsert(...given)
        given[3]?.permit?.unused()
        throw new ServiceFailure('no answer', {
          kind: 'no_answer',
          disposition: 'retry',
          block: 'service',
          outcomeUnknown: true,
        })
      },
    })
  }
  expect(await scene.run({ through: losing, tuning: { resend_backoff_ms: [1] } })).toMatchObject({
    state: 'complete_with_rejects',
    books: { states: { created: 103, refused: 17 } },
  })
  expect(lost).toBeGreaterThan(1)
})

test('at a service of single writes a few rows in a row are set aside', () => {
  const refused = new RefusedInRow(0)
  const alone = () => {
    if (!refused.maySetAside(1)) return false
    refused.noteAlone(refusal(403))
    return true
  }
  expect(Array.from({ length: 7 }, alone)).toEqual([true, true, true, true, true, false, false])
  refused.noteAnswer([{ status: 201 }])
  expect(alone()).toBe(true)
  expect(refused.maySetAside(50)).toBe(true)
  expect(refused.blocked(1, DEFAULT_IMPORT_TUNING)).toBeNull()
})
