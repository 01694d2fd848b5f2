// Rejects that are corrected in the console, over a real ledger: what is typed, what a file brings back, and what is kept of it. What a
// retry does with it is in test/e2e/console-corrections.test.ts.

import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { API_PATH } from '../../../src/console/api.ts'
import { FILE_BYTES_MAX } from '../../../src/console/bodies.ts'
import type { CorrectionsView } from '../../../src/console/views/corrections.ts'
import type { Json } from '../../../src/core/json.ts'
import type { Ledger, Run } from '../../../src/ledger/ledger.ts'
import { destination } from '../../suites/ledger/scene.ts'
import { importWithRejects, retry } from '../report/scenes.ts'
import { CONSOLE_CONFIG, openSite, type ConsoleSite } from './site.ts'

const COLUMNS = ['id', 'born', 'plan', 'note']
/** What a page cannot show as it is, or a browser sends otherwise. */
const HOSTILE = [
  '\n first line break',
  'two\r\nlines',
  '\u202Eright to left\u0007',
  '</textarea><script>alert(1)</script>',
  '=HYPERLINK("http://x.example")',
  "'=already",
  '  spaces  ',
  '12345678901234567890',
]

/** 30 rows whose day does not map, and 30 whose plan is none of the options. */
async function twoKinds(ledger: Ledger): Promise<number> {
  const opened = await ledger.openRun({
    sync: 'contacts',
    kind: 'import',
    mode: 'run',
    workflowId: 'import-contacts',
    workflowRunId: 'two kinds',
    config: {
      name: 'contacts',
      kind: 'import',
      import: {
        from: { csv: './rows.csv' },
        to: 'crm',
        object_type: 'svc_contact',
        matching_property: 'svc_external_id',
        mode: 'upsert',
        empty: 'omit',
        verify: 'none',
        properties: {
          svc_external_id: { column: 'id' },
          svc_born: { column: 'born', format: 'DD.MM.YYYY' },
          svc_plan: { column: 'plan' },
        },
      },
    },
  })
  const { id } = (opened as { run: Run }).run
  const fact = (type: string, options: string[] = []) => ({ type, isMulti: false, options })
  await ledger.bindDestination(id, destination, {
    keyFingerprint: 'fp',
    warnings: [],
    schema: {
      svc_external_id: fact('text'),
      svc_born: fact('date'),
      svc_plan: fact('select', ['basic', 'pro']),
    },
  })
  const fence = await ledger.beginStage(id, COLUMNS)
  const rows = Array.from({ length: 60 }, (_, at) => {
    const isDay = at < 30
    const raw: Json[] = [
      `k-${at + 1}`,
      isDay ? '2026/31/01' : '31.01.2026',
      isDay ? 'basic' : 'gold',
      HOSTILE[at % HOSTILE.length]!,
    ]
    return {
      ordinal: at + 1,
      line: at + 2,
      raw: JSON.stringify(raw),
      valid: false as const,
      key: `k-${at + 1}`,
      reason: isDay ? 'date_format' : 'option_unknown',
      column: isDay ? 'born' : 'plan',
      field: isDay ? 'svc_born' : 'svc_plan',
      value: isDay ? '2026/31/01' : 'gold',
      detail: isDay ? 'expected a day as DD.MM.YYYY' : 'expected one of basic, pro',
    }
  })
  await ledger.stageItems(id, fence, rows)
  await ledger.finishStage(id, fence, { rows: 60, digest: 'd', rowsPerSegment: 100 })
  await ledger.settleLeftovers(id)
  await ledger.closeRun(id, { state: 'complete_with_rejects', books: await ledger.books(id) })
  return id
}

let site: ConsoleSite
let hidden: ConsoleSite
beforeAll(async () => {
  const config = CONSOLE_CONFIG.replaceAll(
    'svc_external_id: id\n        svc_email: { column: Mail }\n        svc_source: { value: web }',
    'svc_external_id: id\n        svc_born: { column: born, format: DD.MM.YYYY }\n        svc_plan: plan',
  )
  const fill = async (ledger: Ledger) => ({ kinds: await twoKinds(ledger) })
  site = await openSite({ fill, config: `${config}\nconsole: { values: shown }\n` })
  hidden = await openSite({ fill, config: `${config}\nconsole: { values: hidden }\n` })
})
afterAll(async () => {
  await site.close()
  await hidden.close()
})

