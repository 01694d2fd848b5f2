// Rejects of two kinds, corrected in the console as people do it, in a real browser, on a real Temporal server with a worker: typed, pasted,
// by a file, by keyboard alone, without scripts; and retried to their end.

import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import {
  actions,
  latest,
  look,
  openRun,
  tabTo,
  untilLatest,
  useConsole,
} from './console-project.ts'
import { hashPassword } from '../../src/console/index.ts'
import { contactsConfig } from './contacts.ts'
import { contactsCsv } from './project.ts'
import { soakTest } from '../runs.ts'

useConsole()

const HOSTILE = '"</textarea><script>document.title=1</script>=cmd()"'
const config = `${contactsConfig()}
console: { values: shown }
`

/** 15 rows with a bad address, 15 with a bad score, and 10 that are right. */
const rows = () =>
  contactsCsv(40, (index, [id, name, mail, score]) => [
    id!,
    index % 3 === 0 ? HOSTILE : name!,
    index <= 15 ? 'nobody' : mail!,
    index > 15 && index <= 30 ? 'n/a' : score!,
  ])

const scoreOf = (index: number) => String(index * 2)

/** Opens the corrections of the run, of one kind. */
async function open(page: Page, url: string, words: string): Promise<void> {
  await page.goto(`${url}/runs/1/rejects`)
  await page.getByRole('link', { name: 'Correct them here' }).click()
  // One kind alone is no choice.
  if ((await page.locator('#group').count()) === 0) return
  const options = await page.locator('#group option').allTextContents()
  const label = options.find((each) => each.includes(words))!.trim()
  await page.locator('#group').selectOption({ label })
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.waitForURL(/group=/)
}

async function retry(page: Page, count: number): Promise<void> {
  await page.getByRole('button', { name: `Retry ${count} corrected rows` }).click()
  await page.waitForURL(/did=/)
  expect(await page.locator('.notice').textContent()).toContain('The retry was started')
}

