// `watch`: the live runs of a ledger, on a screen with keys, as lines, and as objects; it ends with the last of them.

import { EventEmitter } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { watch, type WatchScreen } from '../../../src/cli/commands/watch.ts'
import { createLiveBlock } from '../../../src/cli/shared/live-block.ts'
import type { ControlVerb } from '../../../src/cli/shared/control-keys.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../../src/ledger/sqlite/index.ts'
import { close, openRun, rows, stage } from '../../suites/ledger/scene.ts'
import { defaultConfig } from '../../e2e/contacts.ts'
import { said } from './said.ts'

let home: string
let config: string
let ledger: Ledger
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'records-sync-watch-'))
  config = join(home, 'records-sync.yaml')
  writeFileSync(config, defaultConfig.replace('"${RECORDS_URL}"', 'http://127.0.0.1:1'))
  ledger = openSqliteLedger(join(home, 'ledger.db'))
})
afterEach(async () => {
  await ledger.close()
  rmSync(home, { recursive: true })
})

/** A screen whose text is kept, and that can be typed on. */
function screen(isTTY: boolean) {
  const keys = Object.assign(new EventEmitter(), {
    isTTY,
    isRaw: false,
    setRawMode(raw: boolean) {
      keys.isRaw = raw
      return keys
    },
    resume: () => keys,
    pause: () => keys,
    unref: () => keys,
  })
  let written = ''
  const sent: [number, ControlVerb][] = []
  const output = { isTTY, columns: 80, rows: 24, write: (text: string) => void (written += text) }
  const shown: WatchScreen = {
    everyMs: 20,
    input: keys as never,
    output,
    send: (run, verb) => {
      sent.push([run.id, verb])
      return verb === 'resuming' ? Promise.reject(new Error('it is not paused')) : Promise.resolve()
    },
  }
  const press = (name: string, ctrl = false) => keys.emit('keypress', name, { name, ctrl })
  return { shown, sent, press, isRaw: () => keys.isRaw, written: () => written }
}

const watching = (on: WatchScreen, sync?: string, json = false, keep = false) =>
  said(config, (context) => watch(context, sync, { keep }, on), json)

test('without a live run it names the latest, and ends', async () => {
  const on = screen(false).shown
  expect(await watching(on)).toMatchObject({ code: 0, err: ['No run is live, and none ever was'] })
  const { id } = await openRun(ledger)
  await close(ledger, id)
  const command = `records-sync -c .* show ${id}`
  expect((await watching(on)).err.join()).toMatch(
    new RegExp(`^No run is live. The latest, run ${id} of contacts, is complete: ${command}$`),
  )
  expect((await watching(on, 'contacts')).err.join()).toMatch(
    new RegExp(`^No run of contacts is live. The latest, run ${id}, is complete: ${command}$`),
  )
  expect(await watching(on, 'contcts')).toMatchObject({ code: 2 })
})

test('keys pause, resume and cancel the chosen run; cancelling asks', async () => {
  const first = await openRun(ledger)
  await stage(ledger, first.id, rows(200))
  const second = await openRun(ledger, 'run', 'companies')
  const on = screen(true)
  const watched = watching(on.shown)
  await expect.poll(on.written).toContain(`› contacts  run ${first.id}  sending 0 %`)
  expect(on.isRaw()).toBe(true)
  on.press('p')
  on.press('r')
  await expect.poll(on.written).toContain(`resuming run ${first.id} of contacts: it is not paused`)
  on.press('down')
  on.press('c')
  expect(on.written()).toContain(`Cancel run ${second.id} of companies?`)
  on.press('q')
  on.press('y')
  on.press('c')
  on.press('y')
  expect(on.sent).toEqual([
    [first.id, 'pausing'],
    [first.id, 'resuming'],
    [second.id, 'cancelling'],
  ])
  // Asked about a run that ends meanwhile, yes cancels no other one.
  on.press('c')
  await ledger.closeRun(second.id, { state: 'cancelled', books: await ledger.books(second.id) })
  await expect
    .poll(on.written)
    .toMatch(/Run \d+ of companies: cancelled\.\sIts account:\s.*show \d+/s)
  on.press('y')
  expect(on.sent).toHaveLength(3)
  on.press('q')
  expect((await watched).code).toBe(0)
  expect(on.isRaw()).toBe(false)
  expect((await ledger.run(first.id))!.state).toBe('running')
})

test('keys that follow fast are sent one after the other, none is lost, and the last one is shown', async () => {
  const { id } = await openRun(ledger)
  await stage(ledger, id, rows(200))
  const on = screen(true)
  const told: ControlVerb[] = []
  const answers: (() => void)[] = []
  const send = async (_: unknown, verb: ControlVerb) => {
    told.push(verb)
    await new Promise<void>((resolve) => answers.push(resolve))
  }
  const watched = watching({ ...on.shown, send })
  await expect.poll(on.written).toContain(`run ${id}  sending`)
  const pressed: ControlVerb[] = ['pausing', 'resuming', 'pausing', 'resuming', 'pausing']
  for (const verb of pressed) on.press(verb.slice(0, 1))
  for (let count = 1; count <= 4; count++) {
    await expect.poll(() => answers.length).toBe(count)
    expect(told).toEqual(pressed.slice(0, count))
    answers.at(-1)!()
  }
  await expect.poll(() => answers.length).toBe(5)
  const frames = () => on.written().split('\u001B[J')
  expect(frames().at(-1)).toContain(`run ${id}  pausing  sending 0 %`)
  // What is asked for is shown until the run does it, and the program ends only when the run is told.
  answers[4]!()
  const before = frames().length
  await expect.poll(() => frames().length).toBeGreaterThan(before + 2)
  expect(frames().at(-1)).toContain('a pause is asked for')
  await ledger.setRunState(id, 'paused', null, null)
  await expect.poll(() => frames().at(-1)).toContain(`run ${id}  paused  sending 0 %`)
  on.press('r')
  await expect.poll(() => answers.length).toBe(6)
  on.press('p')
  on.press('q')
  await expect.poll(on.written).toContain('Waiting until the run is told of the keys')
  answers[5]!()
  await expect.poll(() => answers.length).toBe(7)
  answers[6]!()
  expect((await watched).code).toBe(0)
  expect(told.slice(5)).toEqual(['resuming', 'pausing'])
})

