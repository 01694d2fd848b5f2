import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig, readLedgerPlace, readSigningKey } from '../../../config/index.ts'
import { DEFAULT_QUOTA_SETTINGS } from '../../../src/client/pacer/org-quota.ts'
import { ConfigError } from '../../../src/core/errors.ts'
import { importOf, configFile, folder, issuesOf, load } from './project.ts'

const good = `connections:
  crm: { service: https://api.example.com, key: "\${RECORDS_API_KEY}" }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties:
        svc_external_id: id
        svc_email: { column: email, split: ";" }
`

/** The good configuration with one piece replaced. */
function but(piece: string, replacement: string): string {
  expect(good).toContain(piece)
  return good.replace(piece, () => replacement)
}

describe('a good configuration', () => {
  test('names properties that are not compared, constants among them', async () => {
    const constant = '\n        svc_region: { value: EU, compare: false }'
    const text = but('split: ";" }', `split: ";", compare: false }${constant}`)
    const { properties } = importOf(await load(text), 'contacts')
    expect(properties['svc_email']).toEqual({ column: 'email', split: ';', compare: false })
    expect(properties['svc_region']).toEqual({ value: 'EU', compare: false })
  })

  test('has every default, absolute paths and the long form of properties', async () => {
    const file = await configFile(good)
    expect(await loadConfig(file, {})).toEqual({
      file,
      ledger: { sqlite: join(dirname(file), '.records-sync/ledger.db') },
      connections: {
        crm: {
          service: 'https://api.example.com',
          key: { env: 'RECORDS_API_KEY' },
          quota: { reserve: 0, shares: { import: 60, mirror: 30, backfill: 10 } },
        },
      },
      syncs: {
        contacts: {
          name: 'contacts',
          kind: 'import',
          import: {
            from: {
              csv: join(dirname(file), 'contacts.csv'),
              delimiter: ',',
              quote: '"',
              ragged: 'reject',
            },
            to: 'crm',
            object_type: 'svc_contact',
            matching_property: 'svc_external_id',
            mode: 'upsert',
            empty: 'omit',
            verify: 'sample',
            properties: {
              svc_external_id: { column: 'id' },
              svc_email: { column: 'email', split: ';' },
            },
          },
        },
      },
      warehouses: {},
      temporal: {},
      worker: { slots: 4 },
      keyFiles: [],
      console: { address: '127.0.0.1:8088', users: {}, session_hours: 8 },
      notifications: {},
      groups: {},
    })
  })

  test('keeps the environment away from the key', async () => {
    const config = await load(good, { RECORDS_API_KEY: 'sk_secret' })
    expect(JSON.stringify(config)).not.toContain('sk_secret')
  })

  test('may say where the key is in other ways', async () => {
    const file = await configFile(but('"${RECORDS_API_KEY}"', '{ file: "${WHERE}/key" }'))
    const config = await loadConfig(file, { WHERE: './secrets' })
    expect(config.connections['crm']!.key).toEqual({ file: join(dirname(file), 'secrets/key') })
    const command = await load(but('"${RECORDS_API_KEY}"', '{ command: "op read ${ITEM}" }'), {
      ITEM: 'x',
    })
    expect(command.connections['crm']!.key).toEqual({ command: 'op read ${ITEM}' })
    const variable = await load(but('"${RECORDS_API_KEY}"', '{ env: OTHER_KEY }'))
    expect(variable.connections['crm']!.key).toEqual({ env: 'OTHER_KEY' })
  })

  test.each(['http://127.0.0.1:8080', 'http://[::1]:8080/base', 'https://crm.example.com/a/b'])(
    'may have its service at %s',
    async (service) => {
      const config = await load(but('https://api.example.com', `"${service}"`))
      expect(config.connections['crm']!.service).toBe(service)
    },
  )

  test('may have its ledger in a PostgreSQL, whose URL it does not hold', async () => {
    const ledger = async (written: string) => {
      const file = await configFile(`ledger: ${written}\n${good}`)
      const env = { LEDGER_URL: 'postgres://u:sk_secret@h/db', WHERE: './secrets' }
      const config = await loadConfig(file, env)
      expect(JSON.stringify(config)).not.toContain('sk_secret')
      return { folder: dirname(file), ledger: config.ledger }
    }
    const schema = 'records_sync'
    expect((await ledger('{ postgres: "${LEDGER_URL}" }')).ledger).toEqual({
      postgres: { env: 'LEDGER_URL' },
      schema,
    })
    const { folder, ledger: inFile } = await ledger(
      '{ postgres: { file: "${WHERE}/url" }, schema: mine }',
    )
    expect(inFile).toEqual({ postgres: { file: join(folder, 'secrets/url') }, schema: 'mine' })
    expect((await ledger('{ postgres: { command: "op read ${ITEM}" } }')).ledger).toEqual({
      postgres: { command: 'op read ${ITEM}' },
      schema,
    })
    expect((await ledger('{ sqlite: a.db }')).ledger).toEqual({
      sqlite: expect.stringMatching(/\/a\.db$/),
    })
  })

  test('may have a signing key for either ledger, which is read only where it is asked for', async () => {
    const url = 'postgres://u:sk_secret@h/db'
    const env = { LEDGER_URL: url, SIGNING: 'sk_secret_of_16_or_more', SHORT: 'sk_15_character' }
    const of = async (written: string) => {
      const config = await loadConfig(await configFile(`ledger: ${written}\n${good}`), env)
      expect(JSON.stringify(config)).not.toContain('sk_')
      return config.ledger
    }
    const file = await of('{ sqlite: a.db, signing_key: "${SIGNING}" }')
    expect(file).toMatchObject({ signing_key: { env: 'SIGNING' } })
    expect(await readLedgerPlace(file, {})).toEqual({
      sqlite: expect.stringMatching(/\/a\.db$/),
    })
    expect(await readSigningKey(file, env)).toBe('sk_secret_of_16_or_more')
    await expect(readSigningKey(file, {})).rejects.toThrow(
      'The signing key of the ledger: The environment variable `SIGNING` is not set',
    )
    const database = await of('{ postgres: "${LEDGER_URL}", signing_key: { env: SHORT } }')
    expect(await readLedgerPlace(database, env)).toEqual({ url, schema: 'records_sync' })
    const short = readSigningKey(database, env)
    await expect(short).rejects.toThrow(
      'The signing key of the ledger has 15 characters; expected at least 16; make one with: openssl rand -hex 32',
    )
    await expect(short).rejects.toMatchObject({ code: 'signing_key_invalid' })
    expect(await of('{ sqlite: a.db, signing_key: { file: ./key } }')).toMatchObject({
      signing_key: { file: expect.stringMatching(/^\/.*\/key$/) },
    })
    const command = await of('{ sqlite: a.db, signing_key: { command: "echo ${SIGNING}" } }')
    expect(command).toMatchObject({ signing_key: { command: 'echo ${SIGNING}' } })
    expect(await readSigningKey(command, env)).toBe('sk_secret_of_16_or_more')
    expect(await readSigningKey(await of('a.db'), env)).toBeNull()
  })

  test('may say how the quota is used, in part too', async () => {
    const quotaOf = async (quota: string) =>
      (await load(but('key:', `quota: ${quota}, key:`))).connections['crm']!.quota
    expect(await quotaOf('{ reserve_percent: 20, shares: { mirror: 100, backfill: 1 } }')).toEqual({
      reserve: 0.2,
      shares: { import: 60, mirror: 100, backfill: 1 },
    })
    expect(await quotaOf('{ reserve_percent: 90 }')).toEqual({
      ...DEFAULT_QUOTA_SETTINGS,
      reserve: 0.9,
    })
    expect(await quotaOf('{}')).toEqual(DEFAULT_QUOTA_SETTINGS)
  })

  test('may share settings by anchors, and has `true` as a key', async () => {
    const text = but('svc_external_id: id', 'svc_external_id: &id id\n        svc_x: *id').replace(
      'split: ";"',
      'true: ["yes"], false: ["no"]',
    )
    const { properties } = importOf(await load(text), 'contacts')
    expect(properties['svc_x']).toEqual({ column: 'id' })
    expect(properties['svc_email']).toEqual({ column: 'email', true: ['yes'], false: ['no'] })
  })

  test('may hold constants of any shape', async () => {
    const text = but(
      'svc_email: { column: email, split: ";" }',
      'svc_tags: { value: [a, 1.5, null, { b: true }] }',
    )
    const { properties } = importOf(await load(text), 'contacts')
    expect(properties['svc_tags']).toEqual({ value: ['a', 1.5, null, { b: true }] })
  })

  test('may begin with a byte order mark and have CRLF line ends', async () => {
    expect(await issuesOf(`\ufeff${good.replaceAll('\n', '\r\n')}`)).toEqual([])
    expect(await issuesOf(`\ufeff${but('to: crm', 'to: crn').replaceAll('\n', '\r\n')}`)).toEqual([
      '7:11: no connection `crn`; valid: `crm`; did you mean `crm`?',
    ])
  })
})

