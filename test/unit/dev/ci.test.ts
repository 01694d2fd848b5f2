// .ci/run says what vitest counted, in its last line, and its exit code is 0 only if all is well.

import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { script, tempFolder } from './scripts.ts'

const ciRun = fileURLToPath(new URL('../../../.ci/run', import.meta.url))

/** Runs a copy with an `npm` whose check and tests end as told; `json` is what vitest would have written. */
function run(ends: { check?: number; test?: number; json?: string }) {
  const root = tempFolder()
  fs.mkdirSync(path.join(root, '.ci'))
  fs.copyFileSync(ciRun, path.join(root, '.ci/run'))
  fs.writeFileSync(path.join(root, 'results.json'), ends.json ?? '')
  script(
    path.join(root, 'bin/npm'),
    `[ "$1" = run ] && exit ${ends.check ?? 0}`,
    `for arg in "$@"; do case "$arg" in --outputFile.json=*) file="\${arg#*=}" ;; esac; done`,
    ends.json === undefined ? '' : `cp results.json "$file"`,
    `exit ${ends.test ?? 0}`,
  )
  const env = { ...process.env, PATH: `${path.join(root, 'bin')}:${process.env.PATH}` }
  const ended = spawnSync(path.join(root, '.ci/run'), { cwd: '/', env, encoding: 'utf8' })
  const lines = ended.stdout.trimEnd().split('\n')
  return { code: ended.status, last: lines.at(-1), before: lines.at(-2) }
}

function results(passed: number, failed: number, files: object[] = []): string {
  return JSON.stringify({ numPassedTests: passed, numFailedTests: failed, testResults: files })
}

const broken = { status: 'failed', assertionResults: [] }
const red = { status: 'failed', assertionResults: [{ status: 'passed' }, { status: 'failed' }] }

describe('.ci/run', () => {
  test('all is well', () => {
    expect(run({ json: results(412, 0) })).toMatchObject({ code: 0, last: '412 passed, 0 failed' })
  })

  test('a red test', () => {
    const ended = run({ json: results(1, 1, [red]), test: 1 })
    expect(ended).toMatchObject({ code: 1, last: '1 passed, 1 failed' })
  })

  test('a file that did not load counts as one', () => {
    const ended = run({ json: results(5, 1, [red, broken]), test: 1 })
    expect(ended).toMatchObject({ code: 1, last: '5 passed, 2 failed' })
  })

  test('a failed check changes no count, but the exit code, and is named', () => {
    const ended = run({ json: results(9, 0), check: 3 })
    expect(ended).toMatchObject({ code: 1, last: '9 passed, 0 failed' })
    expect(ended.before).toMatch(/^npm run check failed with exit code 3/)
  })

  test('an error outside of any test is not passed over', () => {
    const ended = run({ json: results(9, 0), test: 1 })
    expect(ended).toMatchObject({ code: 1, last: '9 passed, 0 failed' })
    expect(ended.before).toMatch(/exit code 1 although no test failed/)
  })

  test.each([
    ['no results', undefined],
    ['results that are cut off', '{"numPassed'],
    ['no tests', results(0, 0)],
  ])('%s are a failure', (_what, json) => {
    const ended = run({ test: 1, ...(json === undefined ? {} : { json }) })
    expect(ended).toMatchObject({ code: 1, last: '0 passed, 1 failed' })
  })
})