test('what is printed above the frame is broken at words', async () => {
  const { id } = await openRun(ledger)
  const on = screen(true)
  const output = Object.assign(on.shown.output, { columns: 40 })
  const watched = watching({ ...on.shown, output })
  await expect.poll(on.written).toContain(`run ${id}`)
  await close(ledger, id)
  await watched
  const sequences = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;?]*[A-Za-z]`, 'g')
  const lines = on
    .written()
    .replaceAll(sequences, '')
    .split(/[\r\n]+/)
  for (const line of lines) if (line.includes(' ')) expect(line.trim().length).toBeLessThan(60)
  expect(lines.find((line) => line.startsWith(`Run ${id} of`))!.length).toBeLessThan(40)
})

test.each([null, 'every run of the sync asks; plan of run 1 (3f2a90bc1d2e): 4 update'])(
  'elsewhere it ends where all runs wait for approval, with the command that approves (%s)',
  async (message) => {
    const { id } = await openRun(ledger)
    await ledger.setRunState(id, 'blocked', 'approval', message)
    const plan = message === null ? '' : ' --plan 3f2a90bc1d2e'
    const { code, err } = await watching(screen(false).shown)
    expect(code).toBe(3)
    expect(err).toEqual([
      expect.stringMatching(
        `^Run ${id} of contacts waits for approval: .*approve ${id}${plan}, or .*reject ${id}$`,
      ),
    ])
    const on = screen(true)
    Object.assign(on.shown.output, { columns: 200 })
    const watched = watching(on.shown)
    await expect.poll(on.written).toContain(`approve ${id}${plan}`)
    on.press('c', true)
    expect((await watched).code).toBe(0)
  },
)

test('elsewhere it goes on while another run is at work', async () => {
  const { id } = await openRun(ledger)
  await ledger.setRunState(id, 'blocked', 'approval')
  const other = await openRun(ledger, 'run', 'companies')
  const seen: string[] = []
  const watched = said(config, (context) => {
    const out = (line = '') => void seen.push(line)
    const terminal = { ...context.terminal, out }
    return watch({ ...context, terminal }, undefined, { keep: false }, screen(false).shown)
  })
  await expect.poll(() => seen.length).toBeGreaterThan(1)
  await close(ledger, other.id)
  expect((await watched).code).toBe(3)
  expect(seen.at(-1)).toContain(`Run ${other.id} of companies`)
})

test('Ctrl-C leaves; with --keep it goes on where no run is live', async () => {
  const on = screen(true)
  const watched = watching(on.shown, undefined, false, true)
  await expect.poll(on.isRaw).toBe(true)
  const run = await openRun(ledger)
  await expect.poll(on.written).toContain(`run ${run.id}  staging`)
  on.press('c', true)
  expect(await watched).toEqual({ code: 0, out: [], err: [] })
})

test.each([false, true])(
  'elsewhere it prints each run until the last has ended (json: %s)',
  async (json) => {
    const { id } = await openRun(ledger)
    const seen: string[] = []
    const watched = said(
      config,
      (context) => {
        const out = (line = '') => void seen.push(line)
        const terminal = { ...context.terminal, out }
        return watch({ ...context, terminal }, 'contacts', { keep: false }, screen(false).shown)
      },
      json,
    )
    await expect.poll(() => seen.length).toBeGreaterThan(0)
    await stage(ledger, id, rows(4))
    await close(ledger, id)
    expect(await watched).toEqual({ code: 0, out: [], err: [] })
    if (json) {
      const [first, last] = [JSON.parse(seen[0]!), JSON.parse(seen.at(-1)!)]
      expect(first).toMatchObject({ sync: 'contacts', run: id, state: 'running', quota: null })
      expect(last).toMatchObject({ sync: 'contacts', run: id, state: 'complete' })
    } else {
      expect(seen[0]).toMatch(new RegExp(`^contacts {2}run ${id} {2}`))
      expect(seen.at(-1)).toMatch(new RegExp(`^Run ${id} of contacts: complete`))
    }
  },
)

test('lines that are drawn again replace those before, also on a screen that got narrower', () => {
  let written = ''
  const screen = { columns: 40, write: (text: string) => void (written = text) }
  const block = createLiveBlock(screen)
  block.draw(['a', 'b'.repeat(39)])
  expect(written).toBe(`a\n${'b'.repeat(39)}\n`)
  block.print('note')
  expect(written).toBe(`\u001B[2A\r\u001B[Jnote\na\n${'b'.repeat(39)}\n`)
  screen.columns = 20
  block.draw(['\u001B[1mc\u001B[22m'])
  expect(written).toBe('\u001B[3A\r\u001B[J\u001B[1mc\u001B[22m\n')
  block.clear()
  expect(written).toBe('\u001B[1A\r\u001B[J')
  block.clear()
  expect(written).toBe('')
})