soakTest('30 rejects of two kinds are typed, pasted, and brought back as a file', async () => {
  const { project, url, page } = await openRun({
    config,
    csv: rows(),
    until: { state: 'complete_with_rejects' },
    browser: { permissions: ['clipboard-read', 'clipboard-write'] },
  })
  await open(page, url, 'email')
  await look(page, 'corrections')
  const fields = page.locator('textarea')
  expect(await fields.count()).toBe(15)
  expect(await fields.first().inputValue()).toBe('nobody')

  // One is typed, and wrong; the others are pasted below it.
  await page.goto(page.url())
  // A spreadsheet puts a line break behind a cell that is copied alone.
  const paste = async (text: string) => {
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
    await fields.first().focus()
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.press('ControlOrMeta+V')
    return await fields.first().inputValue()
  }
  expect(await paste('"two\r\nlines"\r\n')).toBe('two\nlines')
  expect(await paste('\r\n')).toBe('')
  expect(await paste('"quoted"\r\n')).toBe('"quoted"')
  expect(await paste('still nobody\r\n')).toBe('still nobody')
  const mails = Array.from({ length: 14 }, (_, at) => `new${at + 2}@example.com`)
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(mails.join('\n'))})`)
  await fields.nth(1).focus()
  await page.keyboard.press('ControlOrMeta+V')
  expect(await page.locator('#pasted').textContent()).toBe('Cells pasted: 14.')
  expect(await fields.last().inputValue()).toBe('new15@example.com')
  await page.getByRole('button', { name: 'Check and keep' }).first().click()
  await page.waitForSelector('[aria-invalid]')
  expect(await page.locator('.notice').textContent()).toContain('1 cell is not accepted')
  expect(await fields.first().inputValue()).toBe('still nobody')
  expect(await fields.last().inputValue()).toBe('new15@example.com')
  await look(page, 'corrections with an error')

  await fields.first().fill('new1@example.com')
  await page.getByRole('button', { name: 'Check and keep' }).first().click()
  await page.waitForURL(/saved=15/)
  await look(page, 'corrections kept')
  expect(project.held().size).toBe(10)
  await page.getByRole('link', { name: 'Retry 15 corrected rows' }).click()
  await look(page, 'asks before a retry of corrections')
  await retry(page, 15)
  await untilLatest({ purpose: 'retry', state: 'complete' })
  expect(project.held().size).toBe(25)
  expect(project.held().get('c-1')).toMatchObject({ svc_email: ['new1@example.com'] })
  expect(project.held().get('c-3')).toMatchObject({
    svc_first_name: '</textarea><script>document.title=1</script>=cmd()',
  })

  // The other kind, in a spreadsheet.
  await open(page, url, 'score')
  const downloading = page.waitForEvent('download')
  await page.getByRole('link', { name: 'as CSV' }).click()
  const text = readFileSync(await (await downloading).path(), 'utf8')
  const mended = text.replaceAll(
    /("c-(\d+)",(?:"(?:[^"]|"")*",){2})"n\/a"/g,
    (_, before, index) => `${before}"${scoreOf(Number(index))}"`,
  )
  const file = (content: string) => ({
    name: 'mended.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(content),
  })
  await page.getByLabel('The corrected file').setInputFiles(file('id,name\n1,2\n'))
  await page.getByRole('button', { name: 'Check and keep the rows of the file' }).click()
  await page.waitForSelector('.notice.t-bad')
  expect(await page.locator('.notice').textContent()).toContain('mended.csv:1:1: no column _row')
  await page.getByLabel('The corrected file').setInputFiles(file(mended))
  await page.getByRole('button', { name: 'Check and keep the rows of the file' }).click()
  await page.waitForURL(/retry\?correction=/)
  await look(page, 'asks before a retry of a file')
  await retry(page, 15)
  await untilLatest({ purpose: 'retry', state: 'complete', id: 3 })
  expect(project.held().size).toBe(40)
  expect(project.held().get('c-20')).toMatchObject({ svc_score: 40 })
  expect((await actions()).map(({ action, state, details }) => [action, state, details])).toEqual([
    ['retry', 'done', 'correction: 2'],
    ['retry', 'done', 'correction: 1'],
  ])
  // Somebody looks a row up, by its key, and what its record is today.
  await page.locator('#q').fill('C-3 ')
  await page.locator('#q').press('Enter')
  await page.getByRole('link', { name: /c-3/i }).first().click()
  await page.waitForURL(/rows\?key=c-3/i)
  await look(page, 'a row')
  const events = await page.locator('.events li').allTextContents()
  expect(events.map((text) => /created|invalid/.exec(text)?.[0])).toEqual(['created', 'invalid'])
  await page.getByRole('button', { name: 'See the record as it is now' }).first().click()
  await page.waitForURL(/rows\/today/)
  const record = await page.locator('#main').textContent()
  expect(record).toContain('new3@example.com')
  expect(record).toContain('</textarea><script>document.title=1</script>')
  expect(await page.title()).toContain('The record now')
  await look(page, 'a record now')

  await page.goto(`${url}/runs/1/corrections`)
  expect(await page.locator('#main').textContent()).toContain('No row of this run is left')
  expect(await page.locator('input[type=file]').count()).toBe(0)
  await look(page, 'nothing left to correct')
  await page.context().close()
})

test('a reject is corrected without scripts, by keyboard alone', async () => {
  const { project, url, page } = await openRun({
    config,
    csv: contactsCsv(3, (index, cells) => (index === 2 ? cells.with(2, 'x') : cells)),
    until: { state: 'complete_with_rejects' },
    browser: { javaScriptEnabled: false },
  })
  await page.goto(`${url}/runs/1/corrections`)
  await tabTo(page, 'email, line 3')
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type('two@example.com')
  await tabTo(page, 'Check and keep')
  await page.keyboard.press('Enter')
  await page.waitForURL(/saved=1/)
  await tabTo(page, 'Retry 1 corrected row')
  await page.keyboard.press('Enter')
  await page.waitForURL(/retry\?correction=1/)
  await tabTo(page, 'Retry 1 corrected row')
  await page.keyboard.press('Enter')
  await page.waitForURL(/did=/)
  await untilLatest({ purpose: 'retry', state: 'complete' })
  expect((await latest())!.of).toBe(1)
  expect(project.held().get('c-2')).toMatchObject({ svc_email: ['two@example.com'] })
  await page.context().close()
})

test('what is typed while the session ends comes back after the login', async () => {
  const hash = await hashPassword('correct horse')
  const { project, url, page } = await openRun({
    config: `${contactsConfig()}
console:
  values: shown
  users: { otto: { role: operator, password: { file: ./hash } } }
`,
    files: { hash },
    csv: contactsCsv(3, (index, cells) => (index === 2 ? cells.with(2, 'x') : cells)),
    until: { state: 'complete_with_rejects' },
  })
  const login = async () => {
    await page.locator('#name').fill('otto')
    await page.locator('#password').fill('correct horse')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL(/corrections/)
  }
  await page.goto(`${url}/runs/1/corrections`)
  await login()
  const field = page.getByLabel('email, line 3')
  await field.fill('two@example.com')
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Check and keep these' }).click()
  await page.waitForURL(/login/)
  await login()
  expect(await field.inputValue()).toBe('two@example.com')
  expect(await page.locator('#pasted').textContent()).toContain('is back, and not kept yet')
  await page.getByRole('button', { name: 'Check and keep these' }).click()
  await page.waitForURL(/saved=1/)
  // It comes back once.
  await page.goto(`${url}/runs/1/corrections`)
  expect(await page.locator('#pasted').textContent()).toBe('')
  expect(project.held().size).toBe(2)
  await page.context().close()
})
