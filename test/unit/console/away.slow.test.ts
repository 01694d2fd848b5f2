// What the console reads is away, and comes back; what it reads, and how often.

import { setTimeout as sleep } from 'node:timers/promises'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { STREAMS_MAX } from '../../../src/console/live-streams.ts'
import type { Overview } from '../../../src/console/views/overview.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openSite, type ConsoleSite } from './site.ts'

async function withSite(
  work: (site: ConsoleSite) => Promise<void>,
  options: Parameters<typeof openSite>[0] = {},
): Promise<void> {
  const site = await openSite(options)
  try {
    await work(site)
  } finally {
    await site.close()
  }
}

const overview = async ({ url }: ConsoleSite) =>
  (await (await fetch(`${url}/api/v1/overview`)).json()) as Overview

/** A clock that a test moves. */
const movedClock = () => {
  let ms = Date.now()
  return { now: () => ms, move: (by: number) => void (ms += by) }
}

it('a ledger that is away is said to be, and asked again', async () => {
  const clock = movedClock()
  await withSite(
    async (site) => {
      expect((await overview(site)).problems).toEqual([])
      site.away.ledger = true
      clock.move(5_000)
      const data = await overview(site)
      expect(data.problems).toMatchObject([{ of: 'ledger' }])
      expect(data.syncs.map(({ state }) => state)).toEqual(data.syncs.map(() => 'not known'))
      // Nothing that is not known is said.
      const shown = await (await fetch(site.url)).text()
      expect(shown).toContain('8 syncs; how they stand is not known now')
      expect(shown).not.toMatch(/>\s*never\s*<|no run yet|none needs you/)
      const page = await fetch(`${site.url}/runs/${site.runs['rejects']}`)
      expect(page.status).toBe(503)
      const text = await page.text()
      expect(text).toContain('The ledger cannot be read now')
      expect(text).toContain('data-live="away"')
      expect(text).toContain('http-equiv="refresh"')
      const json = await fetch(`${site.url}/api/v1/runs/${site.runs['rejects']}`)
      expect(json.status).toBe(503)
      expect(await json.json()).toMatchObject({ error: { code: 'ledger_away' } })
      site.away.ledger = false
      clock.move(5_000)
      expect((await overview(site)).problems).toEqual([])
      expect((await fetch(`${site.url}/runs/${site.runs['rejects']}`)).status).toBe(200)
    },
    { clock },
  )
})

describe('a ledger file', () => {
  /** What a person is told who reads or acts, and whether anything came of it. */
  const expectRefused = async (site: ConsoleSite, clock: ReturnType<typeof movedClock>) => {
    clock.move(5_000)
    expect((await overview(site)).problems).toMatchObject([
      { of: 'ledger', text: expect.stringContaining('nothing more is written') as string },
    ])
    const live = `/runs/${site.runs['live']}`
    for (const path of [live, '/syncs/deals', `${live}/cancel`]) {
      const page = await fetch(`${site.url}${path}`)
      expect([path, page.status]).toEqual([path, 503])
      expect(await page.text()).toContain('nothing more is written')
    }
    const session = await fetch(`${site.url}/api/v1/session`)
    const { csrf } = (await session.json()) as { csrf: string }
    const headers = {
      'x-csrf-token': csrf,
      cookie: session.headers.get('set-cookie')!.split(';')[0]!,
    }
    for (const path of [`${live}/cancel`, '/syncs/companies/run']) {
      const sent = await fetch(`${site.url}/api/v1${path}`, { method: 'POST', headers })
      expect([path, sent.status]).toEqual([path, 503])
      expect(await sent.json()).toMatchObject({ error: { code: 'ledger_away' } })
    }
  }
  const pathOf = ({ folder }: ConsoleSite, name = 'ledger.db') => join(folder, name)
  const move = (site: ConsoleSite, from: string, to: string) => {
    for (const more of ['', '-wal', '-shm'])
      if (existsSync(pathOf(site, from + more)))
        renameSync(pathOf(site, from + more), pathOf(site, to + more))
  }

  it('that was moved away is not written, none is made in its place, and it counts once it is back', async () => {
    const clock = movedClock()
    await withSite(
      async (site) => {
        expect((await overview(site)).problems).toEqual([])
        const before = (await site.ledger.actions({ limit: 9 })).length
        move(site, 'ledger.db', 'moved.db')
        await expectRefused(site, clock)
        expect(existsSync(pathOf(site))).toBe(false)
        // Another one in its place is another one.
        await openSqliteLedger(pathOf(site)).close()
        await expectRefused(site, clock)
        const other = openSqliteLedger(pathOf(site))
        expect(await other.actions({ limit: 9 })).toEqual([])
        await other.close()
        move(site, 'ledger.db', 'other.db')
        move(site, 'moved.db', 'ledger.db')
        clock.move(5_000)
        expect((await overview(site)).problems).toEqual([])
        expect((await site.ledger.actions({ limit: 9 })).length).toBe(before)
      },
      { clock },
    )
  })

  it('that was written over is neither read nor written', async () => {
    const clock = movedClock()
    await withSite(
      async (site) => {
        expect((await overview(site)).problems).toEqual([])
        writeFileSync(pathOf(site), 'something else')
        await expectRefused(site, clock)
        expect(readFileSync(pathOf(site), 'utf8')).toBe('something else')
      },
      { clock },
    )
  })
})

