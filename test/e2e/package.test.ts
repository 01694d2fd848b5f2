// The package as a user gets it: packed, installed by npm into a folder of its own with no registry to ask, and used there. What
// package.json does not list, what the packer leaves out, or an import of a package that only we have, is missed here.

import { execFile, execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { HANG_MS } from '../hang.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** What one system's package may weigh; a package that comes along unseen shows here. */
const SIZE_MAX_MB = 80
const OPTIONAL = '@duckdb/node-api'

let prefix: string
let home: string
let installed: string

/** Runs a program as a user does who has nothing of ours, and no settings of npm. */
const runIn = (cwd: string, program: string, ...args: string[]) =>
  new Promise<{ code: number; out: string }>((done) => {
    const env = {
      PATH: [join(prefix, 'bin'), dirname(inject('temporalCli')), process.env['PATH']].join(':'),
      HOME: prefix,
      npm_config_userconfig: join(prefix, 'npmrc'),
      npm_config_cache: join(prefix, 'cache'),
    }
    const options = { cwd, env, timeout: HANG_MS, maxBuffer: 16 * 1_024 * 1_024 }
    execFile(program, args, options, (error, stdout, stderr) =>
      done({ code: Number(error?.code ?? 0), out: stdout + stderr }),
    )
  })

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const own = () =>
  filesIn(home).filter((file) => !file.includes('/node_modules/records-sync/node_modules/'))

beforeAll(async () => {
  prefix = mkdtempSync(join(tmpdir(), 'records-sync-package-'))
  home = join(prefix, 'lib', 'node_modules', 'records-sync')
  const platform = `${process.platform}-${process.arch}`
  const packer = join(root, 'src/dev/package.mjs')
  const packed = await runIn(
    root,
    process.execPath,
    packer,
    '--out',
    prefix,
    '--platforms',
    platform,
  )
  if (packed.code !== 0) throw new Error(packed.out)
  const name = /records-sync-.*\.tgz/.exec(packed.out)![0]
  const args = [
    'install',
    '--global',
    '--prefix',
    prefix,
    '--offline',
    `./${name.split('/').at(-1)!}`,
  ]
  const { code, out } = await runIn(prefix, 'npm', ...args)
  if (code !== 0) throw new Error(out)
  installed = out
})
afterAll(() => rmSync(prefix, { recursive: true, force: true }))

test('npm installs one package, with no warning, and no megabyte too many', () => {
  expect(installed).toContain('added 1 package')
  expect(installed).not.toMatch(/warn/i)
  expect(readdirSync(dirname(home))).toEqual(['records-sync'])
  const bytes = filesIn(home).reduce((sum, file) => sum + statSync(file).size, 0)
  expect(bytes / 1e6).toBeLessThan(SIZE_MAX_MB)
})

test('no package in it has an install script, and each has its licence', () => {
  const manifests = filesIn(join(home, 'node_modules')).filter((file) =>
    /node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(file),
  )
  expect(manifests.length).toBeGreaterThan(90)
  for (const file of manifests) {
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    expect(
      [manifest['scripts'], manifest['gypfile'], existsSync(join(dirname(file), 'binding.gyp'))],
      file,
    ).toEqual([undefined, undefined, false])
    expect(manifest['license'], file).toBeTypeOf('string')
  }
})

test('everything that our modules import is in it, but for what users may add', async () => {
  const imported = new Set<string>()
  for (const file of own()) {
    if (!file.endsWith('.js') || file.endsWith('workflow-bundle.js')) continue
    const text = readFileSync(file, 'utf8')
    for (const [, name] of text.matchAll(
      /^(?:import|export)\b[^'"\n]*(?:from|import) ['"](@?[a-z][\w./-]*)['"];$/gm,
    ))
      imported.add(name!)
    for (const [, name] of text.matchAll(
      /(?:import|require|meta\.url\))\(['"](@?[a-z][\w./-]*)['"]\)/g,
    ))
      imported.add(name!)
  }
  const foreign = [...imported].filter(
    (name) => !name.startsWith('node:') && name !== 'records-sync/client',
  )
  expect(foreign.length).toBeGreaterThan(15)
  // As a module of the package: Node looks for what it imports from there.
  const probe = join(home, 'probe.mjs')
  writeFileSync(
    probe,
    `for (const name of ${JSON.stringify(foreign)}) await import(name).catch((error) => console.log(name, error.message))`,
  )
  const { out } = await runIn(prefix, process.execPath, probe)
  rmSync(probe)
  expect(out.trim().split('\n')).toEqual([
    expect.stringContaining(`${OPTIONAL} Cannot find package`),
  ])
})

test('every link between its documents leads to a file of it', () => {
  const broken: string[] = []
  let links = 0
  for (const file of own()) {
    if (!file.endsWith('.md')) continue
    const text = readFileSync(file, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
    for (const [, target] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      links += 1
      if (!existsSync(resolve(dirname(file), target!)))
        broken.push(`${relative(home, file)}: ${target}`)
    }
  }
  expect(broken).toEqual([])
  expect(links).toBeGreaterThan(300)
})

test('a first import runs in it: service, Temporal worker and books', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string
  }
  const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  }).trim()
  const told = await runIn(prefix, 'records-sync', '--version')
  expect(told.code).toBe(0)
  expect([`${version} (${commit})\n`, `${version} (${commit}+changes)\n`]).toContain(told.out)
  expect(await runIn(prefix, 'records-sync', 'init', '--example', 'demo')).toMatchObject({
    code: 0,
  })
  const demo = join(prefix, 'demo')
  const { code, out } = await runIn(demo, 'records-sync', 'dev', '--', 'run', '--all')
  expect(out).toMatch(/deals +3 +complete with differences +6 +6 +0 +13 +1$/m)
  expect(code).toBe(1)
  const rejects = await runIn(demo, 'records-sync', 'rejects', '1')
  expect(rejects.out).toContain('1 row in the folder')
  const [name] = readdirSync(join(demo, 'rejects-1'))
  const file = join(demo, 'rejects-1', name!)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('2.4 million', '2400000'))
  const retry = ['dev', '--', 'retry', '1', '--file', file]
  expect(await runIn(demo, 'records-sync', ...retry)).toMatchObject({ code: 0 })
  const again = await runIn(demo, 'records-sync', 'dev', '--', 'run', '--all')
  expect(again.out).toMatch(/deals +\d+ +complete +6 +0 +0 +14$/m)
})

test('what needs DuckDB names the command that adds it', async () => {
  const { code, out } = await runIn(join(prefix, 'demo'), 'records-sync', 'ledger', 'export', 'out')
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const command = `npm install --global --prefix ${prefix} ${OPTIONAL}@${dependencies[OPTIONAL]}`
  expect({ code, out }).toEqual({
    code: 3,
    out: `DuckDB is not installed; add it with: ${command}\n`,
  })
})

test("the service's page of operations is in it", async () => {
  const module = pathToFileURL(join(home, 'dist/src/service/docs/assets.js')).href
  const script = `const { ASSETS } = await import('${module}'); for (const name of Object.keys(ASSETS)) console.log(name, (await ASSETS[name].read()).length > 500)`
  const { out } = await runIn(prefix, process.execPath, '--input-type=module', '--eval', script)
  expect(out).toContain('swagger-ui-bundle.js true')
  expect(out).not.toMatch(/ false|Error/)
})
