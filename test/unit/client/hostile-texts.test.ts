// Texts of others are safe from where they enter: no part of the program that shows them has to think of it.

import { expect, describe, it } from 'vitest'
import { readAnswer } from '../../../src/client/answers.ts'
import { readBatch } from '../../../src/client/batch.ts'
import { decodeBySchema, type BodyOf } from '../../../src/client/decode.ts'
import { checkRecordMatches } from '../../../src/client/match-response.ts'
import { OPERATIONS } from '../../../src/contract/index.ts'
import { attachDatabaseMessage, databaseMessage } from '../../../src/core/database-message.ts'
import type { ServiceFailure } from '../../../src/core/errors.ts'
import { innermostMessage } from '../../../src/temporal/failures.ts'
import { writeError } from '../../../src/warehouses/postgres/failures.ts'

const HOSTILE: readonly (readonly [what: string, text: string])[] = [
  ['colours', '\u001b[31mRED'],
  ['a title of the window', '\u001b]0;pwn\u0007'],
  ['a cleared screen', '\u001b[2J\u001b[H'],
  ['C1 controls', '\u009b31mRED\u009d0;x\u009c'],
  ['a line of a log', 'x\r\n16:00:00 run_closed run=99 state=complete\r\n'],
  ['a line break', 'a\nb'],
  ['a carriage return', 'all went well\rsomething failed'],
  ['a tab', 'a\tb'],
  ['a vertical tab and a form feed', 'a\vb\fc'],
  ['backspaces', 'evil\b\b\b\bgood'],
  ['a bell', '\u0007'],
  ['NUL', 'a\0b'],
  ['DEL', 'a\u007fb'],
  ['next line', 'a\u0085b'],
  ['a line separator', 'a\u2028b\u2029c'],
  ['right to left', '\u202egnp.exe'],
  ['an embedding', '\u202atext\u202c'],
  ['an isolate', '\u2066text\u2069'],
  ['direction marks', 'a\u200eb\u200fc\u061cd'],
  ['annotations', 'a\ufff9b\ufffac\ufffb'],
  ['a hyperlink of terminals', '\u001b]8;;http://evil.com\u001b\\click\u001b]8;;\u001b\\'],
  ['a device control', '\u001bP$q"p\u001b\\'],
  ['a long text', 'x'.repeat(1_000_000)],
  ['a long text of emoji', '\u{1F600}'.repeat(500_000)],
  ['long lines', 'a\n'.repeat(500_000)],
  ['markup', '<script>alert(1)</script>\u001b[0m'],
  ['all at once', `${String.fromCharCode(...Array.from({ length: 0xa0 }, (_, at) => at))}\u202e`],
]
const CONTROLS =
  // oxlint-disable-next-line no-control-regex -- it is what must not be there
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/
const CONTROLS_BUT_LINES =
  // oxlint-disable-next-line no-control-regex -- lines may stay
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/

function expectSafe(text: unknown, charsMax: number, controls = CONTROLS): void {
  expect(typeof text).toBe('string')
  expect(controls.test(text as string)).toBe(false)
  expect((text as string).length).toBeLessThanOrEqual(charsMax)
  expect(/\p{Cs}/u.test(text as string)).toBe(false)
}

const problemOf = (text: string) => ({
  type: text,
  title: text,
  status: 422 as const,
  code: 'request_invalid',
  detail: text,
  reason: text,
  field: `/${text}`,
  errors: Array.from({ length: 200 }, () => ({
    field: `/${text.slice(0, 2_000)}`,
    reason: text.slice(0, 2_000),
    detail: text.slice(0, 5_000),
  })),
  request_id: text,
})

function failureOf(problem: object): ServiceFailure {
  const headers = { 'content-type': 'application/problem+json' }
  const answer = { status: 422, headers, body: Buffer.from(JSON.stringify(problem)) }
  try {
    readAnswer({ id: 'readRecord', operation: OPERATIONS.readRecord }, answer, () => null, 0)
  } catch (error) {
    return error as ServiceFailure
  }
  throw new Error('The answer was taken as a success')
}

