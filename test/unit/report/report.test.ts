// What a report says of runs of every kind, from a real ledger; what it never says; and the command that writes it.

import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reportCommand } from '../../../src/cli/commands/report.ts'
import { whatToSee } from '../../../src/cli/follow/report-end.ts'
import { figuresOf } from '../../../src/report/run-figures.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openSqliteQuota } from '../../../src/ledger/sqlite/quota.ts'
import { ticksOf } from '../../../src/report/charts.ts'
import { readRunAccount } from '../../../src/report/account.ts'
import { collectReport } from '../../../src/report/collect.ts'
import { html } from '../../../src/report/escape.ts'
import { timeText, durationText, percentText, shortNumber } from '../../../src/report/format.ts'
import { renderReport } from '../../../src/report/html.ts'
import type { RunReport } from '../../../src/report/run-report.ts'
import { verdictWithLaterRuns } from '../../../src/report/later-runs.ts'
import { reportVerdict } from '../../../src/report/verdict.ts'
import { linkedRun } from '../../suites/ledger/link-scene.ts'
import { row } from '../../suites/ledger/scene.ts'
import { quotaRow } from '../cli/quota-row.ts'
import { said } from '../cli/said.ts'
import { comparedData, mirrorData, reportData } from './data.ts'
import * as scenes from './scenes.ts'

let folder: string
let ledger: Ledger
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-sync-report-'))
  ledger = openSqliteLedger(join(folder, 'ledger.db'), { signingKey: 'a signing key of the test' })
})
afterEach(async () => {
  await ledger.close()
  await rm(folder, { recursive: true })
})

const madeAt = '2030-01-01T00:00:00.000Z'

async function collect(id: number): Promise<RunReport> {
  const run = (await ledger.run(id))!
  return await collectReport(ledger, run, {
    madeAt,
    hint: (command) => `records-sync ${command}`,
    ui: { ui: 'https://temporal.example.com', namespace: 'default' },
    limitPerMinute: 600,
  })
}

const commandsOf = ({ verdict }: RunReport): (string | null)[] =>
  verdict.next.map(({ command }) => command)

