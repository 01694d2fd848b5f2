// What `npm run check` runs: format, lint, types, generated documents, the lock file. One line per step, what a failed
// step printed, and exit code 1 if any failed. Plain JavaScript, so that it needs nothing compiled.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const timeoutMs = 300_000

/** The script behind a command of an installed package: without npx, and the same on every system. */
function scriptOf(name, command = name) {
  const file = join(root, 'node_modules', name, 'package.json')
  const { bin } = JSON.parse(readFileSync(file, 'utf8'))
  return join(dirname(file), typeof bin === 'string' ? bin : bin[command])
}

/** Runs node; the answer is what is wrong, or nothing. */
function node(...args) {
  const ended = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: timeoutMs,
  })
  if (ended.status === 0) return ''
  const why = ended.error ? ended.error.message : `exit code ${ended.status ?? ended.signal}`
  return `${ended.stdout ?? ''}${ended.stderr ?? ''}${why}`
}

/** The lock file must serve every registry and every machine. */
function lockProblems() {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(text)
  const problems = Object.keys(packages)
    .filter((name) => packages[name].resolved !== undefined)
    .map((name) => `${name || 'the root'} has "resolved"; expected none (.npmrc)`)
  for (const name of [
    '@swc/core-darwin-arm64',
    '@oxlint/binding-darwin-arm64',
    '@oxfmt/binding-darwin-arm64',
  ]) {
    if (packages[`node_modules/${name}`] === undefined)
      problems.push(
        `${name} is missing; expected the packages of every system: npm install --package-lock-only`,
      )
  }
  return problems.join('\n')
}

const generators = [join('config', 'generate.ts'), join('src', 'dev', 'generate.ts')]
/** @type {[string, () => string][]} */
const steps = [
  ['format (npm run format)', () => node(scriptOf('oxfmt'), '--check', '.')],
  [
    'lint',
    () =>
      node(
        scriptOf('oxlint'),
        '--type-aware',
        '--deny-warnings',
        '--report-unused-disable-directives',
      ),
  ],
  ['types', () => node(scriptOf('typescript', 'tsc'), '--noEmit', '-p', 'tsconfig.json')],
  [
    'documents (npm run docs)',
    () => generators.map((file) => node('--import', 'tsx', file, '--check')).join(''),
  ],
  ['lock file', lockProblems],
]

let failed = 0
for (const [name, check] of steps) {
  const startedMs = performance.now()
  const problem = check()
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(`${problem === '' ? 'ok    ' : 'FAILED'}  ${name}  ${seconds} s`)
  if (problem === '') continue
  failed += 1
  console.log(problem.trimEnd().replaceAll(/^/gm, '        '))
}
process.exitCode = failed === 0 ? 0 : 1