describe.each(HOSTILE)('%s', (_, text) => {
  it('in the problem of a request', () => {
    const { message, detail, field, reason, errors, requestId, details } = failureOf(
      problemOf(text),
    )
    expectSafe(message, 1_000)
    expectSafe(detail, 2_000)
    expectSafe(field, 500)
    expect(reason).toBeUndefined()
    expect(requestId).toBeUndefined()
    expect(errors).toHaveLength(100)
    for (const error of errors) {
      expectSafe(error.detail, 2_000)
      expectSafe(error.field, 500)
      expect(error.reason).toBe('(other)')
    }
    expectSafe(JSON.stringify(details), 1_000)
  })

  it('in the problem of an item', () => {
    const data = [{ index: 0, status: 422, problem: problemOf(text) }]
    const { problem } = readBatch({ data, summary: { total: 1, succeeded: 0, failed: 1 } }, 1)
      .data[0]!
    expect(problem!.reason).toBe('(other)')
    expect(problem!.request_id).toBeNull()
    for (const [said, max] of [
      [problem!.detail, 2_000],
      [problem!.title, 200],
      [problem!.type, 200],
      [problem!.field, 500],
      [problem!.errors![0]!.detail, 2_000],
    ] as const)
      expectSafe(said, max)
  })

  it('in labels of a schema', () => {
    const read = decodeBySchema<BodyOf<'readObjectType'>>(OPERATIONS.readObjectType)
    const option = { value: 'a', label: text, description: text }
    const property = {
      name: 'svc_a',
      label: text,
      field_type: 'select',
      writability: 'writable',
      operators: [],
      is_multi: false,
      is_unique: false,
      options: [option],
      description: text,
    }
    const type = {
      name: 'svc_b',
      label: text,
      label_plural: text,
      kinds: [],
      is_system: false,
      allows_custom_properties: false,
      writable_operations: [],
      properties: [property],
    }
    const { data } = read(200, { data: type })
    const [read_] = data.properties
    for (const label of [
      data.label,
      data.label_plural,
      read_!.label,
      read_!.description,
      read_!.options[0]!.label,
    ])
      expectSafe(label, 500)
  })

  it('in what a database says', () => {
    const failure = attachDatabaseMessage(new Error('ours'), new Error(text))
    expectSafe(databaseMessage(failure), 6_100, CONTROLS_BUT_LINES)
    expect(databaseMessage(failure)!.split('\n').length).toBeLessThanOrEqual(12)
  })

  it('in the name of a constraint', () => {
    const error = Object.assign(new Error(text), {
      severity: 'ERROR',
      code: '23505',
      constraint: text,
      table: text,
      schema: text,
    })
    expectSafe((writeError(error, 'lake', '') as Error).message, 1_000)
  })

  it('in a failure that the Temporal server keeps', () => {
    const error = new Error('outer', { cause: new Error(text) })
    expectSafe(innermostMessage(error), 250_000, CONTROLS_BUT_LINES)
  })
})

describe('an id with', () => {
  it.each(HOSTILE.filter(([, text]) => CONTROLS.test(text)))('%s is none', (_, text) => {
    const record = { id: text, object_type: 't', properties: {} }
    expect(() => checkRecordMatches(record as never, {})).toThrow('control characters')
  })
})

describe('a reason', () => {
  it.each(['schema_invalid', 'a', '_x', '404', 'x'.repeat(64)])('%s is a word', (reason) => {
    const data = [{ index: 0, status: 422, problem: { ...problemOf('d'), reason } }]
    const read = readBatch({ data, summary: { total: 1, succeeded: 0, failed: 1 } }, 1)
    expect(read.data[0]!.problem!.reason).toBe(reason)
  })

  it.each([
    'Schema_Invalid',
    'a-b',
    'a b',
    ' a',
    'x'.repeat(65),
    'ä',
    '<b>',
    '=1+1',
    '../x',
    'a\n',
  ])('%j is none', (reason) => {
    const data = [{ index: 0, status: 422, problem: { ...problemOf('d'), reason } }]
    const read = readBatch({ data, summary: { total: 1, succeeded: 0, failed: 1 } }, 1)
    expect(read.data[0]!.problem!.reason).toBe('(other)')
  })
})