it('a Temporal server that is away is said to be, and pages do not wait for it', async () => {
  const clock = movedClock()
  await withSite(
    async (site) => {
      expect((await overview(site)).syncs[0]!.schedule).toMatchObject({ state: 'active' })
      site.away.temporal = true
      clock.move(20_000)
      // What is known is shown while it is read again.
      await overview(site)
      await expect.poll(() => overview(site)).toMatchObject({ problems: [{ of: 'temporal' }] })
      expect((await overview(site)).syncs[0]!.schedule).toMatchObject({ state: 'unknown' })
      site.away.temporal = false
      clock.move(20_000)
      await overview(site)
      await expect.poll(() => overview(site)).toMatchObject({ problems: [] })
    },
    { clock },
  )
  const never = () => new Promise<never>(() => {})
  await withSite(
    async (site) => {
      const began = Date.now()
      expect((await overview(site)).syncs).toHaveLength(8)
      expect(Date.now() - began).toBeLessThan(10_000)
    },
    { parts: { readSchedules: never } },
  )
})

it('a configuration that cannot be read leaves the last good one', async () => {
  await withSite(async (site) => {
    site.away.config = true
    const data = await overview(site)
    expect(data.problems).toMatchObject([{ of: 'configuration' }])
    expect(data.syncs).toHaveLength(8)
    site.away.config = false
    expect((await overview(site)).problems).toEqual([])
  })
})

it('a project without a ledger has syncs that never ran', async () => {
  const parts = { openLedger: async () => null }
  await withSite(
    async (site) => {
      const { syncs, problems } = await overview(site)
      expect(problems).toEqual([])
      expect(syncs.map(({ state }) => state)).toEqual(syncs.map(() => 'never run'))
      expect((await fetch(`${site.url}/syncs/contacts`)).status).toBe(200)
      expect((await fetch(`${site.url}/runs/1`)).status).toBe(404)
    },
    { parts },
  )
})

/** Notes the methods of the ledger that are called. */
const noting =
  (calls: string[]) =>
  (ledger: Ledger): Ledger =>
    new Proxy(ledger, {
      get(target, name) {
        const method = target[name as keyof Ledger] as unknown
        if (typeof method !== 'function') return method
        return (...values: unknown[]) => {
          calls.push(String(name))
          return (method as (...of: unknown[]) => unknown).apply(target, values)
        }
      },
    })

/** What goes through the items of a run. */
const ITEM_READERS = [
  'books',
  'rejectGroups',
  'report',
  'timeline',
  'leftByRun',
  'leftRows',
  'written',
  'imageCounts',
] as const satisfies readonly (keyof Ledger)[]

it('the overview and the page of a run read no items', async () => {
  const calls: string[] = []
  await withSite(
    async (site) => {
      for (const path of ['/', ...Object.values(site.runs).map((id) => `/runs/${id}`)]) {
        calls.length = 0
        expect((await fetch(`${site.url}${path}`)).status).toBe(200)
        expect(calls.length).toBeGreaterThan(1)
        // But for whether anything is left of a run with few rejects, which is asked of a bounded number of rows.
        const isAsked = calls.includes('retryRows')
        const read = calls.filter(
          (name) =>
            (ITEM_READERS as readonly string[]).includes(name) &&
            !(isAsked && name === 'rejectGroups'),
        )
        expect({ path, read }).toEqual({ path, read: [] })
      }
      calls.length = 0
      await fetch(`${site.url}/runs/${site.runs['rejects']}/rejects`)
      expect(calls).toContain('rejectGroups')
    },
    { seen: noting(calls) },
  )
})

/** Opens a stream of events; gives what came so far. */
function openStream({ url }: ConsoleSite) {
  const stream = { status: 0, text: '', end: () => {} }
  const asked = get(`${url}/live`, (answer) => {
    stream.status = answer.statusCode!
    answer.setEncoding('utf8').on('data', (part: string) => (stream.text += part))
    answer.on('error', () => {})
  })
  asked.on('error', () => {})
  stream.end = () => asked.destroy()
  return stream
}