describe('a report', () => {
  test('of an import with rejects: books, errors by kind, and what mends them', async () => {
    const id = await scenes.importWithRejects(ledger)
    const data = await collect(id)
    expect(data.verdict).toMatchObject({ tone: 'look', words: 'Complete, with rejects' })
    expect(data.verdict.meaning).toBe('17 of 100 rows were rejected; the other 83 are done.')
    expect(commandsOf(data)).toEqual([
      `records-sync rejects ${id}`,
      `records-sync retry ${id} --file rejects-${id}/*.csv`,
      `records-sync retry ${id}`,
    ])
    expect(data.books).toMatchObject({ rows: { read: 100, sum: 100 }, balanced: true })
    expect(data.books!.rows.states.map(({ state, count }) => [state, count])).toEqual([
      ['created', 56],
      ['updated', 27],
      ['invalid', 8],
      ['refused', 9],
    ])
    const where = { reason: 'schema_invalid', property: 'svc_email' }
    expect(data.errors).toEqual({
      rows: 17,
      groups: [
        {
          ...where,
          rows: 9,
          state: 'refused',
          code: 'request_invalid',
          column: null,
          example_row: 10,
        },
        {
          ...where,
          rows: 8,
          state: 'invalid',
          code: 'row_invalid',
          column: 'Mail',
          example_row: 93,
        },
      ],
      omitted: 0,
    })
    expect(data.work).toMatchObject({ requests: 2, limit_per_minute: 600 })
    expect(data.provenance).toMatchObject({
      from: 'file contacts.csv',
      to: 'svc_contact of connection crm, by svc_external_id',
      source_digest: 'ab'.repeat(32),
      key_fingerprint: '1a2b3c4d5e6f',
      warnings: ['a warning of the mapping'],
      manifest: { signed: true, previous: null },
    })
    expect(data.provenance.workflow_url).toContain(
      'https://temporal.example.com/namespaces/default/workflows/import-contacts/',
    )
    expect(data.provenance.manifest!.digest).toMatch(/^[0-9a-f]{64}$/)
  })

  test('of what it did over time: rows in shares of it, requests a minute against the limit', async () => {
    const id = await scenes.importWithRejects(ledger)
    // The second request, 20 minutes after the first.
    const db = new DatabaseSync(join(folder, 'ledger.db'))
    const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 14, minute)).toISOString()
    const move = db.prepare('UPDATE requests SET sent_at = ?, settled_at = ? WHERE batch = ?')
    move.run(at(0), at(0), 1)
    move.run(at(20), at(20), 2)
    db.close()
    const { work } = await collect(id)
    expect(work.outcomes).toMatchObject({ share_seconds: 25 })
    const { points } = work.outcomes!
    expect(points).toHaveLength(48)
    expect([points[0]!.at, points[47]!.at]).toEqual([at(0), '2026-11-21T14:19:35.000Z'])
    expect(points[0]).toMatchObject({ created: 30, updated: 15, rejected: 5 })
    expect(points[47]).toMatchObject({ created: 26, updated: 12, rejected: 4 })
    // Three shares are the first to make a minute.
    expect(work.rate).toMatchObject({ share_seconds: 75 })
    expect(work.rate!.points.map((point) => point.per_minute)).toEqual([
      0.8,
      ...Array.from({ length: 14 }, () => 0),
      0.8,
    ])
    expect(renderReport(await collect(id))).toContain('Requests a minute, in shares of 1 min 15 s')
  })

  test('of an import with links: their books, and what becomes of those that are left', async () => {
    const rejected = await linkedRun(
      ledger,
      [
        ['a', 'x', 'y'],
        ['b', 'z'],
      ],
      ({ target }) => (target === 'x' ? 'linked' : target === 'y' ? 'target_missing' : 'refused'),
    )
    const data = await collect(rejected.run)
    expect(data.run.links).toMatchObject({
      read: 3,
      replaced: 0,
      linked: 1,
      waiting: 1,
      reasons: { target_missing: 1, refused: 1 },
    })
    expect(data.books!.balanced).toBe(true)
    expect(data.books!.links!.states.map(({ state, count }) => [state, count])).toEqual([
      ['linked', 1],
      ['target_missing', 1],
      ['refused', 1],
    ])
    const page = renderReport(data)
    expect(page).toContain('<h3>Links</h3>')
    expect(page).toContain(
      '3 links = 1 linked + 1 waiting (target_missing 1) + 1 rejected (refused 1).',
    )
    const run = { ...(await ledger.run(rejected.run))!, state: 'complete_with_rejects' } as const
    const hint = (command: string) => command
    expect(reportVerdict(run, { ...data, comparison: null }, hint)).toMatchObject({
      tone: 'look',
      words: 'Complete, with rejected links',
      meaning:
        'All 2 rows have their outcome, and none needs you. 1 link was rejected. 1 link waits for its target: a later run links it once the target exists.',
      next: [{ command: `show ${rejected.run}` }],
    })
    // A table counts links with the rows, and the files of `rejects` have rows alone.
    expect(figuresOf(run, await readRunAccount(ledger, run), null).slice(2)).toEqual([1, 0])
    expect(whatToSee({ hint }, run)).toBe(`The links: show ${rejected.run}`)
    const waiting = await linkedRun(ledger, [['a', 'y', 'x']], () => 'target_missing')
    const later = await collect(waiting.run)
    expect(later.verdict).toMatchObject({
      tone: 'look',
      words: 'Complete, with waiting links',
      next: [],
    })
    expect(await collect((await linkedRun(ledger, [['c']])).run)).toMatchObject({
      books: { links: null },
      run: { links: null },
    })
  })

  test('of a retry, and of the run that it mended', async () => {
    const first = await scenes.importWithRejects(ledger)
    const second = await scenes.retry(ledger, first)
    const [old, again] = [await collect(first), await collect(second)]
    expect(old.retries).toEqual([
      expect.objectContaining({
        run: second,
        state: 'complete_with_rejects',
        rows: 17,
        mended: 9,
      }),
    ])
    expect(again.retry_of).toBe(first)
    expect(again.run.limits).toBe(
      `rows left over by run ${first}: reason schema_invalid; rows 1–92`,
    )
    expect(again.figures[0]).toEqual({ name: 'rows taken again', value: 17 })
    expect(again.provenance.manifest!.previous).toBe(old.provenance.manifest!.digest)
  })

  test('of a run whose rows later runs brought in, and that was undone, asks for nothing', async () => {
    const plain = {
      tone: 'look',
      words: 'Complete, with rejects',
      meaning: 'Rejects.',
      next: [{ text: 'Retry:', command: 'retry 1' }],
    } as const
    const undos = [
      { id: 3, state: 'complete_with_rejects', takenBackBy: null },
      { id: 4, state: 'complete', takenBackBy: 5 },
      { id: 6, state: 'complete', takenBackBy: null },
    ] as const
    expect(verdictWithLaterRuns(plain, { isNothingLeft: false, undos: [] })).toEqual(plain)
    expect(verdictWithLaterRuns(plain, { isNothingLeft: true, undos })).toEqual({
      ...plain,
      meaning:
        'Rejects. Later runs brought in all of these rows. Run 3 undoes it: complete with rejects. Run 4 has undone it, and run 5 has taken that back. Run 6 has undone it.',
      next: [],
    })
  })

  test('of a live run says that its books are open', async () => {
    const data = await collect(await scenes.liveImport(ledger))
    expect(data.verdict).toMatchObject({ tone: 'live', words: 'Running' })
    expect(data.run.closed_at).toBeNull()
    expect(data.books).toMatchObject({ rows: { read: 100 }, balanced: false })
    expect(data.provenance.manifest).toBeNull()
    expect(renderReport(data)).toContain('Still open')
  })

  test('of a run that was ended while it read says that its source was not read to its end', async () => {
    const opened = await ledger.openRun({
      sync: 'contacts',
      kind: 'import',
      mode: 'run',
      workflowId: 'w',
      workflowRunId: 'r',
      config: { kind: 'import', import: { from: { csv: '/a.csv' }, properties: {} } },
    })
    if (!('run' in opened)) throw new Error('the sync is held')
    const run = opened.run.id
    const fence = await ledger.beginStage(run, ['id', 'name'])
    await ledger.stageItems(run, fence, [row(1, 'a'), row(2, 'b')])
    await ledger.settleLeftovers(run)
    await ledger.closeRun(run, { state: 'cancelled', books: await ledger.books(run) })
    const data = await collect(run)
    expect(data.books).toMatchObject({ rows: { read: 2 }, read_to_end: false })
    expect(data.verdict.meaning).toContain('Its source was not read to its end.')
    const page = renderReport(data)
    expect(page).toContain('The source was not read to its end: 2 rows of it have their outcomes')
    expect(page).not.toContain('2 rows read = ')
  })

  test('of books that do not balance says not to rely on them', async () => {
    const data = await collect(await scenes.unbalancedImport(ledger))
    expect(data.verdict).toMatchObject({ tone: 'bad', words: 'Failed: the books do not balance' })
    expect(data.verdict.meaning).toContain('1 row of the source has no outcome')
    expect(commandsOf(data)).toEqual(['records-sync audit', 'records-sync run contacts'])
    expect(renderReport(data)).toContain('Not balanced: 11 rows were read, and 10 have an outcome.')
  })

  test('of a source without rows', async () => {
    const data = await collect(await scenes.emptyImport(ledger))
    expect(data.verdict).toMatchObject({ tone: 'good', words: 'Complete', next: [] })
    expect(data.verdict.meaning).toContain('The source had no rows')
    expect(data.errors.rows).toBe(0)
  })

  test('of a million rows whose items are gone', async () => {
    const data = await collect(await scenes.largeImport(ledger))
    const page = renderReport(data)
    expect(data.verdict.meaning).toContain(
      '1 of 1,000,000 rows was rejected; the other 999,999 are done',
    )
    expect(page).toContain('1,000,000')
    expect(page).toContain('&gt; 99.9 %')
    expect(page).toContain('The rows themselves are no longer kept.')
  })

  test('of a blocked run says what a person can do', async () => {
    const id = await scenes.blockedImport(ledger, 'approval')
    const data = await collect(id)
    expect(data.verdict.words).toBe('Waits for you')
    expect(commandsOf(data)).toEqual([`records-sync approve ${id}`, `records-sync reject ${id}`])
    await ledger.setRunState(id, 'blocked', 'auth', 'something to know')
    expect((await collect(id)).verdict).toMatchObject({ tone: 'bad', words: 'Blocked: auth' })
    await ledger.setRunState(id, 'paused')
    expect(commandsOf(await collect(id))).toEqual([`records-sync resume ${id}`])
  })

  test('of a mirror: its tables, and that one failed', async () => {
    const data = await collect(await scenes.mirror(ledger))
    expect(data.verdict).toMatchObject({ tone: 'bad', words: 'Failed' })
    expect(data.verdict.meaning).toContain('1 of 3 tables')
    expect(data.books).toBeNull()
    expect(data.streams).toHaveLength(3)
    expect(data.work).toMatchObject({ requests: 39, outcomes: null, rate: null })
    expect(data.provenance).toMatchObject({
      from: 'connection crm',
      to: 'warehouse lake, schema crm_copy',
    })
  })
})

