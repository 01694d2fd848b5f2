// `records-sync service` in a process of its own: its options, its end, its keys.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT, createContext, reportError } from '../../../src/cli/shared/context.ts'
import { describeService } from '../../../src/cli/commands/service-options.ts'
import { createTerminal } from '../../../src/cli/shared/terminal.ts'
import { selfSigned } from '../client/certificate.ts'
import { answersIn, rawConnection } from '../service/raw.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

let dir: string
const children: ChildProcess[] = []
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-service-'))
})
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true })
})

function file(name: string, content: string): string {
  writeFileSync(join(dir, name), content)
  return join(dir, name)
}

function launch(...args: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', main, ...args], {
    cwd: dirOfRepository,
  })
  children.push(child)
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }))
  return { child, said, ended }
}
const dirOfRepository = fileURLToPath(new URL('../../../', import.meta.url))

/** A service that is listening. */
async function started(...args: string[]) {
  const running = launch('--json', 'service', '--port', '0', ...args)
  while (!running.said.out.includes('\n')) {
    await Promise.race([once(running.child.stdout, 'data'), running.ended])
    if (running.child.exitCode !== null) throw new Error(running.said.err)
  }
  const { url, key } = JSON.parse(running.said.out) as { url: string; key: string }
  return { ...running, url, key }
}

/** A command line that is refused, without a process of its own. */
async function inProcess(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const terminal = {
    ...createTerminal({ out: process.stdout, err: process.stderr }),
    err: (line = '') => void (err += `${line}\n`),
  }
  const context = createContext({ config: 'records-sync.yaml', json: false }, terminal)
  let code: number = EXIT.usage
  const program = new Command().exitOverride().configureOutput({
    writeErr: terminal.err,
    writeOut: (text) => void (out += text),
  })
  describeService(program.command('service'), async (work) => {
    code = await work(context).catch((error: unknown) => reportError(error, context))
  })
  await program.parseAsync(args, { from: 'user' }).catch((error: unknown) => {
    if (!(error instanceof CommanderError)) throw error
  })
  return { code, out, err }
}

/** A request whose answer has begun, slowly. */
async function slowRequest({ url, key }: { url: string; key: string }) {
  const connection = await rawConnection(url)
  const lines = ['GET /rest/v1/self/ HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`]
  connection.send([...lines, '', ''].join('\r\n'))
  await connection.until(/\r\n\r\n/)
  return connection
}
const slow = ['--fault-rate', '1', '--faults', 'slow_body']

describe('a service that is told to stop', () => {
  it('finishes what is in flight, and ends well', async () => {
    const service = await started(...slow)
    const connection = await slowRequest(service)
    service.child.kill('SIGTERM')
    const [answer] = answersIn(await connection.closed())
    expect(answer).toMatchObject({ status: 200, body: { data: { reach: 'org' } } })
    expect(await service.ended).toMatchObject({ code: 0, signal: null })
    expect(service.said.err).toContain('Stopping')
  })

  it('ends at once when it is told so again, by either signal', async () => {
    const service = await started(...slow)
    const connection = await slowRequest(service)
    service.child.kill('SIGINT')
    while (!service.said.err.includes('Stopping')) await once(service.child.stderr, 'data')
    service.child.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ code: null, signal: 'SIGTERM' })
    await connection.closed()
  })
})

