// The ledger that was changed: commands that move it, upgrade it, or find that another one has the runs. Those that only look leave an
// older ledger as it is.

import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { rememberLedger } from '../../../src/dev/known-ledgers.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { FIRST_SCHEMA } from '../../../src/ledger/statements/schema.ts'
import { runCommand } from '../../e2e/command.ts'
import { asNextRelease } from '../../later-schema.ts'

let home: string
const homes: string[] = []
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'records-sync-ledger-'))
  homes.push(home)
})
afterEach(() => vi.unstubAllEnvs())
afterAll(() => homes.forEach((each) => rmSync(each, { recursive: true, force: true })))

const ENV = {
  KEY: 'key-for-tests',
  LEDGER_URL: 'postgres://user:secret@127.0.0.1:1/db',
  TEMPORAL_ADDRESS: '127.0.0.1:9',
}

function configure(ledger: string, name = 'records-sync.yaml'): string {
  const file = join(home, name)
  writeFileSync(join(home, 'contacts.csv'), 'id,name\n1,A\n')
  writeFileSync(
    file,
    `${ledger === '' ? '' : `ledger: ${ledger}\n`}connections: { crm: { service: "http://127.0.0.1:9", key: "\${KEY}" } }
syncs:
${['contacts', 'deals'].map((sync) => `  ${sync}:\n    import: { from: { csv: ./contacts.csv }, to: crm, object_type: svc_contact, matching_property: svc_external_id, properties: { svc_external_id: id } }`).join('\n')}
`,
  )
  return file
}

/** Makes it a file that this process has never had open: the driver keeps a closed file until its statements are collected. */
function untouched(path: string): string {
  copyFileSync(path, `${path}.copy`)
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
  renameSync(`${path}.copy`, path)
  return path
}

const command = async (file: string, ...args: string[]) => {
  const { code, out, err } = await runCommand(ENV, ['-c', file, ...args])
  // Lines are wrapped for a terminal.
  return { code, said: `${out}${err}`.replaceAll(/\s+/g, ' ') }
}

/** A ledger with a run of each of these syncs that is over. */
async function withRuns(path: string, ...syncs: string[]): Promise<void> {
  const ledger = openSqliteLedger(path)
  for (const sync of syncs) {
    const opened = await ledger.openRun({
      sync,
      kind: 'import',
      mode: 'run',
      workflowId: 'w',
      workflowRunId: 'r',
      config: {},
    })
    if (!('run' in opened)) throw new Error('held')
    const { id } = opened.run
    await ledger.closeRun(id, {
      state: 'failed',
      reason: 'abandoned',
      message: null,
      books: await ledger.books(id),
    })
  }
  await ledger.close()
  untouched(path)
}

/** As a build before the first schema has left it. */
function unreadable(path: string, version: number): void {
  const db = new DatabaseSync(path)
  db.exec(`CREATE TABLE runs (id INTEGER); PRAGMA user_version = ${version}`)
  db.close()
}

const versionOf = (path: string) => {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
  } finally {
    db.close()
  }
}

