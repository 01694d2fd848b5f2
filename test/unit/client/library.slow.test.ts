// The client as a library of its own: in a package with nothing but its two packages, without Temporal, and used there by the
// samples of docs/client.md, against a real service. It tests what was last built into dist, as the command line's tests do.

import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATIONS, PROBLEM_CODES } from '../../../src/contract/index.ts'
import { startService } from '../../../src/service/index.ts'
import { HANG_MS } from '../../hang.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(join(root, 'docs/client.md'), 'utf8')
const exec = promisify(execFile)
let dir: string

/** A consumer's folder: the package as it is made, and of the packages in it only those that the client itself names. */
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'records-sync-client-'))
  const packer = join(root, 'src/dev/package.mjs')
  const args = [packer, '--unpacked', '--out', dir, '--platforms', 'linux-x64']
  await exec(process.execPath, args, { timeout: HANG_MS })
  const inside = join(dir, 'package', 'node_modules')
  for (const name of readdirSync(inside))
    if (name !== 'undici' && name !== 'zod') rmSync(join(inside, name), { recursive: true })
  const modules = join(dir, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  renameSync(join(dir, 'package'), join(modules, 'records-sync'))
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const samples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]!)
const first = samples[0]!
const connect = /^const client = .*$/m.exec(first)![0]

/** A sample as a program: one that makes no client of its own gets that of the first. */
function programOf(sample: string, url: string): string {
  const isWhole = sample.includes('new RecordsClient(')
  const before = `import { RecordsClient } from 'records-sync/client'\n${connect}\n`
  const program = isWhole ? sample : `${before}${sample}await client.close()\n`
  return program.replaceAll('https://api.example.com', url)
}

/** What a sample says that it prints, line by line. */
const printedBy = (sample: string) =>
  [...sample.matchAll(/\/\/ => (.*)$/gm)].map((match) => match[1]!)

test('the samples of docs/client.md compile against the packed types, run, and print what they say', async () => {
  expect(samples.length).toBeGreaterThan(5)
  const programs = join(dir, 'samples')
  mkdirSync(programs)
  const key = 'records.key'
  const services = await Promise.all(
    samples.map(() => startService({ seedRecords: 250, limitPerMinute: 600 })),
  )
  try {
    for (const [index, sample] of samples.entries())
      writeFileSync(join(programs, `${index}.ts`), programOf(sample, services[index]!.url))
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
      strict: true,
      noUncheckedIndexedAccess: true,
      rootDir: '.',
      outDir: 'out',
    }
    writeFileSync(join(programs, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const compiled = await exec(process.execPath, [tsc, '-p', programs]).catch(
      (error: unknown) => error as { stdout: string },
    )
    expect(compiled.stdout).toBe('')
    for (const [index, sample] of samples.entries()) {
      const service = services[index]!
      writeFileSync(join(dir, key), `${service.key}\n`)
      const { stdout } = await exec(process.execPath, [join(programs, 'out', `${index}.js`)], {
        cwd: dir,
        env: { ...process.env, RECORDS_API_KEY: service.key },
        timeout: HANG_MS,
      })
      expect(stdout.trimEnd().split('\n'), sample).toEqual(printedBy(sample))
    }
  } finally {
    await Promise.all(services.map((service) => service.close()))
  }
})

test('docs/client.md names every operation and every problem code', () => {
  const methods = page.split('\n## Methods\n')[1]!.split('\n## ')[0]!
  for (const id of Object.keys(OPERATIONS)) expect(methods).toMatch(new RegExp(`\`${id}\\W`))
  const errors = page.split('\n## Errors\n')[1]!.split('\n## ')[0]!
  for (const code of PROBLEM_CODES) expect(errors).toContain(`\`${code}\``)
})