const serviceExpected =
  'expected an https URL; http only for a literal loopback address such as `http://127.0.0.1:8080`'
const keyRefused =
  '2:49: `connections.crm.key` is not valid; a key does not belong into this file; write `key: "${RECORDS_API_KEY}"`, `key: { file: ./key }` or `key: { command: "…" }`'
const inImport = '`syncs.contacts.import'

describe('a file is parsed again', () => {
  const local = but('https://api.example.com', '"${RECORDS_URL}"')
  const at = { RECORDS_URL: 'https://api.example.com' }

  test('not while it says the same', async () => {
    const file = await configFile(local)
    const config = await loadConfig(file, at)
    expect(await loadConfig(file, { ...at, OTHER: 'one' })).toBe(config)
  })

  test('once its text or a variable in it is another, or it is another file', async () => {
    const file = await configFile(local)
    const config = await loadConfig(file, at)
    const moved = await loadConfig(file, { RECORDS_URL: 'https://api.example.org' })
    expect(moved.connections['crm']?.service).toBe('https://api.example.org')
    await writeFile(file, local.replace('svc_external_id: id', 'svc_external_id: number'))
    const edited = importOf(await loadConfig(file, at), 'contacts')
    expect(edited.properties['svc_external_id']).toEqual({ column: 'number' })
    const copy = await configFile(local)
    expect((await loadConfig(copy, at)).file).toBe(copy)
    expect(config.file).toBe(file)
  })

  test('where it did not load', async () => {
    const file = await configFile(local)
    for (const _ of [1, 2]) await expect(loadConfig(file, {})).rejects.toThrow('RECORDS_URL')
    expect((await loadConfig(file, at)).file).toBe(file)
    await writeFile(file, 'syncs: 3')
    for (const _ of [1, 2]) await expect(loadConfig(file, at)).rejects.toThrow(ConfigError)
  })
})

