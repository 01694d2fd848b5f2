// `records-sync audit`: of an honest ledger it finds nothing, and of one that was tampered with what was done.

import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  runAudit as auditLedger,
  type AuditFinding,
  type FindingKind,
} from '../../../src/audit/index.ts'
import { auditCommand } from '../../../src/cli/commands/audit.ts'
import { manifestDigest, manifestSignature } from '../../../src/ledger/manifest.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { openRun, rows, stage } from '../../suites/ledger/scene.ts'
import { said } from '../cli/said.ts'
import { fill, NOW, RUNS } from './scene.ts'

const KEY = 'a-signing-key-of-a-test'
let folder: string
const honest = () => join(folder, 'honest.db')

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'records-sync-audit-'))
  await fill((clock) => openSqliteLedger(honest(), { clock, signingKey: KEY }))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A copy of the honest ledger that was tampered with. */
let copies = 0
function tampered(change: (db: DatabaseSyncInstance) => void): string {
  const path = join(folder, `copy-${++copies}.db`)
  copyFileSync(honest(), path)
  const db = new DatabaseSync(path)
  db.exec('PRAGMA foreign_keys = OFF')
  change(db)
  db.close()
  return path
}

async function auditOf(path: string, key: string | null = KEY, nowMs = NOW) {
  const ledger = openSqliteLedger(path, { readOnly: true })
  const findings: AuditFinding[] = []
  const report = (finding: AuditFinding) => void findings.push(finding)
  const syncs = await auditLedger(ledger, { key, nowMs, report })
  await ledger.close()
  return { syncs, findings }
}

/** What is found, as kinds and runs. */
async function found(path: string, key: string | null = KEY): Promise<string[]> {
  const { syncs, findings } = await auditOf(path, key)
  const told = findings.filter(({ sync }) => sync !== null)
  expect(syncs.reduce((sum, sync) => sum + sync.findings, 0)).toBe(told.length)
  return findings.map(({ kind, run }) => `${kind} ${run}`)
}

const run = (sql: string) => (db: DatabaseSyncInstance) => {
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0)
}

/** Writes a manifest anew, as whoever has no key can: with its digest, and with a signature where a key is given. */
function reseal(
  db: DatabaseSyncInstance,
  id: number,
  change: (body: Record<string, unknown>) => void,
  key?: string,
): string {
  const row = db.prepare('SELECT body FROM manifests WHERE run = ?').get(id) as { body: string }
  const body = JSON.parse(row.body) as Record<string, unknown>
  change(body)
  // Its keys are in order, and stay so.
  const text = JSON.stringify(body)
  db.prepare('UPDATE manifests SET body = ?, digest = ? WHERE run = ?').run(
    text,
    manifestDigest(text),
    id,
  )
  if (key !== undefined)
    db.prepare('UPDATE manifests SET signature = ? WHERE run = ?').run(
      manifestSignature(text, key),
      id,
    )
  return manifestDigest(text)
}

/** Mends the chain of a sync behind a run whose manifest was written anew. */
function mendChain(db: DatabaseSyncInstance, sync: string, from: number, key?: string): void {
  const rows = db
    .prepare('SELECT run, digest FROM manifests WHERE sync = ? ORDER BY run')
    .all(sync) as { run: number; digest: string }[]
  let previous: string | null = null
  for (const { run: id, digest } of rows) {
    const link = previous
    previous =
      id <= from ? digest : reseal(db, id, (body) => Object.assign(body, { previous: link }), key)
  }
}

