// Schedules, limits that ask first, the Temporal server, workers and notifications: what loads, and what is complained about.

import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findSync } from '../../../config/index.ts'
import { importOf, issuesOf, load } from './project.ts'

const good = `connections:
  crm: { service: https://api.example.com, key: "\${RECORDS_API_KEY}" }
syncs:
  contacts:
    import:
      from: { csv: ./contacts.csv }
      to: crm
      object_type: svc_contact
      matching_property: svc_external_id
      properties: { svc_external_id: id }
`
const withSchedule = (schedule: string) => `${good}    schedule: ${schedule}\n`
const withLimit = (limit: string) => good.replace('to: crm', `to: crm\n      ${limit}`)

test.each([
  ['every 15 minutes', { every_ms: 900_000 }],
  ['Every  hour', { every_ms: 3_600_000 }],
  ['{ every: 2 days, jitter_seconds: 30 }', { every_ms: 172_800_000, jitter_seconds: 30 }],
  ['0 6 * * 1-5', { cron: '0 6 * * 1-5' }],
  [
    '{ cron: "30 2 1 jan,jul *", time_zone: Europe/Berlin, catch_up_minutes: 600 }',
    { cron: '30 2 1 jan,jul *', time_zone: 'Europe/Berlin', catch_up_minutes: 600 },
  ],
])('the schedule %s', async (schedule, expected) => {
  const { syncs, file } = await load(withSchedule(schedule))
  expect(findSync({ syncs, file }, 'contacts').schedule).toEqual({
    time_zone: 'UTC',
    jitter_seconds: 0,
    catch_up_minutes: 60,
    ...expected,
  })
})

test('without a schedule there is none', async () => {
  const { syncs, file } = await load(good)
  expect(findSync({ syncs, file }, 'contacts')).not.toHaveProperty('schedule')
})

test.each([
  ['hourly', /is `hourly`; expected `every 15 minutes`, or a cron line of five fields/],
  ['0 6 * *', /expected `every 15 minutes`, or a cron line/],
  ['0 24 * * *', /expected `every 15 minutes`, or a cron line/],
  ['every 5 seconds', /expected a time from 10 seconds to 366 days/],
  ['every fortnight', /expected a time from 10 seconds to 366 days/],
  ['{ every: 1 hour, cron: "0 6 * * *" }', /expected exactly one of `every` and `cron`/],
  ['{ jitter_seconds: 5 }', /expected exactly one of `every` and `cron`/],
  ['{ every: 1 hour, time_zone: UTC }', /`every` knows no time zone; remove it/],
  ['{ cron: "0 6 * * *", time_zone: Berlin }', /expected a time zone such as `Europe\/Berlin`/],
  ['{ cron: "0 6 * * *", catch_up_minutes: 0 }', /expected a number from 1 to 43200/],
])('the schedule %s is refused', async (schedule, expected) => {
  const issues = await issuesOf(withSchedule(schedule))
  expect(issues).toEqual([expect.stringMatching(expected)])
  expect(issues[0]).toMatch(/^11:/)
})

test('limits above which an import asks first', async () => {
  const limits = 'rows_max: 5000\n      creates_max_percent: 20\n      clears_max_percent: 0'
  expect(importOf(await load(withLimit(limits)), 'contacts')).toMatchObject({
    rows_max: 5_000,
    creates_max_percent: 20,
    clears_max_percent: 0,
  })
  expect(importOf(await load(good), 'contacts')).not.toHaveProperty('rows_max')
})

test.each([
  ['rows_max: 0', /expected a number of at least 1/],
  ['rows_max: 1.5', /expected a whole number/],
  ['creates_max_percent: 101', /expected a number from 0 to 100/],
  ['clears_max_percent: -1', /expected a number from 0 to 100/],
])('the limit %s is refused', async (limit, expected) => {
  expect(await issuesOf(withLimit(limit))).toEqual([expect.stringMatching(expected)])
})

test('the Temporal server, with the places of secrets and absolute paths', async () => {
  const config = await load(
    `${good}temporal:
  address: sync.example.com:7233
  namespace: crm
  tls: { server_ca: ./ca.pem, client_cert: ./c.pem, client_key: ./k.pem, server_name: temporal }
  api_key: { file: ./temporal-key }
  encryption_keys: ["\${CODEC_KEY}", { file: ./old-key }, { command: "op read op://v/k" }]
  ui: https://temporal.example.com
worker: { listen: "127.0.0.1:\${PORT:-9464}", slots: 2 }
`,
    { CODEC_KEY: 'hidden key' },
  )
  const folder = dirname(config.file)
  expect(config.temporal).toEqual({
    address: 'sync.example.com:7233',
    namespace: 'crm',
    tls: {
      server_ca: join(folder, 'ca.pem'),
      client_cert: join(folder, 'c.pem'),
      client_key: join(folder, 'k.pem'),
      server_name: 'temporal',
    },
    api_key: { file: join(folder, 'temporal-key') },
    encryption_keys: [
      { env: 'CODEC_KEY' },
      { file: join(folder, 'old-key') },
      { command: 'op read op://v/k' },
    ],
    ui: 'https://temporal.example.com',
  })
  expect(config.worker).toEqual({ listen: '127.0.0.1:9464', slots: 2 })
  expect(JSON.stringify(config)).not.toContain('hidden key')
})

test.each([
  ['temporal: { tls: { client_cert: ./c.pem } }', /`client_cert` and `client_key`, or neither/],
  ['temporal: { api_key: sk_secret }', /a key does not belong into this file/],
  ['temporal: { encryption_keys: [sk_secret] }', /a key does not belong into this file/],
  ['temporal: { encryption_keys: [] }', /expected at least one key/],
  ['temporal: { encryption_keys: [{ file: a, env: B }] }', /expected exactly one of `env`/],
  ['temporal: { ui: "localhost:8233" }', /expected a URL such as/],
  ['worker: { listen: 9464 }', /expected a text/],
  ['worker: { listen: "*:9464" }', /expected host:port/],
  ['worker: { slots: 0 }', /expected a number from 1 to 100/],
  ['notifications: { ops: { url: "https://hooks.example.com/sk_secret" } }', /its URL does not/],
  ['notifications: { ops: { on: [failed] } }', /missing key `url`/],
  ['notifications: { ops: { url: "${U}", on: [late] } }', /expected one of `blocked`/],
  ['notifications: { ops: { url: "${U}", on: [] } }', /expected at least one of blocked/],
  ['notifications: { ops: { url: "${U}", syncs: [contact] } }', /did you mean `contacts`\?/],
  ['notifications: { ops: { url: "${U}", rejects_max: -1 } }', /at least 0/],
])('%s is refused, and no secret is shown', async (setting, expected) => {
  const issues = await issuesOf(`${good}${setting}\n`)
  expect(issues).toEqual([expect.stringMatching(expected)])
  expect(issues.join()).not.toContain('sk_')
})

test('whoever is told', async () => {
  const { notifications } = await load(
    `${good}notifications: { ops: { url: "\${SLACK_URL}" }, boss: { url: { file: ./u }, on: [failed], syncs: [contacts], rejects_max: 9 } }\n`,
    { SLACK_URL: 'https://hooks.example.com/secret' },
  )
  expect(notifications).toEqual({
    ops: {
      url: { env: 'SLACK_URL' },
      on: ['blocked', 'failed', 'rejects', 'differences', 'skipped', 'recovered', 'deprecated'],
      rejects_max: 0,
    },
    boss: {
      url: { file: expect.stringMatching(/\/u$/) },
      on: ['failed'],
      syncs: ['contacts'],
      rejects_max: 9,
    },
  })
})