describe('options', () => {
  it('reach the service', async () => {
    const { key, cert } = selfSigned()
    const certificate = file('cert.pem', cert)
    const service = await started(
      ...`--tls-cert ${certificate} --tls-key ${file('key.pem', key)}`.split(' '),
      ...'--limit 2 --limit-model bucket --seed-records 3 --log'.split(' '),
      ...'--deprecated-since 2026-01-01 --sunset 2027-03-01T12:00:00Z'.split(' '),
      ...'--fault-rate 1 --faults internal_500_before,expired_cursor'.split(' '),
    )
    expect(service.url).toMatch(/^https:\/\/127\.0\.0\.1:/)
    const get = (): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${service.key}` }
        const options = { ca: cert, checkServerIdentity: () => undefined, headers }
        request(`${service.url}/rest/v1/self/`, options, resolve).once('error', reject).end()
      })
    const answer = await get()
    expect(answer.statusCode).toBe(500)
    expect(answer.headers).toMatchObject({
      deprecation: '@1767225600',
      sunset: 'Mon, 01 Mar 2027 12:00:00 GMT',
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
    })
    answer.resume()
    await get()
    // A bucket of 2 a minute has another one in half of it.
    const wait = Number((await get()).headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(30)
    service.child.kill('SIGTERM')
    const { code, err } = await service.ended
    expect(code).toBe(0)
    expect(err).toContain('service_request method=GET route=/rest/v1/self/ status=500')
    expect(err).not.toContain(service.key)
    expect(err).not.toContain('Warning')
  })

  it('that make no sense are refused, with what was expected', async () => {
    const { key, cert } = selfSigned()
    const certFile = file('a.pem', cert)
    const cases: [string[], string][] = [
      [['--faults', 'torn_body,gremlins', '--fault-rate', '1'], 'there is no fault "gremlins"'],
      [['--faults', 'torn_body'], '--fault-rate SHARE was expected'],
      [['--fault-rate', '0.1'], '--faults NAMES was expected'],
      [['--fault-rate', '2', '--faults', 'all'], 'expected a share from 0 to 1'],
      [['--synchronous', 'full'], '--data FILE was expected with it'],
      [['--limit-model', 'leaky'], 'Allowed choices are fixed, sliding, bucket'],
      [['--sunset', '2027-02-30', '--deprecated-since', '2026-01-01'], 'expected a day such as'],
      [['--sunset', '2027-02-01'], '--deprecated-since DATE was expected'],
      [['--sunset', '2025-02-01', '--deprecated-since', '2026-01-01'], 'a date not before'],
      [['--tls-cert', certFile], '--tls-cert FILE --tls-key FILE was expected'],
      [['--tls-cert', certFile, '--tls-key', join(dir, 'none')], 'none: cannot be read: ENOENT'],
      [['--tls-cert', certFile, '--tls-key', file('b.pem', 'x')], 'a private key in PEM'],
      [['--tls-cert', certFile, '--tls-key', file('c.pem', selfSigned().key)], 'does not belong'],
      [['--tls-cert', file('d.pem', key), '--tls-key', file('e.pem', key)], 'a certificate in PEM'],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await inProcess('service', '--port', '0', ...args)
      expect(err).toContain(message)
      expect(code, err).toBe(EXIT.usage)
      expect(err).not.toContain('PRIVATE KEY')
    }
    const { err } = await inProcess('service', 'keys', 'mint')
    expect(err).toContain("required option '--data <file>' not specified")
  })

  it('are refused where keys would travel in the clear, unless a flag says so', async () => {
    // An address that no machine has.
    const away = ['service', '--port', '0', '--host', '192.0.2.1']
    const refused = await inProcess(...away)
    expect(refused.err).toContain('--host: plain HTTP on 192.0.2.1, where others can listen')
    expect(refused.err).toContain('--tls-cert and --tls-key')
    expect(refused.err).toContain('--plain-http')
    expect(refused.code).toBe(EXIT.usage)

    const plain = await inProcess(...away, '--plain-http')
    expect(plain.err).toContain('Warning: plain HTTP on 192.0.2.1')
    expect(plain.err).toContain('Cannot listen on 192.0.2.1')
    expect(plain.code).toBe(EXIT.stopped)

    const help = await inProcess('service', '--help')
    expect(help.out.replaceAll(/\s+/g, ' ')).toContain(
      'anything but loopback needs --tls-cert and --tls-key, or --plain-http',
    )
  })
})

describe('service keys', () => {
  it('mints, lists and revokes keys of a data file, while a service runs on it', async () => {
    const data = join(dir, 'service.db')
    const keys = async (...args: string[]) => {
      const { code, out, err } = await launch('--json', 'service', 'keys', ...args).ended
      expect(code, err).toBe(0)
      return JSON.parse(out)
    }
    const minted = await keys('mint', '--data', data, '--grant', 'svc_contact:read', 'svc_deal')
    const service = await started('--data', data)
    const status = async () => {
      const headers = { authorization: `Bearer ${minted.key}` }
      const answer = await fetch(`${service.url}/rest/v1/objects/`, { headers })
      const { data: types } = (await answer.json()) as { data?: unknown[] }
      return [answer.status, types?.length]
    }
    expect(await status()).toEqual([200, 2])
    expect(await keys('list', '--data', data)).toMatchObject({ fingerprint: minted.fingerprint })
    await keys('revoke', minted.fingerprint, '--data', data)
    expect(await status()).toEqual([401, undefined])
    service.child.kill('SIGTERM')
    expect(await service.ended).toMatchObject({ code: 0 })
  })
})
