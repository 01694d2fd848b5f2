// What `npm run check` runs: every check that needs no test runner, one line each, and the output of what failed.
// Exit code 0 only if all of them passed.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const stepMaxMs = 5 * 60_000
const outputMaxBytes = 16 * 1024 * 1024

/** Packages with a binary for each platform; npm drops the others' entries when a lock file is made carelessly. */
const binaries = [
  '@swc/core-darwin-arm64',
  '@oxlint/binding-darwin-arm64',
  '@oxlint-tsgolint/darwin-arm64',
  '@oxfmt/binding-darwin-arm64',
]

const bin = (name) => path.join('node_modules', '.bin', name)

/** Each gives the text of its complaints; empty where all is well. */
const steps = {
  format: () => run(bin('oxfmt'), '--check', '.'),
  lint: () => run(bin('oxlint'), '--type-aware', '--deny-warnings'),
  types: () => run(bin('tsc'), '--noEmit', '-p', 'tsconfig.json'),
  'docs are up to date': () =>
    run(process.execPath, '--import', 'tsx', 'config/generate.ts', '--check'),
  'lock file fits every machine': () => lockProblems().join('\n'),
}

function run(program, ...args) {
  const ended = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: stepMaxMs,
    maxBuffer: outputMaxBytes,
  })
  if (ended.status === 0) return ''
  const how = ended.error?.message ?? `exit code ${ended.status ?? ended.signal}`
  return `${ended.stdout ?? ''}${ended.stderr ?? ''}\n${path.basename(program)}: ${how}`.trim()
}

function lockProblems() {
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
  const missing = binaries.filter((name) => packages[`node_modules/${name}`] === undefined)
  const resolved = Object.keys(packages).filter((name) => packages[name].resolved !== undefined)
  return [
    ...missing.map((name) => `no entry for ${name}: make the lock file anew without node_modules`),
    ...resolved.map((name) => `${name} has a registry's address: npm install --package-lock-only`),
  ]
}

let failed = 0
for (const [name, step] of Object.entries(steps)) {
  const complaints = step()
  if (complaints !== '') failed += 1
  console.log(`${complaints === '' ? 'ok    ' : 'failed'}  ${name}`)
  if (complaints !== '') console.log(complaints.replaceAll(/^(?=.)/gm, '    '))
}
process.exitCode = failed === 0 ? 0 : 1