describe('ledger move', () => {
  it('takes a ledger along, and names the new place wherever the old one is used', async () => {
    const [old, now] = [join(home, 'old.db'), join(home, 'new.db')]
    await withRuns(old, 'contacts')
    const before = configure('./old.db')
    const after = configure('./new.db', 'after.yaml')
    const moved = await command(after, 'ledger', 'move', '--from', old)
    expect(moved).toMatchObject({ code: 0, said: expect.stringMatching(/runs +1 /) as string })
    expect(moved.said).toContain(`${old} was moved to ${now}: every table has the same rows`)
    expect(await command(after, 'status')).toMatchObject({ code: 0 })
    for (const args of [
      ['status'],
      ['show', '1'],
      ['plan', 'contacts'],
      ['run', 'contacts'],
      ['ledger', 'upgrade'],
      ['check'],
      ['doctor'],
    ]) {
      const { code, said } = await command(before, ...args)
      expect({ args, code: code > 0, said }).toEqual({
        args,
        code: true,
        said: expect.stringContaining(`was moved to ${now}: name that one under`) as string,
      })
    }
    untouched(old)
    expect(await command(after, 'ledger', 'move', '--from', old)).toMatchObject({
      code: 0,
      said: expect.stringContaining('nothing was done') as string,
    })
    untouched(old)
    const json = await command(after, '--json', 'ledger', 'move', '--from', old)
    expect(JSON.parse(/\{.*\}/.exec(json.said)![0])).toMatchObject({
      moved: false,
      from: old,
      to: now,
    })
  })

  it.each([
    ['without --from', [], /expected where the ledger was/],
    ['of a URL', ['--from', 'postgres://user:secret@h/db'], /a URL may hold a password/],
    ['of a variable that is not set', ['--from', '${NOT_SET}'], /variable NOT_SET is not set/],
    ['of another form of it', ['--from', '$NOT_SET'], /variable NOT_SET is not set/],
    ['of the ledger itself', ['--from', 'records-sync-self.db'], /is the ledger of .* already/],
    ['of a file that is not there', ['--from', 'none.db'], /There is no ledger at/],
    ['of no database', ['--from', 'contacts.csv'], /is not a SQLite file/],
    ['of another database', ['--from', 'foreign.db'], /the database of another program/],
    ['of a server that is away', ['--from', '${LEDGER_URL}'], /cannot be reached/],
    ['that nobody has begun', ['--cancel'], /There is no ledger at/],
    ['with both', ['--cancel', '--from', 'old.db'], /leave --from out/],
  ] as const)('is refused %s', async (_, args, why) => {
    const file = configure('./records-sync-self.db')
    const foreign = new DatabaseSync(join(home, 'foreign.db'))
    foreign.exec('CREATE TABLE theirs (id INTEGER)')
    foreign.close()
    await withRuns(join(home, 'old.db'), 'contacts')
    const given = args.map((text) => (/\.(db|csv)$/.test(text) ? join(home, text) : text))
    const { code, said } = await command(file, 'ledger', 'move', ...given)
    expect({ code: code > 1, said }).toEqual({
      code: true,
      said: expect.stringMatching(why) as string,
    })
    expect(said).not.toContain('secret')
    expect(versionOf(join(home, 'old.db'))).toBe(FIRST_SCHEMA)
  })

  it('is refused while another process has the file open', async () => {
    const old = join(home, 'old.db')
    await withRuns(old, 'contacts')
    const open = openSqliteLedger(old)
    const file = configure('./new.db')
    expect((await command(file, 'ledger', 'move', '--from', old)).said).toContain(
      'Another process has the ledger',
    )
    await open.close()
    untouched(old)
    expect((await command(file, 'ledger', 'move', '--from', old)).code).toBe(0)
  })

  it('upgrades an older ledger before it is moved', async () => {
    const old = join(home, 'old.db')
    await withRuns(old, 'contacts')
    await asNextRelease(async () => {
      const { code, said } = await command(configure('./new.db'), 'ledger', 'move', '--from', old)
      expect({ code, said }).toMatchObject({
        code: 0,
        said: expect.stringContaining(`from schema version ${FIRST_SCHEMA}`) as string,
      })
    })
    expect(
      readdirSync(home).some((name) => name.startsWith(`old.db.schema-${FIRST_SCHEMA}.`)),
    ).toBe(true)
  })
})

const LOOKS: readonly (readonly string[])[] = [
  ['status'],
  ['show', '1'],
  ['rejects', '1'],
  ['audit'],
  ['report', '1'],
  ['watch'],
  ['plan', 'contacts'],
  ['plan', 'contacts', '--diff'],
  ['check'],
  ['doctor'],
  ['undo', '1', '--dry-run'],
  ['ledger', 'export', 'there'],
]

describe('a ledger of a build before the first schema', () => {
  it.each(
    [...LOOKS, ['run', 'contacts'], ['ledger', 'upgrade']].map(
      (args, at) => [args.join(' '), [1, 23, FIRST_SCHEMA - 1][at % 3]!, args] as const,
    ),
  )('is left as it is by %s (version %i)', async (_, version, args) => {
    const file = configure('./ledger.db')
    unreadable(join(home, 'ledger.db'), version)
    const { code, said } = await command(
      file,
      ...args.map((text) => (text === 'there' ? join(home, text) : text)),
    )
    expect({ code: code > 0, said }).toEqual({
      code: true,
      said: expect.stringContaining(
        `has schema version ${version}, and this release reads ${FIRST_SCHEMA} and later; it was left as it is. \`records-sync ledger backup FILE\` keeps a copy of it`,
      ) as string,
    })
    expect(said).not.toMatch(/run a sync first/)
    expect(versionOf(join(home, 'ledger.db'))).toBe(version)
  })

  it('is kept by ledger backup', async () => {
    unreadable(join(home, 'ledger.db'), 23)
    const kept = join(home, 'kept.db')
    expect(await command(configure('./ledger.db'), 'ledger', 'backup', kept)).toMatchObject({
      code: 0,
    })
    expect(versionOf(kept)).toBe(23)
  })
})

