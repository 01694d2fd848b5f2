// What is asked of every page of the console in a browser: axe finds nothing, it fits the screen. With CONSOLE_SCREENSHOTS=folder it is
// photographed.

import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const pictures = process.env['CONSOLE_SCREENSHOTS']

/** Whether people look at the pictures. */
export const arePicturesTaken = Boolean(pictures)

/** What axe finds, in a line each. */
export const findings = (page: Page): Promise<string[]> =>
  page.evaluate(
    `${axe}; axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  )

/** By how much the page is wider than the screen. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - innerWidth')

export async function photograph(page: Page, name: string): Promise<void> {
  if (!pictures) return
  mkdirSync(pictures, { recursive: true })
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true })
}
