// One rule says what an e-mail address is, for the connector and for the service.

import { describe, expect, it } from 'vitest'
import { EMAIL_PATTERN, hasEmail, isEmail } from '../../../src/core/email.ts'
import { COERCIONS } from '../../../src/import/mapping/coerce.ts'
import { loadMapping } from '../../../src/import/mapping/map.ts'
import { FIELD_TYPES } from '../../../src/service/schema/field-types.ts'
import { contactsTarget, importOf } from '../import/mapping-scene.ts'

const byConnector = (text: string) =>
  COERCIONS['email']!(text, {
    mapping: {},
    valueType: 'string',
    options: new Map(),
    units: new Set(),
  })
const byService = (text: string) => FIELD_TYPES.get('email')!.parse(text)

describe('an address', () => {
  it.each([
    'ada@example.com',
    'Ada.B@Example.COM',
    'a+tag@example.com',
    "o'brien@example.ie",
    'x_y-z%1@sub.example.co.uk',
    'jörg@example.de',
    'info@bücher.example',
    'info@xn--bcher-kva.example',
    '用户@例子.公司',
    'दिल्ली@उदाहरण.भारत',
    '"john smith"@example.com',
    String.raw`"a\"b"@example.com`,
    '"a.b."@example.com',
    'a@b.c',
    '1@2.example',
    'customer/department=shipping@example.com',
    '!#$&*/=?^`{|}~@example.com',
    '_@example.com',
    '-@example.com',
    'a@1.2.3.example',
    'a@very-long--label.example',
    `${'a'.repeat(64)}@example.com`,
  ])('%s', (text) => {
    expect(isEmail(text)).toBe(true)
    expect(byConnector(` ${text} `)).toMatchObject({ ok: true })
    expect(byService(` ${text}\u200b `)).toBe(text.toLowerCase())
  })
})

/** With an address inside that the named pattern reads. */
const AROUND = [
  '<ada@example.com>',
  'Ada <ada@example.com>',
  '"Lovelace, Ada" <ada@example.com>',
  'mailto:ada@example.com',
  'MAILTO:ada@example.com',
  'mailto:ada@example.com?subject=x',
  '["ada@example.com"]',
  '[ada@example.com]',
  '{ada@example.com}',
  '=ada@example.com',
  '="ada@example.com"',
  "'ada@example.com",
  "'ada@example.com'",
  '"ada@example.com"',
  '(ada@example.com)',
  'ada@example.com;',
  'ada@example.com,',
  'ada@example.com (private)',
  'e-mail: ada@example.com',
  'http://ada@example.com/',
  'ada@example.com<br>',
]

describe('no address, but with one in it', () => {
  it.each(AROUND)('%s', async (text) => {
    expect(isEmail(text)).toBe(false)
    expect(hasEmail(text)).toBe(true)
    expect(byService(text)).toBe(undefined)
    expect(byConnector(text)).toMatchObject({ reason: 'not_an_email' })
    expect((byConnector(text) as { expected: string }).expected).toContain(
      `\`pattern: '${EMAIL_PATTERN}'\` of the mapping reads the one in it`,
    )
    const config = importOf({ email: { column: 'a', pattern: EMAIL_PATTERN } })
    const plan = await loadMapping('contacts', config, contactsTarget, ['id', 'a'])
    expect(plan.map({ ordinal: 1, line: 2, cells: ['k', text] })).toMatchObject({
      payload: '{"properties":{"email":"ada@example.com","id":"k"}}',
    })
  })
})

describe('no address', () => {
  it.each([
    '',
    'ada',
    'ada@',
    '@example.com',
    'ada@example',
    'ada@@example.com',
    'ada@b@example.com',
    'ada b@example.com',
    'ada@exam ple.com',
    'ada@example..com',
    'ada..b@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'ada@.example.com',
    'ada@example.com.',
    'ada@-example.com',
    'ada@example-.com',
    'ada@exam_ple.com',
    'ada@192.168.0.1',
    'ada@[192.168.0.1]',
    'ada(at)example.com',
    'ada [at] example.com',
    'ada@example,com',
    'ada＠example.com',
    'ada@example。com',
    'ada@example.com, bob@example.com',
    'ada@example.com bob@example.com',
    '["ada@example.com","bob@example.com"]',
    '"ada"b@example.com',
    'ada@"example".com',
    `${'a'.repeat(65)}@example.com`,
    `${'ä'.repeat(33)}@example.com`,
    `a@${'example.'.repeat(40)}com`,
  ])('%s', (text) => {
    expect(isEmail(text)).toBe(false)
    expect(byService(text)).toBe(undefined)
    expect(byConnector(text)).toMatchObject({ reason: 'not_an_email' })
  })
})