it('many streams cost one reading a second, and none costs nothing', async () => {
  const calls: string[] = []
  await withSite(
    async (site) => {
      const streams = Array.from({ length: 40 }, () => openStream(site))
      await expect
        .poll(() => streams.filter(({ text }) => text.includes('run-live-')).length)
        .toBe(40)
      // The page of the run and what follows it say how far its step is, by the same name.
      const page = await (await fetch(`${site.url}/runs/${site.runs['live']}`)).text()
      const [, id, amount] = /class="soft"\s+id="(run-step-[^"]+)"\s*>([^<]+)</.exec(page)!
      const [, data] = /^data: (.*run-step-.*)$/m.exec(streams[0]!.text)!
      expect((JSON.parse(data!) as { fragments: object }).fragments).toMatchObject({
        [id!]: amount,
      })
      calls.length = 0
      const began = Date.now()
      await sleep(3_000)
      const readings = calls.filter((name) => name === 'liveRuns').length
      expect(readings).toBeGreaterThan(0)
      expect(readings).toBeLessThanOrEqual(Math.ceil((Date.now() - began) / 1_000))
      for (const { end } of streams) end()
      await expect
        .poll(async () => {
          const before = calls.length
          await sleep(1_500)
          return calls.length - before
        })
        .toBe(0)
    },
    { seen: noting(calls) },
  )
})

it('streams have a bound, and one that ends makes room', async () => {
  await withSite(async (site) => {
    const streams = Array.from({ length: STREAMS_MAX }, () => openStream(site))
    await expect.poll(() => streams.filter(({ status }) => status === 200).length).toBe(STREAMS_MAX)
    const more = openStream(site)
    await expect.poll(() => more.status).toBe(503)
    // Pages are answered meanwhile.
    expect((await fetch(site.url)).status).toBe(200)
    streams[0]!.end()
    await expect
      .poll(async () => {
        const again = openStream(site)
        await expect.poll(() => again.status).not.toBe(0)
        again.end()
        return again.status
      })
      .toBe(200)
    for (const { end } of [...streams, more]) end()
  })
})

it('10,000 streams are refused but for those that have room, and pages are answered', async () => {
  const calls: string[] = []
  await withSite(
    async (site) => {
      const agent = new Agent({ maxSockets: Infinity, keepAlive: true })
      const before = process.memoryUsage().rss
      const ends: Record<string, number> = {}
      const open: { destroy(): void }[] = []
      const one = () =>
        new Promise<void>((resolve) => {
          const end = (how: string) => {
            ends[how] = (ends[how] ?? 0) + 1
            resolve()
          }
          const asked = get(`${site.url}/live`, { agent }, (answer) => {
            end(String(answer.statusCode))
            answer.on('error', () => {}).resume()
          })
          asked.on('error', () => end('closed'))
          open.push(asked)
        })
      for (let wave = 0; wave < 25; wave++) {
        await Promise.all(Array.from({ length: 400 }, one))
        // Nobody who holds streams holds the pages.
        expect((await fetch(site.url)).status).toBe(200)
      }
      expect(ends['200']).toBe(STREAMS_MAX)
      expect((ends['503'] ?? 0) + (ends['closed'] ?? 0)).toBe(10_000 - STREAMS_MAX)
      expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1_048_576)
      calls.length = 0
      const began = Date.now()
      await sleep(2_000)
      expect(calls.filter((name) => name === 'liveRuns').length).toBeLessThanOrEqual(
        Math.ceil((Date.now() - began) / 1_000) + 1,
      )
      for (const each of open) each.destroy()
      agent.destroy()
    },
    { seen: noting(calls) },
  )
})

it('a path that leads elsewhere leads nowhere', async () => {
  await withSite(async (site) => {
    const { port } = new URL(site.url)
    const paths = [
      '/../records-sync.yaml',
      '/assets/../../records-sync.yaml',
      '/assets/%2e%2e/%2e%2e/records-sync.yaml',
      '/assets/..%2f..%2frecords-sync.yaml',
      '/assets/....//records-sync.yaml',
      '//etc/passwd',
      '/%2fetc%2fpasswd',
      '/runs/..%2f..%2frecords-sync.yaml',
      '/runs/1%00/report',
      '/syncs/..%2f..%2frecords-sync.yaml',
      '/syncs/__proto__',
      '/syncs/constructor',
      '/api/v1/syncs/__proto__',
      '/api/v1/runs/1e3',
      '/api/v1/runs/-1/report',
      '/%',
      '/\\..\\records-sync.yaml',
    ]
    for (const path of paths) {
      const { status, text } = await new Promise<{ status: number; text: string }>(
        (resolve, reject) => {
          // As it is: a URL would be put right before it is sent.
          get({ host: '127.0.0.1', port, path }, (answer) => {
            let body = ''
            answer.setEncoding('utf8').on('data', (part: string) => (body += part))
            answer.on('end', () => resolve({ status: answer.statusCode!, text: body }))
          }).on('error', reject)
        },
      )
      expect({ path, status: [400, 404].includes(status) ? 'refused' : status }).toEqual({
        path,
        status: 'refused',
      })
      expect(text).not.toMatch(/matching_property|root:|connections:/)
    }
  })
})
