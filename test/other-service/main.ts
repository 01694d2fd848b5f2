// The other service as a process: `node --import tsx test/other-service/main.ts --port 4010 --prefix acme_ --pages short`.
// `--help` lists what may be given; `--habits JSON` takes any habit.

import { parseArgs } from 'node:util'
import { startOtherService } from './index.ts'
import type { OtherServiceOptions } from './index.ts'

const HELP = `usage: main.ts [--port N] [--key KEY] [--prefix svc_] [--field-types plain|other] [--paths plain|other]
               [--pages full|short|empty] [--per-minute N] [--headers all|refusals|limit|remaining|none]
               [--refuse-each N] [--lower-emails] [--contacts N] [--seed N] [--habits JSON]
`

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    key: { type: 'string' },
    prefix: { type: 'string' },
    'field-types': { type: 'string' },
    paths: { type: 'string' },
    pages: { type: 'string' },
    'per-minute': { type: 'string' },
    headers: { type: 'string' },
    'refuse-each': { type: 'string' },
    'lower-emails': { type: 'boolean' },
    contacts: { type: 'string' },
    seed: { type: 'string' },
    habits: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
} else {
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  const given = {
    port: number(values.port),
    key: values.key,
    prefix: values.prefix,
    fieldTypes: values['field-types'],
    paths: values.paths,
    pages: values.pages,
    perMinute: number(values['per-minute']),
    headers: values.headers,
    refuseEach: number(values['refuse-each']),
    lowerEmails: values['lower-emails'],
    seed: number(values.seed),
    ...(JSON.parse(values.habits ?? '{}') as object),
  }
  const known = Object.entries(given).filter(([, value]) => value !== undefined)
  const service = await startOtherService(Object.fromEntries(known) as OtherServiceOptions)
  service.fill(
    service.name('contact'),
    Array.from({ length: Number(values.contacts ?? 0) }, (_, index) => ({
      [service.name('external_id')]: `seed-${index + 1}`,
      [service.name('first_name')]: `First ${index + 1}`,
    })),
  )
  process.stdout.write(`${service.url}\nkey: ${service.key}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void service.close().then(() => process.exit(0)))
  }
}