describe('a ledger of an older release', () => {
  it.each(LOOKS.map((args) => [args.join(' '), args] as const))(
    'is left as it is by %s',
    async (_, args) => {
      const file = configure('./ledger.db')
      await withRuns(join(home, 'ledger.db'), 'contacts')
      await asNextRelease(async () => {
        const { code, said } = await command(
          file,
          ...args.map((text) => (text === 'there' ? join(home, text) : text)),
        )
        expect({ code: code > 0, said }).toEqual({
          code: true,
          said: expect.stringContaining(
            `is of an older release (schema version ${FIRST_SCHEMA}; this one has ${FIRST_SCHEMA + 1}); \`records-sync ledger upgrade\` brings it to this one, with a backup`,
          ) as string,
        })
        expect(said).not.toMatch(/run a sync first/)
      })
      expect(versionOf(join(home, 'ledger.db'))).toBe(FIRST_SCHEMA)
    },
  )

  it('is upgraded by ledger upgrade, which keeps a copy', async () => {
    const file = configure('./ledger.db')
    const path = join(home, 'ledger.db')
    await withRuns(path, 'contacts')
    await asNextRelease(async () => {
      const { code, said } = await command(file, 'ledger', 'upgrade')
      expect({ code, said }).toEqual({
        code: 0,
        said: expect.stringContaining(
          `was upgraded from schema version ${FIRST_SCHEMA} to ${FIRST_SCHEMA + 1}; a copy`,
        ) as string,
      })
      const [copy] = readdirSync(home).filter((name) =>
        /^ledger\.db\.schema-\d+\.\w+\.backup$/.test(name),
      )
      expect(versionOf(join(home, copy!))).toBe(FIRST_SCHEMA)
      expect(versionOf(path)).toBe(FIRST_SCHEMA + 1)
      expect((await command(file, 'ledger', 'upgrade')).said).toContain('is of this release')
      // The copy takes its place again.
      copyFileSync(join(home, copy!), join(home, 'again.db'))
      const again = await command(
        configure('./again.db', 'again.yaml'),
        'ledger',
        'upgrade',
        '--no-backup',
      )
      expect(again.said).toContain('no copy was made')
      expect(readdirSync(home).filter((name) => name.startsWith('again.db.'))).toEqual([])
    })
  })

  it('is upgraded by a run, which says so', async () => {
    const file = configure('./ledger.db')
    await withRuns(join(home, 'ledger.db'), 'contacts')
    await asNextRelease(async () => {
      const { said } = await command(file, 'run', 'contacts')
      expect(said).toContain(`was upgraded from schema version ${FIRST_SCHEMA}`)
    })
    expect(versionOf(join(home, 'ledger.db'))).toBe(FIRST_SCHEMA + 1)
  })
})

describe('a first run in an empty ledger', () => {
  const USUAL = join('.records-sync', 'ledger.db')
  const usual = async (...syncs: string[]) => {
    rememberLedger({ file: join(home, 'x.yaml') }, { sqlite: join(home, 'x.db') }, 'none')
    await withRuns(join(home, USUAL), ...syncs)
  }
  const refusal = (place: string, syncs: string) =>
    new RegExp(
      `has no runs, and .*${place} has those of ${syncs}\\. .*records-sync ledger move --from .*--new-ledger`,
    )

  it.each([
    ['run contacts', ['run', 'contacts'], true],
    ['run of both', ['run', 'contacts', 'deals'], true],
    ['run --all', ['run', '--all'], true],
    ['reconcile', ['reconcile', 'contacts'], true],
    ['backfill', ['backfill', 'contacts'], true],
    ['plan', ['plan', 'contacts'], true],
    ['check', ['check'], true],
    ['doctor', ['doctor'], true],
    ['status', ['status'], true],
    ['a run of a sync that it does not have', ['run', 'deals'], false],
    ['the plan of such a one', ['plan', 'deals'], false],
  ] as const)(
    'is refused while the usual file has runs of the sync: %s',
    async (_, args, isSaid) => {
      await usual('contacts')
      const { said } = await command(configure('./new.db'), ...args)
      if (isSaid) expect(said).toMatch(refusal('ledger.db', 'contacts'))
      else expect(said).not.toContain('has no runs')
    },
  )

  it.each([
    ['a ledger that is remembered', 'postgres', 'contacts', true],
    ['a file that is remembered', 'file', 'contacts', true],
    ['a file that is gone', 'gone', 'contacts', false],
    ['a PostgreSQL with runs of other syncs', 'postgres', 'others', false],
    ['the ledger itself', 'itself', 'contacts', false],
  ] as const)('knows %s', async (_, kind, sync, isSaid) => {
    const file = configure('./new.db')
    const place = {
      postgres: { url: ENV.LEDGER_URL, schema: 'records_sync' },
      file: { sqlite: join(home, 'noted.db') },
      gone: { sqlite: join(home, 'gone.db') },
      itself: { sqlite: join(home, 'new.db') },
    }[kind]
    if (kind === 'file') await withRuns(join(home, 'noted.db'), sync)
    rememberLedger({ file }, place, sync)
    const { code, said } = await command(file, 'check')
    if (isSaid)
      expect({ code: code > 0, said }).toEqual({
        code: true,
        said: expect.stringMatching(refusal('', 'contacts')) as string,
      })
    else expect(said).not.toContain('has no runs')
    expect(said).not.toContain('secret')
  })

  it('is one that a person wants, with --new-ledger, from then on', async () => {
    await usual('contacts')
    const file = configure('./new.db')
    expect((await command(file, 'run', 'contacts')).said).toContain('has no runs')
    expect((await command(file, 'run', 'contacts', '--new-ledger')).said).not.toContain(
      'has no runs',
    )
    expect((await command(file, 'run', 'contacts')).said).not.toContain('has no runs')
    expect((await command(file, 'status')).said).not.toContain('has no runs')
  })

  it('is none after the ledger was moved', async () => {
    await usual('contacts')
    const file = configure('./new.db')
    expect((await command(file, 'ledger', 'move', '--from', join(home, USUAL))).code).toBe(0)
    expect((await command(file, 'status')).said).not.toContain('has no runs')
    expect(existsSync(join(home, USUAL))).toBe(true)
  })
})
