// Bodies that are meant to keep the console busy: each is refused with a sentence, another person is answered before it, and memory stays.

import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIELDS_MAX } from '../../../src/console/bodies.ts'
import { importWithRejects, plainNames } from '../report/scenes.ts'
import { CONSOLE_CONFIG, openSite, type ConsoleSite } from './site.ts'

const MIB = 1_048_576

let site: ConsoleSite
let cookie: string
let csrf: string
beforeAll(async () => {
  site = await openSite({
    config: `${CONSOLE_CONFIG}\nconsole: { values: shown }\n`,
    fill: async (ledger) => ({ left: await importWithRejects(ledger, plainNames) }),
  })
  const session = await fetch(`${site.url}/api/v1/session`)
  cookie = session.headers.get('set-cookie')!.split(';')[0]!
  ;({ csrf } = (await session.json()) as { csrf: string })
})
afterAll(() => site.close())

const pathOf = (to = '') => `/runs/${site.runs['left']}/corrections${to}`

interface Sent {
  readonly path: string
  readonly type: string
  readonly body: string | Buffer
}

const send = ({ path, type, body }: Sent) =>
  new Promise<{ status: number; text: string; at: number }>((resolve, reject) => {
    const headers = {
      cookie,
      origin: site.url,
      'content-type': type,
      'content-length': Buffer.byteLength(body),
    }
    const asked = request(`${site.url}${path}`, { method: 'POST', headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => (text += part))
      answer.on('end', () => resolve({ status: answer.statusCode!, text, at: performance.now() }))
    })
    // What is too long is answered while it is still being sent.
    asked.on('error', (error: NodeJS.ErrnoException) =>
      ['EPIPE', 'ECONNRESET'].includes(error.code ?? '') ? undefined : reject(error),
    )
    asked.end(body)
  })

const BOUNDARY = 'x-records-sync-test'
const fileForm = (content: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `--${BOUNDARY}\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n${csrf}\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="rows.csv"\r\ncontent-type: text/csv\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
const multipart = `multipart/form-data; boundary=${BOUNDARY}`
const HEAD = '_row,_column,id\n'

const FILES: readonly (readonly [what: string, make: () => string | Buffer, says: string])[] = [
  ['millions of rows', () => `d\n${'a\n'.repeat(7 * MIB)}`, 'no column _row'],
  ['rows that are not of the run', () => `${HEAD}${'run 99 row 1,,\n'.repeat(MIB)}`, 'of run 99'],
  ['rows without a reference', () => `${HEAD}${'a,,\n'.repeat(3 * MIB)}`, 'says no row'],
  ['blank rows', () => `${HEAD}${',,\n'.repeat(5 * MIB)}`, 'rows are blank'],
  ['blank rows with spaces', () => `${HEAD}${' , , \n'.repeat(2 * MIB)}`, 'rows are blank'],
  ['empty lines', () => `${HEAD}${'\n'.repeat(15 * MIB)}`, 'no row in the file'],
  ['empty lines, CR alone', () => `${HEAD}${'\r'.repeat(15 * MIB)}`, 'no row in the file'],
  [
    '100,000 columns',
    () => `${Array.from({ length: 100_000 }, (_, at) => `c${at}`).join(',')}\nx\n`,
    'columns',
  ],
  [
    '1.8 million columns',
    () => `${Array.from({ length: 1_800_000 }, (_, at) => `c${at}`).join(';')}\nx\n`,
    'columns',
  ],
  ['the columns, and 5,000 more', () => `_row,_column,${'x,'.repeat(5_000)}\n`, 'columns'],
  ['delimiters alone', () => ','.repeat(15 * MIB), 'columns'],
  ['tabs alone', () => '\t'.repeat(15 * MIB), 'columns'],
  ['a row of delimiters', () => HEAD + ','.repeat(15 * MIB), 'longer than'],
  ['a row of a million cells', () => `${HEAD}${','.repeat(MIB)}\n`, 'expected 3'],
  ['quotes alone', () => HEAD + '"'.repeat(15 * MIB), 'longer than'],
  ['a quote that never closes', () => `${HEAD}"${'a\n'.repeat(7 * MIB)}`, 'longer than'],
  ['doubled quotes with line breaks', () => `${HEAD}"${'""\n'.repeat(5 * MIB)}`, 'longer than'],
  ['NUL alone', () => '\0'.repeat(15 * MIB), 'a NUL byte'],
  ['bytes that are not UTF-8', () => Buffer.alloc(15 * MIB, 0xff), 'expected'],
  ['one name', () => 'x'.repeat(15 * MIB), 'no column _row'],
]