interface Answer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly text: string
}

const ask = (
  at: ConsoleSite,
  path: string,
  { method = 'GET', headers = {}, body = '' as string | Uint8Array } = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asked = request(new URL(path, at.url), { headers, method }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode!, headers: answer.headers, text }))
    })
    asked.on('error', reject).end(body)
  })

const mainOf = (page: string): string => /<main[^>]*>([^]*)<\/main>/.exec(page)![1]!

const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&#96;', '`')
    .replaceAll('&amp;', '&')

/** A page as a browser has it: its cookie, and the fields that its button sends. */
async function load(path: string, at = site) {
  const { headers, text, status } = await ask(at, path)
  const fields = new Map<string, string>()
  for (const [, name, value] of text.matchAll(/name="([^"]+)"\s+value="([^"]*)"/g))
    if (!['columns', 'add', 'q', 'correction'].includes(name!)) fields.set(name!, unescaped(value!))
  for (const [, name, value] of text.matchAll(
    /<textarea[^>]*?name="([^"]+)"[^]*?>\n?([^]*?)<\/textarea/g,
  ))
    // As a browser sends it.
    fields.set(name!, unescaped(value!).replaceAll(/\r\n|\r|\n/g, '\r\n'))
  const cookie = String(headers['set-cookie']).split(';')[0]!
  return { status, text, cookie, fields }
}
type Loaded = Awaited<ReturnType<typeof load>>