describe('a report of a reconciliation', () => {
  const found = { missing: 3, extra: 2, stale: 3, different: 4 }

  test('that only looked: what differs, by field and side, and no error', async () => {
    const data = await collect(await scenes.reconciledImport(ledger))
    expect(data.verdict).toMatchObject({ tone: 'look', words: '12 records differ' })
    expect(commandsOf(data)).toEqual(['records-sync reconcile contacts --repair'])
    expect(data.comparison).toMatchObject({
      whole: true,
      repair: false,
      compared: 40,
      equal: 30,
      found,
      left: found,
    })
    expect(data.comparison!.fields).toHaveLength(scenes.FIELDS + 1)
    const [first, second] = data.comparison!.fields
    expect(first).toMatchObject({
      field: 'svc_email',
      differences: 7,
      kinds: { missing: 0, extra: 0, stale: 3, different: 4 },
      whose: { source: 3, service: 4, both: 0, warehouse: 0, unknown: 0 },
      example_row: 34,
    })
    expect(second).toMatchObject({ field: null, differences: 5, example_row: 31 })
    expect(data.errors).toEqual({ rows: 0, groups: [], omitted: 0 })
  })

  test('that mended: what is left', async () => {
    const data = await collect(await scenes.reconciledImport(ledger, { repair: true }))
    expect(data.comparison).toMatchObject({
      found,
      left: { missing: 0, extra: 2, stale: 0, different: 0 },
    })
    expect(data.verdict.words).toBe('2 of 12 differences left')
    expect(commandsOf(data)).toEqual(['records-sync reconcile contacts --repair --delete-extra'])
  })

  test('that was not whole says so', async () => {
    const where = { column: 'country', digest: 'SECRET digest' }
    const data = await collect(await scenes.reconciledImport(ledger, { where, sample: 40 }))
    expect(data.run.limits).toBe('a sample of 40, where country has one value')
    expect(data.comparison!.whole).toBe(false)
    expect(data.verdict.meaning).toContain('Only a part was compared')
  })

  test('that found nothing', async () => {
    const data = await collect(await scenes.equalImport(ledger))
    expect(data.verdict).toMatchObject({ tone: 'good', words: 'No difference', next: [] })
    expect(data.comparison).toMatchObject({ compared: 40, equal: 40, fields: [] })
    expect(renderReport(data).replaceAll(/<[^>]+>/g, '')).toContain(
      'Known to be equal as of 21 Nov 2026, 14:00:00 UTC',
    )
  })

  test('of a mirror', async () => {
    const looked = await collect(await scenes.reconciledMirror(ledger))
    const one = { missing: 1, extra: 1, stale: 1, different: 1 }
    expect(looked.comparison).toMatchObject({ compared: 1_000, equal: 997, found: one, left: one })
    const mended = await collect(await scenes.reconciledMirror(ledger, { repair: true }))
    expect(mended.verdict).toMatchObject({ tone: 'good', words: 'All differences mended' })
    expect(mended.figures.at(-1)).toEqual({ name: 'mended', value: 4 })
  })
})

