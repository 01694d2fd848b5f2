// What a worker holds of its workflows' code, in the main thread and in theirs.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const code = readFileSync(new URL('../../../dist/workflow-bundle.js', import.meta.url), 'utf8')

test('the code is text that V8 keeps in one byte a character', () => {
  expect(/[^\0-\xff]/.exec(code)).toBeNull()
})

test('its map names the lines of a stack, and has no sources in it', () => {
  const [, encoded] = /sourceMappingURL=data:.*?base64,(.*)$/m.exec(code)!
  const map = JSON.parse(Buffer.from(encoded!, 'base64').toString()) as Record<string, string[]>
  expect(map['sources']!.some((path) => path.endsWith('/workflows/import.js'))).toBe(true)
  expect(map['mappings']!.length).toBeGreaterThan(0)
  expect(map['sourcesContent']).toBeUndefined()
})