describe('a bad setting is named with its place', () => {
  test.each<[string, string, string, string[]]>([
    [
      'an unknown key',
      'matching_property: svc',
      'matchin_property: svc',
      [
        `5:5: missing key \`matching_property\` in ${inImport}\``,
        '9:7: unknown key `matchin_property`; did you mean `matching_property`?',
      ],
    ],
    [
      'an unknown key at the top',
      'syncs:',
      'schedules: {}\nsyncs:',
      [
        '3:1: unknown key `schedules`; valid keys: `ledger`, `connections`, `warehouses`, `syncs`, `groups`, `temporal`, `worker`, `console`, `notifications`',
      ],
    ],
    [
      'an unknown kind of sync',
      '    import:',
      '    webhook: {}\n    import:',
      [
        '5:5: unknown key `webhook`; valid keys: `import`, `link`, `mirror`, `tests`, `after`, `schedule`',
      ],
    ],
    [
      'a key of the import, one level too far left',
      '    import:',
      '    verify: all\n    import:',
      ['5:5: unknown key `verify`; it is a key of `import`: indent it further'],
    ],
    [
      'an unknown key of a mapping',
      'split:',
      'splt:',
      ['12:37: unknown key `splt`; did you mean `split`?'],
    ],
    [
      'a key given twice',
      'to: crm',
      'to: crm\n      to: crm',
      ['8:7: this key is given twice; keep one'],
    ],
    [
      'a value of a list of values',
      'to: crm',
      'to: crm\n      verify: sampel',
      [
        `8:15: ${inImport}.verify\` is \`sampel\`; expected one of \`none\`, \`sample\`, \`all\`; did you mean \`sample\`?`,
      ],
    ],
    [
      'a value of another kind',
      'to: crm',
      'to: crm\n      empty: [omit]',
      [`8:14: ${inImport}.empty\` is a list; expected one of \`omit\`, \`clear\`, \`reject\``],
    ],
    [
      'a number where a text belongs',
      'column: email',
      'column: 12',
      [
        `12:30: ${inImport}.properties.svc_email.column\` is \`12\`; expected a text; put it in quotes`,
      ],
    ],
    [
      'an empty setting',
      '{ csv: ./contacts.csv }',
      '',
      [`6:13: ${inImport}.from\` is empty; expected a mapping`],
    ],
    [
      'a list for a property',
      'svc_external_id: id',
      'svc_external_id: [id]',
      [`11:26: ${inImport}.properties.svc_external_id\` is a list; expected a text or a mapping`],
    ],
    [
      'an unknown connection',
      'to: crm',
      'to: warehouse',
      ['7:11: no connection `warehouse`; valid: `crm`'],
    ],
    [
      'a matching property that is not mapped',
      'svc_external_id: id',
      'svc_name: name',
      [
        '9:26: no mapped property `svc_external_id`; valid: `svc_name`, `svc_email`; map it under `properties`',
      ],
    ],
    [
      'a name of a sync',
      '  contacts:',
      '  Contacts:',
      [
        '4:3: `Contacts`: expected a name of a-z, 0-9 and _ that begins with a letter, at most 63 characters',
      ],
    ],
    [
      'a column and a value',
      'split: ";"',
      'value: 1',
      [
        `12:9: ${inImport}.properties.svc_email\`: expected exactly one of \`column\`, \`columns\` and \`value\``,
      ],
    ],
    [
      'neither column nor value',
      'column: email, ',
      '',
      [
        `12:9: ${inImport}.properties.svc_email\`: expected exactly one of \`column\`, \`columns\` and \`value\``,
      ],
    ],
    [
      'a constant with more',
      'column: email',
      'value: x',
      ['12:32: a constant `value` stands alone; remove `split`'],
    ],
    [
      'a comparison that is neither on nor off',
      'split: ";"',
      'compare: sometimes',
      [
        `12:46: ${inImport}.properties.svc_email.compare\` is \`sometimes\`; expected true or false`,
      ],
    ],
    [
      'a matching property that is not compared',
      'svc_external_id: id',
      'svc_external_id: { column: id, compare: false }',
      [
        '11:40: records are found by the matching property, so it is always compared; remove `compare`',
      ],
    ],
    [
      'two units',
      'split: ";"',
      'unit: EUR, unit_column: c',
      ['12:48: expected `unit` or `unit_column`, not both'],
    ],
    [
      'a unit',
      'split: ";"',
      'unit: Euro',
      [
        `12:43: ${inImport}.properties.svc_email.unit\` is \`Euro\`; expected an ISO 4217 code such as \`EUR\``,
      ],
    ],
    [
      'a date format',
      'split: ";"',
      'format: DD.MM',
      [
        `12:45: ${inImport}.properties.svc_email.format\` is \`DD.MM\`; expected YYYY (or YY), MM (or M, MMM, MMMM) and DD (or D), once each, such as \`DD.MM.YYYY\` or \`D-MMM-YY\``,
      ],
    ],
    [
      'a word with two meanings',
      'split: ";"',
      'true: ["on"], false: ["ON"]',
      ['12:58: a word means both true and false; keep it in one of the lists'],
    ],
    [
      'a delimiter',
      './contacts.csv',
      'a.csv, delimiter: "||"',
      [
        `6:38: ${inImport}.from.delimiter\` is \`||\`; expected one character, such as \`,\`, \`;\` or \`"\\t"\``,
      ],
    ],
    [
      'a delimiter that is the quote',
      './contacts.csv',
      `a.csv, delimiter: '"'`,
      ['6:13: expected two different characters as `delimiter` and `quote`'],
    ],
    [
      'an encoding',
      './contacts.csv',
      'a.csv, encoding: utf-7',
      [
        `6:37: ${inImport}.from.encoding\` is \`utf-7\`; expected an encoding such as \`utf-8\`, \`windows-1252\` or \`utf-16le\``,
      ],
    ],
    [
      'a ledger that is no file',
      'connections:',
      'ledger: postgres://u:sk_x@h/db\nconnections:',
      [
        '1:9: `ledger` is not valid; expected the path of a file; a database is named by `ledger: { postgres: "${LEDGER_URL}" }`',
      ],
    ],
    [
      "a ledger's URL with its password",
      'connections:',
      'ledger: { postgres: "postgres://u:sk_x@h/db" }\nconnections:',
      [
        '1:21: `ledger.postgres` is not valid; its URL does not belong into this file, because it may hold a password; write `postgres: "${LEDGER_URL}"`, `postgres: { file: ./ledger-url }` or `postgres: { command: "…" }`',
      ],
    ],
    [
      'a password where the place of a URL belongs',
      'connections:',
      'ledger: { postgres: { url: sk_x, Sk_X: 1, env: 5 } }\nconnections:',
      [
        '1:23: unknown key `url`; valid keys: `env`, `file`, `command`',
        '1:34: unknown key; valid keys: `env`, `file`, `command`',
        '1:48: `ledger.postgres.env` is not valid; expected a text; put it in quotes',
      ],
    ],
    [
      'two ledgers',
      'connections:',
      'ledger: { sqlite: a.db, postgres: "${URL}" }\nconnections:',
      ['1:9: expected exactly one of `sqlite` and `postgres`'],
    ],
    [
      'no ledger, in two ways',
      'connections:',
      'ledger: { postgres: { env: A, file: b }, schema: Mine }\nconnections:',
      [
        '1:21: expected exactly one of `env`, `file` and `command`',
        '1:50: `ledger.schema` is not valid; expected a name of a-z, 0-9 and _ that does not begin with a digit, at most 63 characters',
      ],
    ],
    [
      'a signing key in the file',
      'connections:',
      'ledger: { sqlite: a.db, signing_key: sk_secret_of_16_or_more }\nconnections:',
      [
        '1:38: `ledger.signing_key` is not valid; a key does not belong into this file; write `signing_key: "${LEDGER_SIGNING_KEY}"`, `signing_key: { file: ./signing-key }` or `signing_key: { command: "…" }`',
      ],
    ],
    [
      'a signing key of no ledger, from two places',
      'connections:',
      'ledger: { signing_key: { env: A, file: b } }\nconnections:',
      [
        '1:9: expected exactly one of `sqlite` and `postgres`',
        '1:24: expected exactly one of `env`, `file` and `command`',
      ],
    ],
    [
      'a schema of a SQLite file',
      'connections:',
      'ledger: { sqlite: a.db, schema: mine }\nconnections:',
      ['1:25: a SQLite file has no `schema`'],
    ],
    [
      'an address of Temporal',
      'syncs:',
      'temporal: { address: localhost }\nsyncs:',
      ['3:22: `temporal.address` is `localhost`; expected host:port, such as `localhost:7233`'],
    ],
    [
      'a service without https',
      'https:',
      'http:',
      [`2:19: \`connections.crm.service\` is not valid; ${serviceExpected}`],
    ],
    [
      'a service at localhost by name',
      'https://api.example.com',
      'http://localhost:80',
      [`2:19: \`connections.crm.service\` is not valid; ${serviceExpected}`],
    ],
    [
      'a service with a password',
      'https://',
      'https://me:sk_x@',
      [
        '2:19: `connections.crm.service` is not valid; expected a URL without user name and password; the key has a setting of its own',
      ],
    ],
    [
      'a reserve of everything',
      'key:',
      'quota: { reserve_percent: 91 }, key:',
      [
        '2:70: `connections.crm.quota.reserve_percent` is not valid; expected a number from 0 to 90',
      ],
    ],
    [
      'a reserve with its sign',
      'key:',
      'quota: { reserve_percent: 20 % }, key:',
      ['2:70: `connections.crm.quota.reserve_percent` is not valid; expected a number'],
    ],
    [
      'shares out of range',
      'key:',
      'quota: { shares: { import: 0, mirror: 101 } }, key:',
      [
        '2:71: `connections.crm.quota.shares.import` is not valid; expected a number from 1 to 100',
        '2:82: `connections.crm.quota.shares.mirror` is not valid; expected a number from 1 to 100',
      ],
    ],
    [
      'a share of what there is not',
      'key:',
      'quota: { shares: { imports: 50 } }, key:',
      ['2:63: unknown key `imports`; did you mean `import`?'],
    ],
    [
      'a share of what goes first anyway',
      'key:',
      'quota: { shares: { interactive: 50 } }, key:',
      ['2:63: unknown key `interactive`; valid keys: `import`, `mirror`, `backfill`'],
    ],
    ['a literal key', '"${RECORDS_API_KEY}"', 'sk_live_x1', [keyRefused]],
    ['a default key', '"${RECORDS_API_KEY}"', '"${RECORDS_API_KEY:-sk_live_x1}"', [keyRefused]],
    [
      'a key in the wrong shape',
      '"${RECORDS_API_KEY}"',
      '{ sk_live_x1: }',
      [
        '2:49: expected exactly one of `env`, `file` and `command`',
        '2:51: unknown key; valid keys: `env`, `file`, `command`',
      ],
    ],
    [
      'two places of a key',
      '"${RECORDS_API_KEY}"',
      '{ env: A, file: b }',
      ['2:49: expected exactly one of `env`, `file` and `command`'],
    ],
    [
      'a connection that is a text',
      '{ service: https://api.example.com, key: "${RECORDS_API_KEY}" }',
      'sk_live_x1',
      ['2:8: `connections.crm` is not valid; expected a mapping'],
    ],
    [
      'an unset variable',
      './contacts.csv',
      '"a/${FOLDER}/${OTHER}"',
      [
        '6:23: environment variable `FOLDER` is not set; set it, or write `${FOLDER:-default}`',
        '6:33: environment variable `OTHER` is not set; set it, or write `${OTHER:-default}`',
      ],
    ],
    [
      'a malformed variable',
      'to: crm',
      'to: ${cr-m}',
      ['7:11: expected `${NAME}` or `${NAME:-default}`; for a literal `${` write `$${`'],
    ],
    [
      'an inexact number',
      'column: email, split: ";"',
      'value: 12345678901234567890',
      ['12:29: this number cannot be held exactly; put it in quotes to make it a text'],
    ],
    [
      'a number without end',
      'column: email, split: ";"',
      'value: .inf',
      ['12:29: this number cannot be held exactly; put it in quotes to make it a text'],
    ],
  ])('%s', async (_, piece, replacement, expected) => {
    const issues = await issuesOf(but(piece, replacement))
    expect(issues).toEqual(expected)
    expect(issues.join()).not.toContain('sk_')
  })

  test('together with all others, in the order of the file', async () => {
    const text = but('to: crm', 'to: crn').replace('split:', 'splt:').replace('https:', 'ftp:')
    expect((await issuesOf(text)).map((issue) => issue.split(':')[0])).toEqual(['2', '7', '12'])
  })

  test('without the value that a variable gave it', async () => {
    expect(await issuesOf(but('to: crm', 'to: ${TO}'), { TO: 'hidden' })).toEqual([
      '7:11: no connection `${TO}`; valid: `crm`',
    ])
    const [issue] = await issuesOf(but('to: crm', 'to: crm\n      verify: ${HOW}'), {
      HOW: 'hidden',
    })
    expect(issue).toBe(
      '8:15: `syncs.contacts.import.verify` is `${HOW}`; expected one of `none`, `sample`, `all`',
    )
  })
})

describe('a file that cannot be used', () => {
  const messageOf = async (path: string) => {
    const error: unknown = await loadConfig(path, {}).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }

  test('a missing one names the command that makes one', async () => {
    const path = join(await folder(), 'none', 'records-sync.yaml')
    expect(await messageOf(path)).toBe(
      `${path}: there is no such file; \`records-sync init\` makes one`,
    )
  })

  test('a folder', async () => {
    const path = join(await folder(), 'project')
    await mkdir(path)
    expect(await messageOf(path)).toContain('this is a folder')
    expect(await messageOf(path)).toContain('`records-sync init`')
  })

  test('one over 1 MiB, but not one of 1 MiB', async () => {
    const path = await configFile(good + '#'.repeat(1_048_576 - Buffer.byteLength(good)))
    await loadConfig(path, {})
    await writeFile(path, '#'.repeat(1_048_577))
    expect(await messageOf(path)).toBe(`${path}: the file is larger than 1 MiB`)
  })

  test('one that is not UTF-8', async () => {
    const path = await configFile(Buffer.from('a: \xff', 'latin1'))
    expect(await messageOf(path)).toBe(`${path}: the file is not UTF-8; save it as UTF-8`)
  })
})