test('no report holds a value, a key or a record id', async () => {
  const reports: RunReport[] = []
  const add = async (id: number) => void reports.push(await collect(id))
  const first = await scenes.importWithRejects(ledger)
  await add(first)
  await add(await scenes.retry(ledger, first))
  await add(await scenes.reconciledImport(ledger, { where: { column: 'a', digest: 'SECRET' } }))
  await add(await scenes.reconciledImport(ledger, { repair: true }))
  await add(await scenes.reconciledMirror(ledger))
  await add(await scenes.liveImport(ledger))
  for (const data of reports) {
    expect(JSON.stringify(data)).not.toContain('SECRET')
    expect(renderReport(data)).not.toContain('SECRET')
  }
  expect(reports).toHaveLength(6)
})

test('a page is made of its data alone, and runs and fetches nothing', () => {
  for (const data of [reportData(), comparedData(), mirrorData()]) {
    const page = renderReport(data)
    expect(renderReport(JSON.parse(JSON.stringify(data)) as RunReport)).toBe(page)
    expect(page).not.toMatch(/<script|\sstyle=|\son\w+=|\ssrc=|@import|<link|<iframe|<form/i)
    expect(page.match(/https?:\/\/[^"\s<]+/g)).toEqual([data.provenance.workflow_url])
    const { provenance } = data
    const hostile = { ...data, provenance: { ...provenance, workflow_url: 'javascript:alert(1)' } }
    expect(renderReport(hostile)).not.toContain('javascript:')
  }
})

describe('texts, figures and axes', () => {
  test('whatever a text is, it adds no markup', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('</style><script>alert(1)</script>', '"><img src=x onerror=x>', '&lt;', "'`"),
    )
    fc.assert(
      fc.property(texts, (text) => {
        const page = html`<a title="${text}">${[text, null, false]}</a>`.toString()
        const inner = /^<a title="([^"<>]*)">([^<>"'`]*)<\/a>$/.exec(page)
        expect(inner).not.toBeNull()
        expect(inner![1]).toBe(inner![2])
      }),
    )
    expect(html`<p>${html`<b>${'<'}</b>`}</p>`.toString()).toBe('<p><b>&lt;</b></p>')
  })

  test('marks of an axis are few and whole, and nothing is above the last', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1e9, noNaN: true }), (highest) => {
        const ticks = ticksOf(highest)
        expect(ticks[0]).toBe(0)
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest)
        expect(ticks.every(Number.isInteger)).toBe(true)
        expect(ticks.length).toBeLessThanOrEqual(6)
      }),
    )
  })

  test('as people read them', () => {
    expect([0, 1, 59.6, 60, 3_599, 3_600, 7_265, 400_000].map(durationText)).toEqual([
      'under 1 s',
      '1 s',
      '1 min',
      '1 min',
      '59 min 59 s',
      '1 h',
      '2 h 1 min',
      '111 h 6 min',
    ])
    expect([percentText(0, 0), percentText(1, 1_000_000), percentText(999_999, 1_000_000)]).toEqual(
      ['0 %', '< 0.1 %', '> 99.9 %'],
    )
    expect([800, 2_500, 1_000_000].map(shortNumber)).toEqual(['800', '2.5K', '1M'])
    const at = '2026-11-21T14:03:05.000Z'
    expect([timeText(at, 60), timeText(at, 3_600), timeText(at, 100_000)]).toEqual([
      '14:03:05',
      '14:03',
      '21 Nov 14:03',
    ])
  })
})

