// What the compiled command says of arguments that it does not know.

import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { main } from '../../e2e/main.ts'

test('with --json a wrong argument is an error in JSON too', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, '--json', 'foo'], {
    encoding: 'utf8',
  })
  expect(status).toBe(2)
  expect(JSON.parse(stdout)).toEqual({
    error: { code: 'usage', message: expect.stringContaining("unknown command 'foo'") },
  })
  expect(stderr).toContain('unknown command')
  const plain = spawnSync(process.execPath, [main, 'foo'], { encoding: 'utf8' })
  expect(plain).toMatchObject({ status: 2, stdout: '' })
})
