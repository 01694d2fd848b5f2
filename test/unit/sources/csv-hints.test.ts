// A file that is read with the wrong delimiter or encoding: the message says what to write, and the file is read as configured.

import { expect, test } from 'vitest'
import { openCsv } from '../../../src/sources/csv/index.ts'
import { faultOf, folder, readCsv } from './files.ts'

const files = folder()
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const SEMICOLON = '; ";" looks like the delimiter: write `delimiter: ";"` under `from`'
const messageOf = async (content: string | Buffer, options = {}) =>
  (await faultOf({ path: await files.put(content), ...options })).message

test('an error that a wrong delimiter leads to names the right one', async () => {
  expect(await messageOf('"id";"name"\n"1";"Ada"\n')).toMatch(
    /text after the closing quote of column 1; .*$/,
  )
  expect((await messageOf('"id";"name"\n"1";"Ada"\n')).endsWith(SEMICOLON)).toBe(true)
  expect(await messageOf('"id"\t"name"\n"1"\t"Ada"\n')).toContain('write `delimiter: "\\t"`')
  const asConfigured = await messageOf('"id";"name"\n"1";"Ada"x\n', { delimiter: ';' })
  expect(asConfigured).not.toContain('looks like')
  // Two fit equally well: nothing is said.
  expect(await messageOf('a;"b, c";d, e\n1;2,5;3,5\n1;"2"x,5;3,5\n')).not.toContain('looks like')
})

test('wrong bytes are reported before the columns can be compared, with encoding and delimiter in one message', async () => {
  const path = await files.put(latin1('id;name\n1;Zo\xeb\n2;M\xfcller\n'))
  await expect(openCsv({ path })).rejects.toThrow(
    /:2:1: bytes here are not utf-8; .*write `encoding: windows-1252` under `from`; ";" looks like the delimiter: write `delimiter: ";"` under `from`$/,
  )
  const { columns, rows } = await readCsv({ path, delimiter: ';', encoding: 'windows-1252' })
  expect([columns, rows.map(({ cells }) => cells[1])]).toEqual([
    ['id', 'name'],
    ['Zoë', 'Müller'],
  ])
})

test('an encoding that is only possible is not named as the one', async () => {
  const message = await messageOf(latin1('id,name\n1,Wa\xb3\xeasa\n'))
  expect(message).toContain('it may be windows-1250, windows-1251, macintosh or another')
  expect(message).not.toContain('encoding: windows-1252')
  // A byte that windows-1252 does not have.
  expect(await messageOf(latin1('id,name\n1,\x8fd\x9fb\xb3o\n'))).toContain(
    'it may be windows-1250',
  )
})

test('UTF-8 that is read as another encoding is warned of', async () => {
  const warningsOf = async (content: string | Buffer, encoding?: string) => {
    const source = await openCsv({ path: await files.put(content), encoding })
    await source.close()
    return source.warnings
  }
  expect(await warningsOf('id,name\n1,Zoë\n', 'windows-1252')).toEqual([
    'the file looks like utf-8 and is read as windows-1252, as configured: names with other letters than those of English would be damaged; leave out `encoding`',
  ])
  expect(await warningsOf('id,name\n1,Zoë\n')).toEqual([])
  expect(await warningsOf('id,name\n1,Zoe\n', 'windows-1252')).toEqual([])
  expect(await warningsOf(latin1('id,name\n1,Zo\xeb\n'), 'windows-1252')).toEqual([])
})

test('a first line `sep=;` is no header, and lines keep their numbers', async () => {
  const path = await files.put('sep=;\r\nid;name\r\n1;Ada\r\n')
  const { columns, rows } = await readCsv({ path, delimiter: ';' })
  expect([columns, rows]).toEqual([['id', 'name'], [{ ordinal: 1, line: 3, cells: ['1', 'Ada'] }]])
  const quoted = await files.put('\ufeff"sep=,"\nid,name\n1,Ada\n')
  expect((await readCsv({ path: quoted })).columns).toEqual(['id', 'name'])
  // Only a whole line is one.
  const other = await files.put('sep=x,name\n1,Ada\n')
  expect((await readCsv({ path: other })).columns).toEqual(['sep=x', 'name'])
})
