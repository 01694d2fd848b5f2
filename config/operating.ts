// Settings for the operation of a project: schedules, the Temporal server, workers, notifications.

import { z } from 'zod'
import { CRON_EXPECTED, isCron, parseEvery } from '../src/core/domain/schedule.ts'
import { isZoneName, zoneProblem } from '../src/core/time-zone.ts'
import { marked } from '../src/settings/marks.ts'
import {
  betweenNumbers,
  countSetting,
  hostPort,
  nameList,
  nameOf,
  keyFile,
  pathSetting,
  secretPlace,
  textSetting,
} from '../src/settings/parts.ts'

const everyExpected = 'expected a time from 10 seconds to 366 days, such as `15 minutes`'

/** `every 15 minutes`, a cron line, or the long form. */
export const scheduleSettings = z.union([
  z.string().superRefine((line, context) => {
    const every = /^every\s+(.*)$/i.exec(line.trim())?.[1]
    if (every === undefined ? !isCron(line) : parseEvery(every) === undefined)
      context.addIssue({
        code: 'custom',
        message:
          every === undefined
            ? `expected \`every 15 minutes\`, or ${CRON_EXPECTED}`
            : everyExpected,
      })
  }),
  marked(
    z.strictObject({
      every: z
        .string()
        .refine((time) => parseEvery(time) !== undefined, everyExpected)
        .optional()
        .describe(
          'Time between two runs, such as `15 minutes`, `2 hours` or `1 day`. Exactly one of `every` and `cron`.',
        ),
      cron: z
        .string()
        .refine(isCron, `expected ${CRON_EXPECTED}`)
        .optional()
        .describe('Cron line: minute, hour, day of the month, month, day of the week.'),
      time_zone: z
        .string()
        .refine(isZoneName, { error: ({ input }) => zoneProblem(String(input), false) })
        .optional()
        .describe(
          'Time zone that the cron line is read in, such as `Europe/Berlin`. Default: UTC.',
        ),
      jitter_seconds: betweenNumbers(0, 86_400)
        .default(0)
        .describe('Seconds, 0 to 86400, by which a run may begin later, at random.'),
      catch_up_minutes: betweenNumbers(1, 43_200)
        .default(60)
        .describe(
          'Minutes, 1 to 43200: a run whose time passed while the Temporal server was down still begins where that was not longer ago.',
        ),
    }),
    { is: 'choice', among: [{ name: 'every' }, { name: 'cron' }] },
  ),
])

export const temporalSettingsSchema = z.strictObject({
  address: hostPort('expected host:port, such as `localhost:7233`')
    .optional()
    .describe('Address of the Temporal server, `host:port`.'),
  namespace: textSetting().optional().describe('Namespace on the Temporal server.'),
  tls: z
    .union([
      z.boolean(),
      z.strictObject({
        server_ca: pathSetting()
          .optional()
          .describe(
            'File with the certificates of the CA that the server is checked against, PEM.',
          ),
        client_cert: pathSetting()
          .optional()
          .describe('File with the client certificate, PEM. Together with `client_key`.'),
        client_key: keyFile()
          .optional()
          .describe(
            'File with the key of the client certificate, PEM; only its owner may read it.',
          ),
        server_name: textSetting()
          .optional()
          .describe(
            "Name that the server's certificate is checked for. Default: that of the address.",
          ),
      }),
    ])
    .optional()
    .describe(
      'Whether the connection is encrypted, and how: true, false, or a mapping with the following. Default: true with an API key, else false.',
    ),
  api_key: secretPlace(
    'API key',
    'a key does not belong into this file; write `api_key: "${TEMPORAL_API_KEY}"`, `api_key: { file: ./temporal-key }` or `api_key: { command: "…" }`',
  )
    .optional()
    .describe('Where the API key for the Temporal server is, never the key itself.'),
  encryption_keys: z
    .array(
      secretPlace(
        'key',
        'a key does not belong into this file; write `- { file: ./codec-key }`, `- "${CODEC_KEY}"` or `- { command: "…" }`',
      ),
    )
    .min(1, 'expected at least one key')
    .optional()
    .describe(
      'Where the keys are with which what Temporal keeps of a run is encrypted: 32 bytes each, in base64. The first one encrypts; all of them decrypt. Default: nothing is encrypted. docs/temporal.md explains it.',
    ),
  ui: z
    .string()
    .refine(
      (address) => URL.canParse(address) && /^https?:$/.test(new URL(address).protocol),
      'expected a URL such as `https://temporal.example.com`',
    )
    .optional()
    .describe(
      "Address of Temporal's web page, for links. Default: port 8233 of a server on this machine.",
    ),
})

