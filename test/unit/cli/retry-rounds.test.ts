// Rejects are written, corrected and sent again, round by round, until nothing is left: between a real service and a real ledger.

import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { keepCorrectionFiles } from '../../../src/actions/corrections.ts'
import { rejects } from '../../../src/cli/commands/rejects.ts'
import { printCorrections } from '../../../src/cli/shared/corrections.ts'
import { show } from '../../../src/cli/commands/show.ts'
import { status } from '../../../src/cli/commands/status.ts'
import { collectReport } from '../../../src/report/collect.ts'
import { renderReport } from '../../../src/report/html.ts'
import { CONTACT, importScene } from '../import/scene.ts'
import { said } from './said.ts'

const ROWS = 12
const columns = ['id', 'email', 'born', 'wants']
/** What is right, of a row. */
const right = (id: string): Record<string, string> => ({
  id,
  email: `${id}@example.org`,
  born: '1990-02-01',
  wants: 'true',
})
/** A row of which the columns are wrong. */
const wrong = (id: string, bad: readonly string[]) =>
  columns.map((name) => (bad.includes(name) ? `no ${name}` : right(id)[name]!))

type Rejected = Record<string, string>

async function begun() {
  const scene = await importScene({
    svc_external_id: { column: 'id' },
    svc_email: { column: 'email' },
    svc_birthday: { column: 'born' },
    svc_subscribed: { column: 'wants' },
  })
  const config = join(scene.folder, 'records-sync.yaml')
  await writeFile(
    config,
    `ledger: ./ledger.db
connections: { crm: { service: "${scene.service.url}", key: { file: ./key } } }
syncs:
  contacts:
    import:
      from: { csv: ./rows.csv }
      to: crm
      object_type: ${CONTACT}
      matching_property: svc_external_id
      properties: { svc_external_id: id, svc_email: email, svc_birthday: born, svc_subscribed: wants }
`,
  )
  scene.rows(
    columns,
    Array.from({ length: ROWS }, (_, index) =>
      wrong(`k${index}`, columns.slice(1, 1 + (index % 4))),
    ),
  )
  /** Writes the rejects of a run, lets a person correct one wrong column of each, and reads the files back. */
  const corrected = async (of: number, column: string) => {
    const directory = join(scene.folder, 'left')
    await rm(directory, { recursive: true, force: true })
    const { err } = await said(config, (context) =>
      rejects(context, String(of), { exact: false, directory }),
    )
    const files = (await readdir(directory)).map((name) => join(directory, name))
    const before: Rejected[] = []
    for (const file of files) {
      const text = await readFile(file, 'utf8')
      before.push(...(parse(text, { columns: true, bom: true }) as Rejected[]))
      await writeFile(
        file,
        text.replaceAll(/^"?(k\d+)"?,.*/gm, (line, id: string) =>
          line.replace(`no ${column}`, right(id)[column]!),
        ),
      )
    }
    let correction: number | null = null
    await said(config, async (context) => {
      const run = (await scene.ledger.run(of))!
      const kept = await keepCorrectionFiles(context, run, files)
      printCorrections(context.terminal, kept.account)
      correction = kept.correction
      return 0
    })
    expect(correction).not.toBeNull()
    return { before, err, choice: { correction: correction! } }
  }
  const shown = async (of: number) =>
    (await said(config, (context) => show(context, String(of)))).out
  const left = async (of: number) => {
    const { out } = await said(config, (context) => show(context, String(of)), true)
    return (JSON.parse(out.join('')) as { left: { rows: number; of: number; by_run: unknown } })
      .left
  }
  const report = async (of: number) =>
    await collectReport(scene.ledger, (await scene.ledger.run(of))!, {
      madeAt: new Date().toISOString(),
      hint: (command) => command,
      ui: null,
      limitPerMinute: null,
    })
  /** What `status` says of the run: its state, and the rejects that are left. */
  const stands = async () => {
    const { out } = await said(config, status)
    const cells = out[2]!.split(/ {2,}/)
    const { out: json } = await said(config, status, true)
    const [one] = JSON.parse(json.join('')) as { rejects_left: number }[]
    return [cells[2], cells[6], one!.rejects_left]
  }
  return { ...scene, config, corrected, shown, left, report, stands }
}