const send = (path: string, { cookie, fields }: Loaded, at = site) =>
  ask(at, path, {
    method: 'POST',
    headers: { cookie, origin: at.url, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([...fields]).toString(),
  })

const sendFile = async (path: string, { cookie, fields }: Loaded, name: string, bytes: string) => {
  const form = new FormData()
  for (const [field, value] of fields) form.set(field, value)
  form.set('file', new File([bytes], name))
  const made = new Response(form)
  const body = new Uint8Array(await made.arrayBuffer())
  const headers = { cookie, origin: site.url, 'content-type': made.headers.get('content-type')! }
  return await ask(site, path, { method: 'POST', headers, body })
}

const run = () => site.runs['kinds']!
const path = () => `/runs/${run()}/corrections`
const view = async (query = ''): Promise<CorrectionsView> =>
  JSON.parse((await ask(site, `${API_PATH}${path()}${query}`)).text) as CorrectionsView
const groupOf = async (reason: string): Promise<string> =>
  (await view()).groups.find((each) => each.reason === reason)!.group
const kept = (correction: number) =>
  site.ledger.retryRows(run(), { correction }, { after: 0, limit: 100 })

describe('the page', () => {
  it('has 50 rows of the kind that is asked for, with the columns that are wrong', async () => {
    const all = await view()
    expect(all).toMatchObject({ possible: true, shown: [1, 2], correction: null })
    expect(all.rows).toHaveLength(50)
    expect((await view(`?after=${all.next_after}`)).rows).toHaveLength(10)
    const days = await view(`?group=${await groupOf('date_format')}`)
    expect(days.shown).toEqual([1])
    expect(days.rows).toHaveLength(30)
    expect(days.rows[0]).toMatchObject({
      row: 1,
      line: 2,
      key: 'k-1',
      cells: [{ column: 1, value: '2026/31/01', wrong: 'expected a day as DD.MM.YYYY' }],
    })
    expect((await view('?columns=all')).shown).toEqual([0, 1, 2, 3])
    const { text } = await load(`${path()}?group=${await groupOf('date_format')}`)
    expect(text).toContain('Accepted: a day as DD.MM.YYYY, such as 31.01.2026.')
    expect(text).toContain('aria-label="born, line 2"')
  })

  it('is drawn of what the API gives, and the page of rejects leads to it', async () => {
    expect(mainOf((await load(`/runs/${run()}/rejects`)).text)).toContain(`href="${path()}"`)
    expect((await ask(site, '/runs/999/corrections')).status).toBe(404)
    expect((await ask(site, '/runs/x/corrections')).status).toBe(404)
  })

  it('shows and takes no value where values are hidden', async () => {
    const at = `/runs/${hidden.runs['kinds']}/corrections`
    const page = await load(at, hidden)
    expect(page.text).not.toContain('2026/31/01')
    expect(page.text).toContain('console: { values: shown }')
    expect(page.text).toContain(`retry ${hidden.runs['kinds']} --file`)
    page.fields.set('c.1.1', '31.01.2026')
    expect((await send(at, page, hidden)).status).toBe(422)
    expect((await ask(hidden, `/runs/${hidden.runs['kinds']}/rejects.csv`)).status).toBe(404)
    expect(JSON.parse((await ask(hidden, `${API_PATH}${at}`)).text)).toMatchObject({ rows: [] })
  })
})

describe('cells that are typed', () => {
  it('are kept if they map, and no others', async () => {
    const page = await load(`${path()}?columns=all`)
    for (const row of [1, 2, 31])
      page.fields.set(`c.${row}.${row < 31 ? 1 : 2}`, row < 31 ? '31.01.2026' : 'pro')
    const { status, headers } = await send(`${path()}?columns=all`, page)
    expect(status).toBe(303)
    const after = await load(String(headers['location']))
    expect(after.text).toContain('3 rows were checked and kept. Nothing is sent yet.')
    const { correction } = await view(new URL(String(headers['location']), site.url).search)
    expect(correction).toMatchObject({ rows: 3 })
    // Whatever a page or a browser does to the texts that were not touched.
    expect(await kept(correction!.correction)).toEqual([
      { ordinal: 1, line: 2, raw: ['k-1', '31.01.2026', 'basic', HOSTILE[0]] },
      { ordinal: 2, line: 3, raw: ['k-2', '31.01.2026', 'basic', HOSTILE[1]] },
      { ordinal: 31, line: 32, raw: ['k-31', '31.01.2026', 'pro', HOSTILE[30 % HOSTILE.length]] },
    ])
    // Whoever comes later finds it, and adds to the same correction.
    expect((await view()).correction).toEqual(correction)
    for (const from of ['rejects', ''])
      expect(mainOf((await load(`/runs/${run()}/${from}`.replace(/\/$/, ''))).text)).toContain(
        'See the corrections that are kept',
      )
    expect(mainOf((await load('/')).text)).toContain(`href="${path()}"`)
    const more = await load(`${path()}?columns=all`)
    const stale = await load(`${path()}?columns=all`)
    expect(more.fields.get('c.1.1')).toBe('31.01.2026')
    more.fields.set('c.1.1', '02.02.2026')
    more.fields.set('c.3.1', '01.02.2026')
    const next = await send(`${path()}?columns=all`, more)
    expect(next.headers['location']).toContain(`correction=${correction!.correction}&`)
    expect(next.headers['location']).toContain('saved=2')
    expect(await kept(correction!.correction)).toHaveLength(4)
    // One who has an older page writes nothing over.
    stale.fields.set('c.1.1', '03.03.2026')
    const refused = await send(`${path()}?columns=all`, stale)
    expect(refused.status).toBe(422)
    expect(mainOf(refused.text)).toContain('Row 1 was corrected since the page was made')
    expect((await kept(correction!.correction))[0]!.raw[1]).toBe('02.02.2026')
    const asks = await load(`/runs/${run()}/retry?correction=${correction!.correction}`)
    expect(mainOf(asks.text)).toContain('Retry 4 corrected rows?')
    expect(mainOf(asks.text)).toContain(
      `formaction="/runs/${run()}/retry?correction=${correction!.correction}"`,
    )
  })

  it('come back with what was expected where they do not map, and nothing is kept', async () => {
    const page = await load(path())
    page.fields.set('c.1.1', '31.01.2026')
    page.fields.set('c.2.1', '<b>tomorrow</b>')
    page.fields.set('c.31.2', 'silver')
    const before = await site.ledger.correctionsOf(run(), 99)
    const { status, text } = await send(path(), page)
    expect(status).toBe(422)
    const main = mainOf(text)
    expect(main).toContain('Nothing was kept: 2 cells are not accepted.')
    expect(main).toContain('&lt;b&gt;tomorrow&lt;/b&gt;')
    expect(main).toMatch(/id="said-c\.2\.1">\s*expected a day of the calendar as DD\.MM\.YYYY/)
    expect(main).toMatch(/id="said-c\.31\.2">\s*expected one of/)
    expect(main).toMatch(/name="c\.1\.1"[^]*?>\n31\.01\.2026<\/textarea/)
    expect(main.match(/aria-invalid="true"/g)).toHaveLength(2)
    expect(await site.ledger.correctionsOf(run(), 99)).toEqual(before)
  })

  it('show the column of an error that the page did not have', async () => {
    const days = `${path()}?group=${await groupOf('date_format')}&columns=1,0`
    const page = await load(days)
    page.fields.set('c.1.1', '31.01.2026')
    page.fields.set('c.1.2', 'silver')
    const { status, text } = await send(days, page)
    expect(status).toBe(422)
    expect(mainOf(text)).toMatch(/name="c\.1\.2"[^]*?>\nsilver<\/textarea/)
  })

  it('are not taken where they are what a spreadsheet leaves of a value', async () => {
    const all = `${path()}?columns=all`
    const page = await load(all)
    page.fields.set('c.8.1', '31.01.2026')
    page.fields.set('c.8.3', '1.23457E+19')
    const { status, text } = await send(all, page)
    expect(status).toBe(422)
    expect(mainOf(text)).toContain('This is what a spreadsheet leaves of a value')
  })

  it('that are as they were keep nothing', async () => {
    const page = await load(`${path()}?columns=all`)
    const { status, text } = await send(`${path()}?columns=all`, page)
    expect(status).toBe(200)
    expect(mainOf(text)).toContain('No cell was changed')
  })

  it('come back with other columns, before anything is kept', async () => {
    const page = await load(path())
    page.fields.set('c.1.1', 'typed so far')
    page.fields.set('columns', 'all')
    const { status, text } = await send(path(), page)
    expect(status).toBe(200)
    expect(mainOf(text)).toMatch(/name="c\.1\.1"[^]*?>\ntyped so far<\/textarea/)
    expect(mainOf(text)).toContain('name="c.1.3"')
    page.fields.set('columns', 'add')
    page.fields.set('add', '3')
    expect(mainOf((await send(`${path()}?columns=1,2`, page)).text)).toContain('name="c.1.3"')
  })

  it('come back where the session has ended, and are not kept', async () => {
    const page = await load(path())
    page.fields.set('c.1.1', '31.01.2026')
    page.fields.set('csrf', 'wrong')
    const { status, text } = await send(path(), page)
    expect(status).toBe(403)
    expect(mainOf(text)).toMatch(/name="c\.1\.1"[^]*?>\n31\.01\.2026<\/textarea/)
    expect(mainOf(text)).toContain('earlier session of the console')
  })

  it('of rows that are not left, or that another run has sent since, are not taken', async () => {
    const page = await load(path())
    page.fields.set('c.99.1', '31.01.2026')
    page.fields.set('c.1.1', '31.01.2026')
    page.fields.set('o.1', String(run() + 5))
    const { status, text } = await send(path(), page)
    expect(status).toBe(422)
    expect(mainOf(text)).toContain('Row 99 is not left')
    expect(mainOf(text)).toContain('has sent the row again since')
  })
})

describe('kept corrections', () => {
  it('say how many of their rows are not sent, because another retry brought them in', async () => {
    const other = await openSite({
      fill: async (ledger) => ({ left: await importWithRejects(ledger) }),
      config: `${CONSOLE_CONFIG}\nconsole: { values: shown }\n`,
    })
    try {
      const id = other.runs['left']!
      const rows = await other.ledger.retryRows(id, {}, { after: 0, limit: 100 })
      const correction = await other.ledger.addCorrections(id, null, rows)
      const at = `/runs/${id}/corrections`
      const read = async () =>
        (JSON.parse((await ask(other, `${API_PATH}${at}`)).text) as CorrectionsView).correction
      expect(await read()).toEqual({ correction, rows: rows.length, more: false, overtaken: 0 })
      await retry(other.ledger, id)
      const after = await other.ledger.retryRows(id, {}, { after: 0, limit: 100 })
      const overtaken = rows.length - after.length
      expect(overtaken).toBeGreaterThan(0)
      expect(await read()).toEqual({ correction, rows: after.length, more: false, overtaken })
      expect(mainOf((await load(at, other)).text)).toContain(
        `${overtaken} rows that were kept as corrected are not sent`,
      )
    } finally {
      await other.close()
    }
  })

  it('that a link speaks of are those that are kept', async () => {
    expect(mainOf((await load(`${path()}?saved=999999`)).text)).not.toContain('999,999')
  })
})

describe('a file', () => {
  it('next to cells that were typed is not taken, and neither are they', async () => {
    const page = await load(path())
    page.fields.set('c.9.1', '31.01.2026')
    const before = await site.ledger.correctionsOf(run(), 99)
    const file = await sendFile(`${path()}/file`, page, 'rows.csv', '_row,id\n1,k-1\n')
    expect(file.status).toBe(422)
    expect(mainOf(file.text)).toContain('cells of 1 row were changed on the page too')
    expect(mainOf(file.text)).toMatch(/name="c\.9\.1"[^]*?>\n31\.01\.2026<\/textarea/)
    page.fields.set('file', 'rows.csv')
    const typed = await send(path(), page)
    expect(typed.status).toBe(422)
    expect(mainOf(typed.text)).toContain('a file was chosen too')
    expect(await site.ledger.correctionsOf(run(), 99)).toEqual(before)
  })

  it('is downloaded, and comes back corrected', async () => {
    const { text, headers } = await ask(
      site,
      `/runs/${run()}/rejects.csv?group=${await groupOf('option_unknown')}`,
    )
    expect(headers['content-disposition']).toContain(`rejects-${run()}.csv`)
    expect(text.split('\n')[0]).toContain('"id","born","plan","note","_line","_row"')
    expect(text.match(/option_unknown/g)).toHaveLength(30)
    // A spreadsheet would run it otherwise.
    expect(text).toContain('"\'=HYPERLINK(""http://x.example"")"')
    const page = await load(path())
    const sent = await sendFile(
      `${path()}/file`,
      page,
      'mended.csv',
      text.replaceAll('"gold","', '"pro","'),
    )
    expect(sent.status).toBe(303)
    const { pathname, searchParams } = new URL(String(sent.headers['location']), site.url)
    expect(pathname).toBe(`/runs/${run()}/retry`)
    const rows = await kept(Number(searchParams.get('correction')))
    expect(rows).toHaveLength(30)
    expect(rows.map(({ raw }) => raw[2])).toEqual(Array.from({ length: 30 }, () => 'pro'))
    expect(rows.map(({ raw }) => raw[3])).toEqual(
      rows.map(({ ordinal }) => HOSTILE[(ordinal - 1) % HOSTILE.length]),
    )
    const asks = mainOf((await load(String(sent.headers['location']))).text)
    expect(asks).toContain('Retry 30 corrected rows?')
    expect(asks).toMatch(/plan[^]*30/)
  })

  it('with something wrong says where', async () => {
    const page = await load(path())
    for (const [bytes, said] of [
      ['a,b\n1,2\n', 'no column _row'],
      ['id,_row,_column\nx,run 99 row 1,born\n', 'the row is of run 99'],
      [`id,_row,_column\nx,run ${run()} row 999,born\n`, 'is not left'],
      ['PK\u0003\u0004', 'this is a zip archive, or a workbook'],
      ['', 'No file was given'],
    ] as const) {
      const { status, text } = await sendFile(`${path()}/file`, page, '<i>mine</i>.csv', bytes)
      expect({ said, status }).toEqual({ said, status: 422 })
      expect(mainOf(text)).toContain(said)
      expect(mainOf(text)).not.toContain('<i>')
    }
  })

  it('of more than its bound is refused', async () => {
    const page = await load(path())
    const sent = await sendFile(`${path()}/file`, page, 'big.csv', 'x'.repeat(FILE_BYTES_MAX))
    expect(sent.status).toBe(413)
    expect(sent.text).toContain('16 MiB')
  })
})

it('a retry of a correction that is not there is not a retry of all', async () => {
  const page = await load(path())
  for (const correction of ['999', 'x', '']) {
    const sent = await send(`/runs/${run()}/retry?correction=${correction}`, page)
    expect(sent.headers['location']).toMatch(/stale=retry/)
  }
  expect(await site.ledger.actions({ run: run(), limit: 10 })).toEqual([])
  expect((await load(`/runs/${run()}/retry?correction=999`)).text).toContain(
    'No row of this correction is left',
  )
})
