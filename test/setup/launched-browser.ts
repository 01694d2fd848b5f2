// A Chromium for the tests of one file. Promises kept here: one that has died between two
// tests is launched again, and the reason is said; none outlives its file.

import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { launchBrowser } from './browser.ts'

/** Chromium may have to be installed, once. */
const INSTALL_MAX_MS = 30 * 60_000
/** Of one file: a browser that dies more often is broken. */
const LAUNCHES_MAX = 5

const progress = (line: string) => void process.stderr.write(`${line}\n`)

export interface FileBrowser {
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
}

/**
 * Launches one before the tests of the file that calls this, and closes it after them. It is called by the file itself: the files of
 * a process share their modules, so that hooks of a shared module are those of the first file alone.
 */
export function useBrowser(): FileBrowser {
  let browser: Browser | null = null
  let launches = 0
  const launched = async (): Promise<Browser> => {
    if (browser?.isConnected()) return browser
    if (launches > 0) progress(`Chromium has ended, and is launched again (${launches + 1}. time)`)
    if (++launches > LAUNCHES_MAX) throw new Error(`Chromium ended ${LAUNCHES_MAX} times`)
    return (browser = await launchBrowser())
  }
  beforeAll(async () => void (await launched()), INSTALL_MAX_MS)
  afterAll(async () => await browser?.close())
  return { newContext: async (options) => await (await launched()).newContext(options) }
}
