import { test } from 'vitest'
import { CONTACT, mirrorScene, SCHEMA } from './scene.ts'
const N = Number(process.env['RECONCILE_N'] ?? 20000)
test('bench', async () => {
  let t = performance.now()
  const lap = (what: string) => {
    console.log(
      what,
      Math.round(performance.now() - t),
      'ms',
      Math.round(process.memoryUsage().rss / 1e6),
      'MB',
    )
    t = performance.now()
  }
  const s = await mirrorScene({ service: { seedRecords: N } })
  lap('seeded')
  const tuning = { rows_per_range: 20_000, rows_per_merge: 10_000, readers: 8 }
  const r = await s.run({ tuning })
  lap(`mirrored ${r.requests}`)
  const ids = s.service.records(CONTACT).map(({ id }) => id)
  const pick = (i: number) => ids[Math.floor((((i * 7919 + 13) % 100003) / 100003) * N)]!
  const missing = Array.from({ length: 34 }, (_, i) => pick(i))
  const stale = Array.from({ length: 33 }, (_, i) => pick(i + 100))
  const extra = Array.from({ length: 33 }, (_, i) => pick(i + 200))
  const list = (l: string[]) => l.map((x) => `'${x}'`).join()
  await s.alter(
    `DELETE FROM ${SCHEMA}.${CONTACT} WHERE _id IN (${list(missing)})`,
    `UPDATE ${SCHEMA}.${CONTACT} SET _version = _version - INTERVAL 1 DAY, svc_job_title = 'old' WHERE _id IN (${list(stale)})`,
  )
  for (const id of extra) await s.client.deleteRecord(CONTACT, id)
  lap('planted')
  for (const scope of [
    {},
    { repair: true },
    {},
    ...(process.env['FULL'] ? [{ full: true }] : []),
  ]) {
    const times: Record<string, [number, number]> = {}
    const f = await s.reconcile({
      scope,
      tuning,
      tables: (tables) =>
        new Proxy(tables, {
          get(target, key) {
            const v = (target as any)[key]
            if (typeof v !== 'function') return v
            return async (...args: any[]) => {
              const b = performance.now()
              try {
                return await v.apply(target, args)
              } finally {
                const e = (times[String(key)] ??= [0, 0])
                e[0]++
                e[1] += Math.round(performance.now() - b)
              }
            }
          },
        }),
    })
    lap(
      `${JSON.stringify(scope)} ${f.requests} requests, read ${f.streams[CONTACT]!.read}, ${f.message} ${JSON.stringify(times)}`,
    )
  }
}, 3_000_000)
