// The finder of Chromium takes the first way that works and says of each other way why it did not.

import fs from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findChromium } from '../../setup/browser.ts'
import { script, tempFolder } from '../dev/scripts.ts'

const chromium = "echo 'Chromium 150.0.1 built on a test'"

/** A machine with an empty PATH folder, no Chrome, and nothing that answers a download. */
function machine() {
  const dir = tempFolder()
  const bin = path.join(dir, 'bin')
  const aptLog = path.join(dir, 'apt.log')
  const lines: string[] = []
  const offline = path.join(dir, 'offline.mjs')
  fs.writeFileSync(offline, 'console.error("getaddrinfo ENOTFOUND"); process.exit(1)')
  fs.mkdirSync(bin)
  const find = (options: {
    CHROMIUM?: string
    systemPlaces?: readonly string[]
    isRoot?: boolean
    downloader?: string
  }) => {
    const { CHROMIUM, ...rest } = options
    return findChromium({
      env: {
        PATH: bin,
        ...(CHROMIUM !== undefined && { CHROMIUM }),
        PLAYWRIGHT_BROWSERS_PATH: path.join(dir, 'downloads'),
      },
      progress: (line) => lines.push(line),
      systemPlaces: [],
      isRoot: true,
      downloader: offline,
      lockName: dir,
      ...rest,
    })
  }
  /** An `apt-get` that writes down how it was called, and has these packages; each is a program of its name. */
  const fakeApt = (packages: Readonly<Record<string, string>>) =>
    script(
      path.join(bin, 'apt-get'),
      `echo "$DEBIAN_FRONTEND $*" >> "${aptLog}"`,
      'case "$*" in *install*) ;; *) exit 0 ;; esac',
      'for name in "$@"; do :; done',
      'case $name in',
      ...Object.entries(packages).map(
        ([name, body]) => `${name}) printf '%s\\n' '#!/bin/sh' "${body}" > "${bin}/${name}" ;;`,
      ),
      '*) echo "E: Unable to locate package $name" >&2; exit 100 ;;',
      'esac',
      `/bin/chmod 755 "${bin}/$name"`,
    )
  return { dir, bin, aptLog, lines, find, fakeApt }
}

describe('findChromium', () => {
  test('takes the variable first, then the PATH in its order, then the Chrome of the system', async () => {
    const { dir, bin, find, lines } = machine()
    const given = script(path.join(dir, 'mine'), chromium)
    const chrome = script(path.join(dir, 'opt', 'chrome'), "echo 'Google Chrome 150.0.1'")
    const google = script(path.join(bin, 'google-chrome'), "echo 'Google Chrome 150.0.1'")
    const onPath = script(path.join(bin, 'chromium'), chromium)
    const systemPlaces = [path.join(dir, 'absent'), chrome]
    expect(await find({ CHROMIUM: given, systemPlaces })).toEqual({
      path: given,
      origin: 'variable',
    })
    expect(await find({ systemPlaces })).toEqual({ path: onPath, origin: 'path' })
    fs.rmSync(onPath)
    expect(await find({ systemPlaces })).toEqual({ path: google, origin: 'path' })
    fs.rmSync(google)
    expect(await find({ systemPlaces })).toEqual({ path: chrome, origin: 'system' })
    expect(lines).toEqual([])
  })

  test('passes over what does not start, and over what is something else', async () => {
    const { dir, bin, find } = machine()
    script(
      path.join(bin, 'chromium'),
      'echo "error while loading shared libraries" >&2',
      'exit 127',
    )
    script(path.join(bin, 'chromium-browser'), "echo 'snap: not installed'")
    const good = script(path.join(bin, 'google-chrome'), "echo 'Google Chrome 150.0.1'")
    expect(await find({ CHROMIUM: path.join(dir, 'absent') })).toEqual({
      path: good,
      origin: 'path',
    })
  })

  test('takes what playwright-core downloaded before', async () => {
    const { dir, find } = machine()
    const downloader = path.resolve('node_modules/playwright-core/cli.js')
    const { browsers } = JSON.parse(
      fs.readFileSync('node_modules/playwright-core/browsers.json', 'utf8'),
    ) as { browsers: { name: string; revision: string }[] }
    const { revision } = browsers.find(({ name }) => name === 'chromium-headless-shell')!
    const folder = `downloads/chromium_headless_shell-${revision}/chrome-headless-shell-linux64`
    const own = script(
      path.join(dir, folder, 'chrome-headless-shell'),
      "echo 'Google Chrome for Testing 150.0.1'",
    )
    expect(await find({ downloader })).toEqual({ path: own, origin: 'download' })
  })

  test('asks apt-get where the download fails', async () => {
    const { bin, aptLog, lines, find, fakeApt } = machine()
    fakeApt({ 'chromium-headless-shell': chromium, chromium })
    expect(await find({})).toEqual({
      path: path.join(bin, 'chromium-headless-shell'),
      origin: 'apt',
    })
    const options = '-o DPkg::Lock::Timeout=300 -y -q --no-install-recommends'
    expect(fs.readFileSync(aptLog, 'utf8').trim().split('\n')).toEqual([
      'noninteractive update -q',
      `noninteractive ${options} install chromium-headless-shell`,
    ])
    expect(lines[0]).toBe('Downloading Chromium with playwright-core ...')
    expect(lines.at(-1)).toMatch(/^apt-get install chromium-headless-shell: done after \d+ s$/)
  })

  test('takes the whole browser from apt-get where there is no shell', async () => {
    const { bin, find, fakeApt } = machine()
    fakeApt({ chromium })
    expect(await find({})).toEqual({ path: path.join(bin, 'chromium'), origin: 'apt' })
  })

  test('says of every way why it did not lead anywhere', async () => {
    const { dir, find, fakeApt } = machine()
    fakeApt({ chromium: 'exit 1' })
    const said = await find({ CHROMIUM: path.join(dir, 'absent') }).catch(String)
    expect(said).toMatch(/CHROMIUM is .*absent: does not answer `--version`/)
    expect(said).toMatch(/none of chromium-headless-shell, .* is on the PATH/)
    expect(said).toMatch(/the download by playwright-core: exit code 1\s+getaddrinfo ENOTFOUND/)
    expect(said).toMatch(/Unable to locate package chromium-headless-shell/)
    expect(said).toMatch(/bin\/chromium does not answer/)
    expect(said).toMatch(/Do one of these/)
    expect(await find({ isRoot: false }).catch(String)).toMatch(/only root may install/)
  })

  test.runIf(process.platform === 'linux')(
    'waits for another process that installs, and takes what that made',
    async () => {
      const { dir, bin, aptLog, lines, find, fakeApt } = machine()
      fakeApt({ chromium })
      const other = createServer()
      await new Promise<void>((resolve) => other.listen(`\0${dir}`, resolve))
      onTestFinished(() => void other.close())
      const finding = find({})
      await expect
        .poll(() => lines)
        .toContain('Another process is installing Chromium: waiting for it ...')
      script(path.join(bin, 'chromium'), chromium)
      other.close()
      expect(await finding).toEqual({ path: path.join(bin, 'chromium'), origin: 'path' })
      expect(fs.existsSync(aptLog)).toBe(false)
    },
  )
})