export const workerSettings = z.strictObject({
  listen: hostPort('expected host:port, such as `127.0.0.1:9464`')
    .optional()
    .describe(
      'Where a worker answers `/metrics`, `/healthz` and `/readyz`, `host:port`. Several workers of one machine need one each: `"127.0.0.1:${METRICS_PORT:-9464}"`. Default: nowhere.',
    ),
  hosts: z
    .array(
      z
        .string()
        .regex(/^[a-z\d]([\w.-]{0,251}[a-z\d])?$/i, 'expected a name such as `worker.example.com`'),
    )
    .optional()
    .describe(
      'Names with which programs ask at `listen`, such as `worker.example.com`. An address, a name without a dot and the name of the machine need no entry; another name is refused (421), because a page of the web may have it.',
    ),
  console: hostPort('expected host:port, such as `127.0.0.1:8088`')
    .optional()
    .describe(
      'Where a worker serves the console, `host:port`; everything else of it is under `console`. Several workers of one machine: one of them. Default: nowhere; `records-sync console` serves it.',
    ),
  slots: z
    .number()
    .int()
    .min(1, 'expected a number from 1 to 100')
    .max(100, 'expected a number from 1 to 100')
    .default(4)
    .describe(
      'Pieces of imports that one worker works on at the same time, 1 to 100; as many of mirrors in addition, and half as many of backfills.',
    ),
})

/** What notifications are sent for: each kind with its meaning. A new one has its words in src/monitoring/notify.ts. */
export const NOTIFICATION_KINDS = {
  blocked: 'a run is blocked, or waits for approval',
  failed: null,
  rejects: 'a run ended with more rejects than `rejects_max`',
  differences:
    'a run ended and knows that the two sides do not hold the same; a webhook that takes `rejects` alone gets it as `rejects`',
  skipped:
    'a sync of a group did not begin, because one that it is `after` did not end well: docs/groups.md',
  recovered: 'a run goes on, or the first one that succeeds after one that did not',
  deprecated: 'a service announces the end of the API that a run uses, or that day has come',
} as const satisfies Record<string, string | null>

export type NotificationKind = keyof typeof NOTIFICATION_KINDS
const KIND_NAMES = Object.keys(NOTIFICATION_KINDS) as NotificationKind[]

export const notificationSettings = z.strictObject({
  url: secretPlace(
    'URL',
    'its URL does not belong into this file, because whoever has it may post; write `url: "${SLACK_URL}"`, `url: { file: ./slack-url }` or `url: { command: "…" }`',
  ).describe('Where the URL is that is posted to, never the URL itself.'),
  ca: pathSetting()
    .optional()
    .describe(
      'File with the certificates of the CA that the receiver is checked against, PEM, relative to this file. Default: those that Node knows, and those of NODE_EXTRA_CA_CERTS.',
    ),
  on: z
    .array(z.enum(KIND_NAMES))
    .min(
      1,
      `expected at least one of ${KIND_NAMES.slice(0, -1).join(', ')} and ${KIND_NAMES.at(-1)}`,
    )
    .default([...KIND_NAMES])
    .describe(
      `What is sent: ${KIND_NAMES.map((kind) => {
        const meaning = NOTIFICATION_KINDS[kind]
        return `\`${kind}\`${meaning === null ? '' : ` (${meaning})`}`
      }).join(', ')}. Default: all of them.`,
    ),
  rejects_max: countSetting(0)
    .default(0)
    .describe('Rejected rows of a run up to which nothing is sent.'),
  syncs: nameList(nameOf('syncs'))
    .optional()
    .describe('Syncs whose runs it reports. Default: all.'),
})