test('rejects, corrected, sent again: three rounds, each with what the one before has corrected', async () => {
  const { run, retry, config, corrected, shown, left, held, report, stands } = await begun()
  const first = await run()
  expect(first.books.states.invalid).toBe(9)
  expect(await left(first.run)).toMatchObject({ rows: 9, of: 9 })
  expect(await stands()).toEqual(['complete_with_rejects', '9', 9])

  const one = await corrected(first.run, 'email')
  expect(one.before.map(({ email }) => email)).toEqual(Array.from({ length: 9 }, () => 'no email'))
  const second = await retry(first.run, one.choice)
  expect(second.books.states).toMatchObject({ created: 3, invalid: 6 })
  expect((await shown(first.run)).join('\n')).toContain(
    `3 of 9 brought in by later runs, 6 left: 6 as run ${second.run} left them`,
  )
  expect(await left(first.run)).toMatchObject({
    rows: 6,
    of: 9,
    by_run: [{ run: second.run, rows: 6 }],
  })

  expect(await stands()).toEqual(['complete_with_rejects', '6', 6])
  // The same command as before, of the first run: the e-mails are as they were corrected, and the error is the next one.
  const two = await corrected(first.run, 'born')
  expect(two.before.map(({ id, email }) => email === right(id!)['email'])).toEqual(
    Array.from({ length: 6 }, () => true),
  )
  expect(two.before.map(({ _row }) => _row)).toEqual(
    Array.from({ length: 6 }, () => expect.stringMatching(/^run 1 row \d+, as in run 2$/)),
  )
  expect(new Set(two.before.map(({ _column }) => _column))).toEqual(
    new Set(['born', 'born, wants']),
  )
  expect(two.err).toContain('6 rows were sent again by run 2: cells and error are as of that run')
  const third = await retry(first.run, two.choice)
  expect(third.books.states).toMatchObject({ created: 3, invalid: 3 })
  // The run between knows what its own retry was not asked for.
  expect(await left(second.run)).toMatchObject({ rows: 3, by_run: [{ run: third.run, rows: 3 }] })

  // Of the run between, as its own last lines say.
  const three = await corrected(second.run, 'wants')
  expect(three.before.map(({ _row }) => _row)).toEqual(
    Array.from({ length: 3 }, () => expect.stringMatching(/^run 2 row \d+, as in run 3$/)),
  )
  const fourth = await retry(second.run, three.choice)
  expect(fourth.books.states).toMatchObject({ created: 3, invalid: 0 })
  for (const of of [first, second, third]) expect(await left(of.run)).toMatchObject({ rows: 0 })
  expect(await stands()).toEqual(['complete_with_rejects, mended', '0', 0])
  expect((await shown(first.run)).join('\n')).toContain(
    '9 of 9 brought in by later runs, none left',
  )
  // Nine rows, by a retry, another one, and a retry of the first retry.
  const chain = [
    [second.run, first.run],
    [third.run, first.run],
    [fourth.run, second.run],
  ]
  const data = await report(first.run)
  expect(data.left).toEqual({ rows: 0, of: 9, by_run: [] })
  expect(data.retries.map(({ run: id, of, mended }) => [id, of, mended])).toEqual(
    chain.map((pair) => [...pair, 3]),
  )
  const page = renderReport(data).replaceAll(/<[^>]*>/g, '')
  expect(page).toContain(
    '9 rows that this one left over: 9 of 9 brought in by later runs, none left',
  )
  expect(page).toContain(`of run ${second.run}, `)
  const { out } = await said(config, (context) => show(context, String(first.run)), true)
  const { retries } = JSON.parse(out.join('')) as { retries: { run: number; of: number }[] }
  expect(retries.map(({ run: id, of }) => [id, of])).toEqual(chain)
  expect((await shown(first.run)).join('\n')).toContain(
    `Retried by run ${fourth.run} (retry of run ${second.run}): 3 brought in`,
  )
  for (let index = 0; index < ROWS; index++)
    expect((await held(`k${index}`))?.properties).toMatchObject({
      svc_email: [`k${index}@example.org`],
      svc_birthday: '1990-02-01',
      svc_subscribed: true,
    })
})

test('sent again as they are: with what was corrected', async () => {
  const { run, retry, corrected, left } = await begun()
  const first = await run()
  await retry(first.run, (await corrected(first.run, 'email')).choice)
  const again = await retry(first.run)
  expect(again.rows).toBe(6)
  const two = await corrected(first.run, 'born')
  expect(two.before.every(({ id, email }) => email === right(id!)['email'])).toBe(true)
  expect(await left(first.run)).toMatchObject({ by_run: [{ run: again.run, rows: 6 }] })
})