test('an honest ledger has no finding, and a line for each sync', async () => {
  const { syncs, findings } = await auditOf(honest())
  expect(findings).toEqual([])
  expect(syncs).toEqual([
    {
      sync: 'contacts',
      runs: 9,
      live: 1,
      sealed: 8,
      signed: 8,
      booked: 7,
      pruned: 1,
      findings: 0,
      head: { run: RUNS.reconcile, digest: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
    {
      sync: 'crm',
      runs: 3,
      live: 0,
      sealed: 3,
      signed: 3,
      booked: 3,
      pruned: 0,
      findings: 0,
      head: { run: RUNS.failedMirror, digest: expect.any(String) },
    },
  ])
})

test('a ledger without a signing key is audited too', async () => {
  const path = join(folder, 'unsigned.db')
  await fill((clock) => openSqliteLedger(path, { clock }))
  for (const key of [null, KEY]) {
    const { syncs, findings } = await auditOf(path, key)
    expect(findings).toEqual([])
    expect(syncs.map(({ sealed, signed }) => [sealed, signed])).toEqual([
      [8, 0],
      [3, 0],
    ])
  }
})

const { created, mixed, cancelled, young, abandoned, retry, reconcile, mirror, failedMirror } = RUNS

const TAMPERINGS: readonly (readonly [
  string,
  (db: DatabaseSyncInstance) => void,
  readonly `${FindingKind} ${number}`[],
  RegExp,
])[] = [
  [
    'a count of a run',
    run(
      `UPDATE runs SET counts = json_set(counts, '$.states.created', 3, '$.states.refused', 0) WHERE id = ${mixed}`,
    ),
    [`run_altered ${mixed}`, `books_altered ${mixed}`],
    /counts\.states\.created: sealed 2, now 3; counts\.states\.refused: sealed 1, now 0/,
  ],
  [
    'the state of a run',
    run(`UPDATE runs SET state = 'complete' WHERE id = ${cancelled}`),
    [`run_altered ${cancelled}`],
    /it is not as it was sealed: state: sealed cancelled, now complete/,
  ],
  [
    'the number of rows read',
    run(`UPDATE runs SET rows_read = 1 WHERE id = ${created}`),
    [`run_altered ${created}`, `books_altered ${created}`],
    /rows_read: sealed 5, now 1/,
  ],
  [
    'a run that is made to live again',
    run(`UPDATE runs SET state = 'paused', closed_at = NULL WHERE id = ${failedMirror}`),
    [`run_altered ${failedMirror}`],
    /state: sealed failed, now paused/,
  ],
  [
    'the state of an item',
    run(`UPDATE items SET state = 'created' WHERE run = ${mixed} AND state = 'refused'`),
    [`books_altered ${mixed}`],
    /its items were changed after it was closed: created: booked 2, counted 3; refused: booked 1, counted 0/,
  ],
  [
    'an item that was in doubt',
    run(`UPDATE items SET in_doubt = 0 WHERE run = ${abandoned} AND in_doubt = 1`),
    [`books_altered ${abandoned}`],
    /in doubt: booked 2, counted 0/,
  ],
  [
    'an item that was sent again',
    run(`UPDATE items SET replayed = 1 WHERE run = ${young} AND ordinal = 1`),
    [`books_altered ${young}`],
    /replayed: booked 0, counted 1/,
  ],
  [
    'an item that was deleted',
    run(`DELETE FROM items WHERE run = ${mixed} AND ordinal = 2`),
    [`items_missing ${mixed}`],
    /1 of its items are gone/,
  ],
  [
    'an item that was deleted out of the middle of an old run',
    run(`DELETE FROM items WHERE run = ${created} AND ordinal = 3`),
    [`items_missing ${created}`],
    /out of the middle/,
  ],
  [
    'an item that was changed while older ones go',
    (db) => {
      run(`DELETE FROM items WHERE run = ${created} AND ordinal = 1`)(db)
      run(`UPDATE items SET state = 'updated' WHERE run = ${created} AND ordinal = 3`)(db)
    },
    [`items_missing ${created}`],
    /created: booked 5, counted 3; updated: booked 0, counted 1/,
  ],
  [
    'all items of a run that is young',
    run(`DELETE FROM items WHERE run = ${young}`),
    [`items_missing ${young}`],
    /before their time of 30 days/,
  ],
  [
    'an item too many',
    run(`INSERT INTO items (run, ordinal, line, state) VALUES (${mixed}, 99, 100, 'created')`),
    [`books_altered ${mixed}`],
    /created: booked 2, counted 3/,
  ],
  [
    'the state of a link',
    run(`UPDATE links SET state = 'target_missing' WHERE run = ${young} AND number = 1`),
    [`books_altered ${young}`],
    /links linked: booked 1, counted 0; links target_missing: booked 0, counted 1/,
  ],
  [
    'a link that was deleted',
    run(`DELETE FROM links WHERE run = ${young} AND number = 1`),
    [`items_missing ${young}`],
    /1 of its items and links are gone/,
  ],
  [
    'the number of links read',
    run(`UPDATE link_steps SET read = 9 WHERE run = ${young}`),
    [`books_altered ${young}`],
    /links read: booked 2, counted 9/,
  ],
  [
    'the links in the books of a run',
    run(
      `UPDATE runs SET counts = json_set(counts, '$.links.states.not_sent', 0) WHERE id = ${young}`,
    ),
    [`run_altered ${young}`, `books_unbalanced ${young}`, `books_altered ${young}`],
    /2 links read, 1 booked/,
  ],
  [
    'the books of a run',
    run(`UPDATE runs SET counts = NULL WHERE id = ${mixed}`),
    [`run_altered ${mixed}`, `books_altered ${mixed}`],
    /has no books/,
  ],
  [
    'the mapping',
    run(`UPDATE runs SET config = json_set(config, '$.name', 'other') WHERE id = ${young}`),
    [`run_altered ${young}`],
    /mapping \(the configuration that it ran with, runs\.config\): sealed [0-9a-f]+…, now/,
  ],
  [
    'the digest of the input',
    run(`UPDATE runs SET source_digest = 'other' WHERE id = ${young}`),
    [`run_altered ${young}`],
    /input \(digest of the source, runs\.source_digest\): sealed d, now other/,
  ],
  [
    'when it ended',
    run(`UPDATE runs SET closed_at = opened_at WHERE id = ${retry}`),
    [`run_altered ${retry}`],
    /closed_at: sealed /,
  ],
  [
    'the rows of a table of a mirror',
    run(`UPDATE streams SET inserted = 7 WHERE run = ${mirror} AND stream = 'svc_contact'`),
    [`run_altered ${mirror}`],
    /streams\.svc_contact\.inserted: sealed 2300, now 7/,
  ],
  [
    'a table of a mirror',
    run(`DELETE FROM streams WHERE run = ${mirror} AND stream = 'svc_contact'`),
    [`run_altered ${mirror}`],
    /not as it was sealed: streams\.svc_contact: sealed \{.*now nothing; the run or/,
  ],
  [
    'the text of a manifest',
    run(
      `UPDATE manifests SET body = replace(body, '"complete"', '"failed"') WHERE run = ${created}`,
    ),
    [`manifest_altered ${created}`, `signature_invalid ${created}`, `run_altered ${created}`],
    /the text of its manifest has the SHA-256 [0-9a-f]{16}…, noted is/,
  ],
  [
    'the text of a manifest, its digest mended',
    (db) => void reseal(db, created, (body) => Object.assign(body, { rows_read: 6 })),
    [`signature_invalid ${created}`, `run_altered ${created}`, `chain_broken ${mixed}`],
    /rows_read: sealed 6, now 5/,
  ],
  [
    'a manifest that is no JSON',
    run(`UPDATE manifests SET body = 'x' WHERE run = ${reconcile}`),
    [`manifest_altered ${reconcile}`, `signature_invalid ${reconcile}`, `run_altered ${reconcile}`],
    /the manifest is no JSON object/,
  ],
  [
    'a digest',
    run(`UPDATE manifests SET digest = 'ab' WHERE run = ${created}`),
    [`manifest_altered ${created}`],
    /noted is ab: the manifest was changed after it was sealed/,
  ],
  [
    'a manifest that was removed from the middle',
    run(`DELETE FROM manifests WHERE run = ${mixed}`),
    [`manifest_missing ${mixed}`, `chain_broken ${cancelled}`],
    /it is closed and has no manifest: the manifest was removed/,
  ],
  [
    'the first manifests',
    run(`DELETE FROM manifests WHERE sync = 'contacts' AND run < ${cancelled}`),
    [...[1, 2, 3].map((id) => `manifest_missing ${id}` as const), `chain_broken ${cancelled}`],
    /and there is none: the older manifests of the sync were removed/,
  ],
  [
    'a run that was deleted from the middle, with its manifest and items',
    (db) => {
      for (const [table, column] of [
        ['manifests', 'run'],
        ['items', 'run'],
        ['runs', 'id'],
      ] as const)
        run(`DELETE FROM ${table} WHERE ${column} = ${mixed}`)(db)
    },
    [`run_missing ${mixed}`, `chain_broken ${cancelled}`],
    /not in the ledger any more, although runs are numbered without gaps/,
  ],
  [
    'two runs that were deleted, without their manifests',
    run(`DELETE FROM runs WHERE id IN (${mixed}, ${cancelled})`),
    [`run_missing ${mixed}`, `manifest_orphaned ${mixed}`, `manifest_orphaned ${cancelled}`],
    new RegExp(`it and those up to run ${cancelled} are not in the ledger`),
  ],
  [
    'a run that was put under another sync',
    run(`UPDATE runs SET sync = 'crm' WHERE id = ${young}`),
    [`manifest_missing ${young}`, `manifest_orphaned ${young}`],
    /its manifest is of this sync, and the run is of "crm"/,
  ],
  [
    'the newest run, that was put under another sync',
    run(`UPDATE runs SET sync = 'contacts' WHERE id = ${failedMirror}`),
    [`manifest_missing ${failedMirror}`, `manifest_orphaned ${failedMirror}`],
    /the run is of "contacts"/,
  ],
  [
    'the way in which a manifest is written',
    (db) => {
      const { body } = db.prepare(`SELECT body FROM manifests WHERE run = ${reconcile}`).get() as {
        body: string
      }
      db.prepare('UPDATE manifests SET body = ?, digest = ?, signature = ? WHERE run = ?').run(
        `${body} `,
        manifestDigest(`${body} `),
        manifestSignature(`${body} `, KEY),
        reconcile,
      )
    },
    [`run_altered ${reconcile}`],
    /not written as it is sealed/,
  ],
  [
    'a link',
    (db) => void reseal(db, reconcile, (body) => Object.assign(body, { previous: null }), KEY),
    [`chain_broken ${reconcile}`],
    /says that it is the first of the sync, but run \d+ was sealed before it: the link was re-written/,
  ],
  [
    'a link to another manifest',
    (db) =>
      void reseal(db, reconcile, (body) => Object.assign(body, { previous: 'f'.repeat(64) }), KEY),
    [`chain_broken ${reconcile}`],
    /hangs on another one \(f{16}…\) than that of run \d+/,
  ],
  [
    'a run and its manifest, and the whole chain behind it, by somebody without the key',
    (db) => {
      run(
        `UPDATE runs SET rows_read = rows_read, key_fingerprint = 'other' WHERE id = ${abandoned}`,
      )(db)
      reseal(db, abandoned, (body) => Object.assign(body, { key_fingerprint: 'other' }))
      mendChain(db, 'contacts', abandoned)
    },
    [
      `signature_invalid ${abandoned}`,
      `signature_invalid ${young}`,
      `signature_invalid ${retry}`,
      `signature_invalid ${reconcile}`,
    ],
    /the signature of its manifest does not fit/,
  ],
  [
    'a signature by another key',
    (db) => {
      reseal(db, young, () => {}, 'another-signing-key')
    },
    [`signature_invalid ${young}`],
    /the manifest was changed, or signed with another key/,
  ],
  [
    'a signature that was taken away',
    run(`UPDATE manifests SET signature = NULL WHERE run = ${young}`),
    [`signature_missing ${young}`],
    /not signed, although an older one of the sync is: it was written without the key/,
  ],
  [
    'a signature that is no hexadecimal',
    run(`UPDATE manifests SET signature = '' WHERE run = ${young}`),
    [`signature_invalid ${young}`],
    /does not fit/,
  ],
]

describe('tampering is seen:', () => {
  test.each(TAMPERINGS)('%s', async (_, change, expected, message) => {
    const path = tampered(change)
    expect(await found(path)).toEqual(expected)
    const { findings } = await auditOf(path)
    expect(findings.map((finding) => finding.message).join('\n')).toMatch(message)
  })
})

test('items that are being removed in their time are no finding', async () => {
  const path = tampered(run(`DELETE FROM items WHERE run = ${created} AND ordinal <= 2`))
  const { syncs, findings } = await auditOf(path)
  expect(findings).toEqual([])
  expect(syncs[0]).toMatchObject({ booked: 6, pruned: 2 })
})

test('books that do not balance are told, although they are as they were sealed', async () => {
  const path = join(folder, 'unbalanced.db')
  const ledger = openSqliteLedger(path)
  const { id } = await openRun(ledger)
  await stage(ledger, id, rows(2))
  await ledger.closeRun(id, { state: 'failed', books: await ledger.books(id) })
  await ledger.close()
  expect(await found(path)).toEqual([`books_unbalanced ${id}`])
})

test('a chain that was removed whole is a finding for each closed run', async () => {
  const path = tampered(run(`DELETE FROM manifests`))
  const { syncs, findings } = await auditOf(path)
  expect(new Set(findings.map(({ kind }) => kind))).toEqual(new Set(['manifest_missing']))
  expect(findings).toHaveLength(11)
  expect(syncs.map(({ sealed, head }) => [sealed, head])).toEqual([
    [0, null],
    [0, null],
  ])
})

test('what was taken off the end shows in the head only, until another run comes', async () => {
  const path = tampered((db) => {
    for (const [table, column] of [
      ['manifests', 'run'],
      ['items', 'run'],
      ['differences', 'run'],
      ['runs', 'id'],
    ] as const)
      run(`DELETE FROM ${table} WHERE ${column} >= ${reconcile} AND ${column} <> ${RUNS.live}`)(db)
    run(`DELETE FROM runs WHERE id = ${RUNS.live}`)(db)
  })
  const { syncs, findings } = await auditOf(path)
  expect(findings).toEqual([])
  expect(syncs[0]!.head!.run).toBe(retry)
  const ledger = openSqliteLedger(path)
  await openRun(ledger)
  await ledger.close()
  expect(await found(path)).toEqual([`run_missing ${reconcile}`])
})

test('a chain that was written anew as a whole is seen only where a key signed it', async () => {
  const path = tampered((db) => {
    run(`UPDATE runs SET key_fingerprint = 'other' WHERE id = ${abandoned}`)(db)
    reseal(db, abandoned, (body) => Object.assign(body, { key_fingerprint: 'other' }))
    mendChain(db, 'contacts', abandoned)
  })
  expect(await found(path, null)).toEqual([])
  expect((await found(path)).length).toBe(4)
})

test('manifests from before there was a key are held by the first that is signed', async () => {
  const unsigned = (db: DatabaseSyncInstance) =>
    run(`UPDATE manifests SET signature = NULL WHERE sync = 'contacts' AND run <= ${mixed}`)(db)
  expect(await found(tampered(unsigned))).toEqual([])
  const path = tampered((db) => {
    unsigned(db)
    run(`UPDATE runs SET key_fingerprint = 'other' WHERE id = ${mixed}`)(db)
    reseal(db, mixed, (body) => Object.assign(body, { key_fingerprint: 'other' }))
  })
  expect(await found(path)).toEqual([`chain_broken ${cancelled}`])
})

describe('the command', () => {
  const configOf = (ledger: string, signingKey: string | null) => {
    const path = join(folder, `config-${++copies}.yaml`)
    if (signingKey !== null) writeFileSync(`${path}.key`, signingKey, { mode: 0o600 })
    const signed = signingKey === null ? '' : `, signing_key: { file: "${path}.key" }`
    writeFileSync(
      path,
      `ledger: { sqlite: "${ledger}"${signed} }
connections: { crm: { service: "http://127.0.0.1:1", key: { file: ./key } } }
syncs: {}
`,
    )
    return path
  }

  test('tells of each sync, and what it cannot see', async () => {
    const { code, out, err } = await said(configOf(honest(), KEY), auditCommand)
    expect([code, err]).toEqual([0, []])
    expect(out.map((line) => line.replace(/[0-9a-f]{64}/, 'DIGEST'))).toEqual([
      'sync      runs  live  sealed  signed  books right  pruned  findings  head',
      '────────  ────  ────  ──────  ──────  ───────────  ──────  ────────  ────────────────────────────────────────────────────────────────────────',
      'contacts     9     1       8       8            7       1         0  run 9: DIGEST',
      'crm          3     0       3       3            3       0         0  run 11: DIGEST',
      '',
      'Nothing was found: every closed run is as it was sealed, and its books agree with its items.',
      '',
      'What an audit cannot see:',
      '  - Runs that were taken off the end of a chain: compare each head with the digest of that run in',
      "    the worker's log and in the result of its workflow.",
      '  - Which item is in which state, and what it says: a manifest holds the counts.',
      '  - The items of 1 run: they were removed in their time; the counts are kept.',
    ])
  })

  test('ends with 1 and says what was found', async () => {
    const path = tampered((db) => {
      run(`UPDATE runs SET state = 'complete' WHERE id = ${cancelled}`)(db)
      run(`DELETE FROM manifests WHERE run = ${young}`)(db)
    })
    const config = configOf(path, KEY)
    const { code, out } = await said(config, auditCommand)
    expect(code).toBe(1)
    expect(out.slice(5, 11)).toEqual([
      'contacts, run 4: it is not as it was sealed: state: sealed cancelled, now complete; the run or its',
      'manifest was changed',
      'contacts, run 7: it is closed and has no manifest: the manifest was removed',
      expect.stringMatching(/^contacts, run 8: its manifest hangs on another one/),
      expect.any(String),
      '3 findings.',
    ])
    const json = await said(config, auditCommand, true)
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out.join(''))).toMatchObject({
      ok: false,
      signatures_checked: true,
      syncs: [
        { sync: 'contacts', runs: 9, books_right: 7, findings: 3, head: { run: 9 } },
        { sync: 'crm', findings: 0 },
      ],
      findings: [
        { kind: 'run_altered', sync: 'contacts', run: 4 },
        { kind: 'manifest_missing', sync: 'contacts', run: 7 },
        { kind: 'chain_broken', sync: 'contacts', run: 8 },
      ],
      findings_total: 3,
    })
  })

  test('says that signatures are not checked, or that there are none', async () => {
    const unkeyed = (await said(configOf(honest(), null), auditCommand)).out
    expect(unkeyed.map((line) => line.trim()).join(' ')).toContain(
      'Some are signed; name the key, and they are checked.',
    )
    const unsigned = tampered(run('UPDATE manifests SET signature = NULL'))
    expect((await said(configOf(unsigned, KEY), auditCommand)).out.join(' ')).toContain(
      'Whether manifests were forged of contacts, crm: none of them is signed.',
    )
  })

  test('without a ledger there is nothing to audit; without its key nothing is', async () => {
    const config = configOf(join(folder, 'none.db'), null)
    expect(await said(config, auditCommand)).toEqual({
      code: 0,
      out: ['There is no ledger yet: no sync has run.'],
      err: [],
    })
    expect((await said(configOf(honest(), 'too-short'), auditCommand)).code).toBe(2)
    const other = await said(configOf(honest(), 'quite-another-signing-key'), auditCommand, true)
    expect(other.code).toBe(1)
    expect(
      new Set(JSON.parse(other.out[0]!).findings.map((one: AuditFinding) => one.kind)),
    ).toEqual(new Set(['signature_invalid']))
  })
})
