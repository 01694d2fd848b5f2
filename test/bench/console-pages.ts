// The pages of the console, in a process of its own whose statements are timed (timed-sqlite.mjs): what each takes with a ledger of many
// runs and items. `console-pages.ts <runs> <items>` prints a table.

import { performance } from 'node:perf_hooks'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { STYLE_PATH } from '../../src/console/style.ts'
import { openSite, type ConsoleSite } from '../unit/console/site.ts'

const SYNCS = ['companies', 'contacts', 'deals', 'invoices', 'offers', 'tickets']
const TIMES = 9
const WARM = 60

const sql = (globalThis as unknown as { sqliteTime: { ms: number; statements: number } }).sqliteTime

async function benchPages(runs: number, items: number): Promise<void> {
  console.error(`pages: ${runs} runs, ${items} items`)
  const site = await openSite({ quota: {} })
  try {
    const { last } = multiply(site, runs, items)
    const rejects = site.runs['rejects']!
    const pages: Record<string, string> = {
      'a style sheet, for comparison': STYLE_PATH,
      overview: '/',
      'a sync': '/syncs/contacts',
      'a run, closed': `/runs/${last}`,
      'a run, live': `/runs/${site.runs['live']}`,
      'its report': `/runs/${last}/report`,
      'its rejects': `/runs/${last}/rejects`,
      'its differences': `/runs/${last}/differences`,
      'a plan': `/runs/${site.runs['planned']}/plan`,
      'a comparison': `/runs/${site.runs['compared']}/differences`,
      'a row': '/rows?key=SECRET%20key%2010',
      quota: '/quota',
      search: `/search?q=${rejects}`,
    }
    const lines = []
    for (const [page, path] of Object.entries(pages)) lines.push(await measure(site, page, path))
    console.table(lines)
  } finally {
    await site.close()
  }
}

/** Processor time, ms: this machine may be busy. That of the request itself, and of the client, is part of each page. */
const spentMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

async function measure({ url }: ConsoleSite, page: string, path: string) {
  const ask = async () => {
    const answer = await fetch(`${url}${path}`)
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path} is answered ${answer.status}`)
    return text.length
  }
  for (let time = 0; time < WARM; time++) await ask()
  const taken: { ms: number; sql: number; statements: number; bytes: number }[] = []
  for (let time = 0; time < TIMES; time++) {
    // What pages share is read once a second: here each page reads it itself.
    await new Promise((resolve) => setTimeout(resolve, 1_050))
    sql.ms = 0
    sql.statements = 0
    const began = spentMs()
    const bytes = await ask()
    taken.push({ ms: spentMs() - began, sql: sql.ms, statements: sql.statements, bytes })
  }
  const median = (of: (each: (typeof taken)[number]) => number) =>
    taken.map(of).toSorted((a, b) => a - b)[Math.floor(taken.length / 2)]!
  const ms = median((each) => each.ms)
  const ofSql = median((each) => each.sql)
  return {
    page,
    ms: Number(ms.toFixed(1)),
    'sql ms': Number(ofSql.toFixed(2)),
    statements: median(({ statements }) => statements),
    ratio: ofSql === 0 ? null : Number((ms / ofSql).toFixed(1)),
    kB: Math.round(median(({ bytes }) => bytes) / 1_000),
  }
}

/** Copies of a run of 100 rows, with its requests and segments, until there are so many runs, with so many items together. */
function multiply(site: ConsoleSite, runs: number, items: number): { last: number } {
  const db = new DatabaseSync(join(site.folder, 'ledger.db'))
  const began = performance.now()
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -400000')
  const of = site.runs['rejects']!
  const columns = (table: string, changed: Readonly<Record<string, string>>) => {
    const names = (db.prepare(`PRAGMA table_info(${table})`).all() as { name: string }[]).map(
      ({ name }) => name,
    )
    return {
      names: names.map((name) => `"${name}"`).join(),
      values: names.map((name) => changed[name] ?? `t."${name}"`).join(),
    }
  }
  const { next } = db.prepare('SELECT max(id) + 1 AS next FROM runs').get() as { next: number }
  const wanted = Math.max(0, runs - next + 1)
  const copies = Math.max(1, Math.round(items / Math.max(1, wanted) / 100))
  const run = columns('runs', {
    id: '$id',
    sync: '$sync',
    workflow_run_id: `'bench ' || $id`,
    opened_at: '$at',
    closed_at: '$at',
    rows_read: String(copies * 100),
  })
  const item = columns('items', {
    run: '$id',
    ordinal: 't.ordinal + n.value * 100',
    line: 't.line + n.value * 100',
    key: `t.key || '-' || n.value`,
    record_id: `t.record_id || '-' || n.value`,
    twin: 'NULL',
  })
  const numbers = `WITH RECURSIVE n (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < ${copies - 1})`
  const addRun = db.prepare(
    `INSERT INTO runs (${run.names}) SELECT ${run.values} FROM runs t WHERE id = ${of}`,
  )
  const addItems = db.prepare(
    `${numbers} INSERT INTO items (${item.names}) SELECT ${item.values} FROM n CROSS JOIN items t WHERE t.run = ${of} ORDER BY n.value, t.ordinal`,
  )
  const more = ['requests', 'segments'].map((table) => {
    const { names, values } = columns(table, { run: '$id' })
    return db.prepare(
      `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table} t WHERE run = ${of}`,
    )
  })
  let last = of
  for (let made = 0; made < wanted; made++) {
    db.exec('BEGIN')
    last = next + made
    const sync = SYNCS[made % SYNCS.length]!
    const at = new Date(Date.now() - (wanted - made) * 600_000).toISOString()
    addRun.run({ $id: last, $sync: sync, $at: at })
    addItems.run({ $id: last })
    for (const each of more) each.run({ $id: last })
    db.exec('COMMIT')
  }
  const { count } = db.prepare('SELECT count(*) AS count FROM items').get() as { count: number }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const seconds = Math.round((performance.now() - began) / 1_000)
  console.error(`  ${wanted} runs more, ${count} items in all, made in ${seconds} s`)
  return { last }
}

const [runs = 0, items = 0] = process.argv.slice(2).map(Number)
await benchPages(runs, items)