const field = (at: number) => `c.${at}.1=x`
const part = (at: number) =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="c.${at}.1"\r\n\r\nx\r\n`
const many = (count: number, one: (at: number) => string, between = '') =>
  Array.from({ length: count }, (_, at) => one(at)).join(between)
const urlencoded = 'application/x-www-form-urlencoded'

const BODIES: readonly (readonly [what: string, make: () => Sent, status: number])[] = [
  [
    '300,000 fields',
    () => ({ path: pathOf(), type: urlencoded, body: many(300_000, field, '&') }),
    413,
  ],
  [
    'empty fields',
    () => ({ path: pathOf(), type: urlencoded, body: '&'.repeat(4 * MIB - 10) }),
    413,
  ],
  [
    'one field too many',
    () => ({ path: pathOf(), type: urlencoded, body: many(FIELDS_MAX + 2, field, '&') }),
    413,
  ],
  [
    '50,000 parts',
    () => ({ path: pathOf(), type: multipart, body: `${many(50_000, part)}--${BOUNDARY}--` }),
    413,
  ],
  [
    '200,000 parts to the file',
    () => ({
      path: pathOf('/file'),
      type: multipart,
      body: `${many(200_000, part)}--${BOUNDARY}--`,
    }),
    413,
  ],
  [
    'boundaries alone',
    () => ({ path: pathOf('/file'), type: multipart, body: `--${BOUNDARY}\r\n`.repeat(600_000) }),
    413,
  ],
  [
    'a form without its boundary',
    () => ({ path: pathOf('/file'), type: 'multipart/form-data', body: fileForm('a') }),
    400,
  ],
  [
    'another boundary',
    () => ({ path: pathOf('/file'), type: 'multipart/form-data; boundary=y', body: fileForm('a') }),
    400,
  ],
  [
    '15 MiB of JSON',
    () => ({ path: pathOf('/file'), type: 'application/json', body: `[${'1,'.repeat(7 * MIB)}1]` }),
    413,
  ],
  [
    'members of JSON',
    () => ({
      path: pathOf(),
      type: 'application/json',
      body: `{${many(200_000, (at) => `"${at}":1`, ',')}}`,
    }),
    413,
  ],
  [
    'levels of JSON',
    () => ({ path: pathOf('/file'), type: 'application/json', body: '['.repeat(15 * MIB) }),
    413,
  ],
  [
    'JSON to an action',
    () => ({
      path: `/api/v1/runs/${site.runs['left']}/retry`,
      type: 'application/json',
      body: '['.repeat(MIB),
    }),
    413,
  ],
  [
    'fields to an action',
    () => ({
      path: `/runs/${site.runs['left']}/retry`,
      type: urlencoded,
      body: many(50_000, field, '&'),
    }),
    413,
  ],
  [
    'another type',
    () => ({ path: pathOf('/file'), type: 'text/plain', body: 'x'.repeat(15 * MIB) }),
    415,
  ],
  [
    '17 MiB',
    () => ({ path: pathOf('/file'), type: multipart, body: fileForm('x'.repeat(17 * MIB)) }),
    413,
  ],
]

/** Sends it, and asks for pages meanwhile; how many were answered before it. */
async function meanwhile(sent: Sent) {
  let isOver = false
  const work = send(sent).finally(() => (isOver = true))
  let pages = 0
  do {
    // Another connection: that of a page is not the one of the body.
    const page = await new Promise<number>((resolve, reject) =>
      request(`${site.url}/quota`, { agent: false }, (answer) =>
        answer.resume().on('end', () => resolve(answer.statusCode!)),
      )
        .on('error', reject)
        .end(),
    )
    expect(page).toBe(200)
    pages++
  } while (!isOver && pages < 1_000)
  return { ...(await work), pages }
}

describe('a file with', () => {
  it.each(FILES)('%s is refused, and pages are answered meanwhile', async (_, make, says) => {
    const body = fileForm(make())
    const before = process.memoryUsage().rss
    const { status, text } = await meanwhile({ path: pathOf('/file'), type: multipart, body })
    expect({ status, says: text.includes(says) ? says : text.slice(0, 4_000) }).toEqual({
      status: 422,
      says,
    })
    // This process has the sender and its file too.
    expect((process.memoryUsage().rss - before) / MIB).toBeLessThan(600)
  })
})

describe('a body with', () => {
  it.each(BODIES)('%s is refused', async (_, make, status) => {
    const sent = make()
    expect((await meanwhile(sent)).status).toBe(status)
  })
})

it('one file at a time: a second one hears so, and gets in after the first', async () => {
  const asked = request(`${site.url}${pathOf('/file')}`, {
    method: 'POST',
    headers: { cookie, origin: site.url, 'content-type': multipart, 'content-length': 100_000 },
  })
  asked.on('error', () => {})
  asked.write(`--${BOUNDARY}\r\n`)
  const second = () => send({ path: pathOf('/file'), type: multipart, body: fileForm('a\n') })
  let answer = await second()
  // The first one may not have come yet.
  while (answer.status === 422) answer = await second()
  expect(answer.status).toBe(503)
  expect(answer.text).toContain('Another file is being read')
  asked.destroy()
  while (answer.status === 503) answer = await second()
  expect(answer.status).toBe(422)
})
