// The Temporal UI as a person uses it: what is clicked, and what is then on the screen. Made for UI 2.42; waits for what it
// needs to see, never for a time.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { HANG_MS } from '../hang.ts'

/** For a condition of the page or of the run behind it. */
const seenMs = HANG_MS

/** Writes what the page shows into the folder of UI_SCREENSHOTS, where that is set. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const folder = process.env['UI_SCREENSHOTS']
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

/** What the form holds. */
export async function formOf(page: Page): Promise<{
  readonly id: string
  readonly queue: string
  readonly type: string
  readonly input: string
}> {
  const field = (name: string) => page.getByRole('textbox', { name, exact: true }).inputValue()
  return {
    id: await field('Workflow ID'),
    queue: await field('Task Queue'),
    type: await field('Workflow Type'),
    input: await editor(page.locator('main')).innerText(),
  }
}

/** Opens a link to the start form, and waits for it to be filled in with an input that says this. */
export async function openForm(page: Page, link: string, says?: string): Promise<void> {
  await page.goto(link)
  await untilFilled(page, says)
}

/** Waits until the start form is there, filled in with an input that says this. */
export async function untilFilled(page: Page, says?: string): Promise<void> {
  await page.getByRole('heading', { name: 'Start a Workflow' }).waitFor()
  const input = editor(page.locator('main'))
  await (says === undefined ? input : input.getByText(says).first()).waitFor()
}

export async function setId(page: Page, id: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Workflow ID', exact: true }).fill(id)
}

/** Pastes an input over what is there, and leaves the editor with Tab, as a person has to. */
export async function writeInput(place: Page | Locator, text: string): Promise<void> {
  const page = 'page' in place ? place.page() : place
  await editor('page' in place ? place : place.locator('main')).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Tab')
}

/** Starts what the form holds, and opens the run. */
export async function start(page: Page): Promise<void> {
  await pressStart(page)
  await page.getByRole('link', { name: 'Workflow started successfully' }).click()
  await page.getByRole('tab', { name: 'History' }).waitFor()
}

export async function pressStart(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start Workflow' }).click()
}

/** Waits until the badge before the run's name says this. */
export async function untilStatus(page: Page, status: string): Promise<void> {
  const head = page.locator('header').filter({ has: page.getByTestId('workflow-id-heading') })
  await head.getByText(status, { exact: true }).first().waitFor({ timeout: seenMs })
}

export async function openTab(page: Page, name: string): Promise<void> {
  await page.getByRole('tab', { name }).click()
}

/** Waits until the table beside the run says this, asking for it again and again as the page proposes. */
export async function untilDetails(page: Page, says: RegExp): Promise<string> {
  await openTab(page, 'User Metadata')
  const text = async () => {
    await page.keyboard.press('r')
    return await page.frameLocator('iframe').last().locator('body').innerText()
  }
  await expect.poll(text, { interval: 500 }).toMatch(says)
  return await text()
}

/** Runs a query on its page. */
export async function query(page: Page, name: string): Promise<unknown> {
  await openTab(page, 'Queries')
  const choice = page.getByRole('button', { name: /^(progress|lastErrors)$/ })
  await choice.click()
  await page.getByRole('option', { name }).click()
  await page.getByRole('button', { name: /^(Run|Refresh) Query$/ }).click()
  const said = async () => JSON.parse(await editor(page.getByTestId('query-result')).innerText())
  let answer: unknown
  await expect.poll(async () => (answer = await said())).toEqual(expect.anything())
  return answer
}

/** Sends an update as it is chosen from the list of those that the run has. */
export async function sendUpdate(page: Page, name: string, input?: string): Promise<void> {
  const dialog = await openUpdates(page)
  await dialog.getByRole('option', { name: new RegExp(`^${name} `) }).click()
  if (input !== undefined) await writeInput(dialog, input)
  await dialog.getByRole('button', { name: 'Submit' }).click()
  await page.getByText('Update successful').first().waitFor({ timeout: seenMs })
}

/** The list of updates, opened. */
export async function openUpdates(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'More Actions' }).click()
  await page.getByRole('menuitem', { name: 'Send an Update' }).click()
  const dialog = page.getByRole('dialog', { name: 'Send an Update' })
  await dialog.getByRole('button', { name: 'Select an Update' }).click()
  return dialog
}

/** The run's result, or its failure, as the page shows it once the run has ended. */
export async function resultOf(page: Page): Promise<unknown> {
  await openTab(page, 'History')
  const text = () => editor(page.getByTestId('input-and-result'), 1).innerText()
  await expect.poll(text).toMatch(/^(?!Results will)./)
  return JSON.parse(await text())
}

const editor = (place: Locator, index = 0) => place.locator('.cm-content').nth(index)