describe('the command', () => {
  let config: string
  beforeEach(async () => {
    config = join(folder, 'records-sync.yaml')
    await writeFile(
      config,
      `ledger: ./ledger.db
temporal: { ui: "https://temporal.example.com" }
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`,
    )
  })
  const run = (id: number | string, options: Parameters<typeof reportCommand>[2], json = false) =>
    said(config, (context) => reportCommand(context, String(id), options), json)

  test('writes a page that only its owner reads, over one that is there, and says where', async () => {
    const id = await scenes.importWithRejects(ledger)
    const output = join(folder, 'page.html')
    await writeFile(output, 'old', { mode: 0o644 })
    const { code, out } = await run(id, { output, open: false })
    expect({ code, out }).toEqual({
      code: 0,
      out: [`The report of run ${id} of contacts is in ${output}`],
    })
    expect((await stat(output)).mode & 0o777).toBe(0o600)
    const page = await readFile(output, 'utf8')
    expect(page).toContain('Complete, with rejects')
    expect(page).toContain('https://temporal.example.com/namespaces/default/workflows/')
  })

  test('prints the data as JSON, with the limit that is known of the org', async () => {
    const id = await scenes.importWithRejects(ledger)
    const quotas = openSqliteQuota(join(folder, 'quota.db'))
    const org = 'http://127.0.0.1:1 org 1'
    await quotas.noteOrgOfKey('http://127.0.0.1:1 key#1a2b3c4d5e6f', org)
    await quotas.update(org, (_, nowMs) => ({
      state: quotaRow({
        limit: 60,
        seconds: 5,
        users: { worker: { import: 1 } },
        startMs: nowMs - 6_000,
      }).state,
      result: null,
    }))
    await quotas.close()
    const { code, out } = await run(id, { open: false }, true)
    expect(code).toBe(0)
    const data = JSON.parse(out.join('\n')) as RunReport
    expect(data).toMatchObject({ v: 1, run: { run: id }, work: { limit_per_minute: 60 } })
  })

  test('says what is wrong with a run or a file', async () => {
    await scenes.importWithRejects(ledger)
    expect(await run(99, { open: false })).toMatchObject({ code: 2 })
    const output = join(folder, 'nowhere', 'page.html')
    const { code, err } = await run(1, { output, open: false })
    expect(code).toBe(2)
    expect(err.join()).toContain('the report cannot be written here (ENOENT)')
  })

  test.runIf(process.platform === 'linux')('opens the page, or says that it cannot', async () => {
    const id = await scenes.importWithRejects(ledger)
    const output = join(folder, 'a page; of $(mine).html')
    const path = process.env['PATH']
    const programs = join(folder, 'programs')
    await mkdir(programs)
    try {
      process.env['PATH'] = programs
      const none = await run(id, { output, open: true })
      expect(none.code).toBe(3)
      expect(none.err.join()).toBe(
        `No browser was opened (there is no xdg-open). Open ${output} yourself`,
      )
      const browser = join(programs, 'xdg-open')
      await writeFile(browser, `#!/bin/sh\nprintf '%s|' "$@" > "${folder}/opened"\n`)
      await chmod(browser, 0o755)
      expect((await run(id, { output, open: true })).code).toBe(0)
      expect(await readFile(join(folder, 'opened'), 'utf8')).toBe(`${output}|`)
      await writeFile(browser, '#!/bin/sh\nexit 4\n')
      const failed = await run(id, { output, open: true })
      expect(failed.err.join()).toContain('xdg-open ended with 4')
    } finally {
      process.env['PATH'] = path
    }
  })
})
