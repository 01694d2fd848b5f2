// Settings of a connection: a Records Service, its key, how operations are requested, and how its quota is used.

import { z } from 'zod'
import { EVERY_OPERATION, requestOf } from '../src/contract/index.ts'
import { betweenNumbers, pathSetting, secretPlace, textSetting } from '../src/settings/parts.ts'

/** What is wrong with the address of a service, or undefined. Never shows the address: it may hold a password. */
export function serviceProblem(address: string): string | undefined {
  if (!URL.canParse(address)) return 'expected a URL such as `https://api.example.com`'
  const url = new URL(address)
  const loopback = url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback))
    return 'expected an https URL; http only for a literal loopback address such as `http://127.0.0.1:8080`'
  if (url.username !== '' || url.password !== '')
    return 'expected a URL without user name and password; the key has a setting of its own'
  if (url.search !== '' || url.hash !== '') return 'expected a URL without `?` and `#`'
  return undefined
}

const service = z.string().superRefine((address, context) => {
  const message = serviceProblem(address)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const key = secretPlace(
  'key',
  'a key does not belong into this file; write `key: "${RECORDS_API_KEY}"`, `key: { file: ./key }` or `key: { command: "…" }`',
)

const place = (what: string) =>
  z
    .enum(['query', 'body', 'item'])
    .optional()
    .describe(`Where ${what} goes: the query, the body next to \`data\`, or each item of \`data\`.`)

const request = z.strictObject({
  request: textSetting().describe('Method and path, as in the short form.'),
  matching_property: place('the name of the matching property'),
  association_type: place("an association's name"),
  target_id: place('the id of the record to link to'),
})

const operations = z
  .partialRecord(z.enum(EVERY_OPERATION), z.union([textSetting(), request]))
  .superRefine((requests, context) => {
    for (const id of EVERY_OPERATION) {
      const given = requests[id]
      const form = given === undefined ? undefined : requestOf(id, given)
      if (form && 'problem' in form)
        context.addIssue({ code: 'custom', message: form.problem, path: [id] })
    }
  })

const weight = (who: string, initial: number) =>
  betweenNumbers(1, 100).default(initial).describe(`Share of ${who}, 1 to 100.`)

const quota = z
  .strictObject({
    reserve_percent: betweenNumbers(0, 90)
      .default(0)
      .describe(
        'Percent of the quota that is left to people and other applications, 0 to 90: this much is kept free.',
      ),
    shares: z
      .strictObject({
        import: weight('imports', 60),
        mirror: weight('mirrors', 30),
        backfill: weight('backfills', 10),
      })
      .prefault({})
      .describe(
        'How the rest is divided while several kinds of work wait for it: by these weights. What one kind does not use, the others get.',
      ),
  })
  .transform(({ reserve_percent, shares }) => ({ reserve: reserve_percent / 100, shares }))

export const connectionSettings = z.strictObject({
  service: service.describe(
    'URL of the Records Service: https, or http to a literal loopback address.',
  ),
  key: key.describe(
    'Where the API key is, never the key itself: `"${NAME}"` (a variable of the environment), or a mapping with one of the following.',
  ),
  ca: pathSetting()
    .optional()
    .describe(
      'File with the certificates of the CA that the service is checked against, PEM, relative to this file. Default: those that Node knows, and those of NODE_EXTRA_CA_CERTS.',
    ),
  operations: operations
    .optional()
    .describe(
      "How operations are requested, where the service's OpenAPI document does not say it rightly: method and path, such as `PUT /objects/{object_type}/records/batch/`, or a mapping with one of the following. The path counts from `/rest/v1`; where it begins with `{base_url}`, from `service`. `records-sync check --operations` lists them all.",
    ),
  quota: quota
    .prefault({})
    .describe("How the org's requests a minute are used: docs/pacing.md explains it."),
})
