// Files that are no CSV, or in an encoding of East Asia: the message says what each is, and what to write.

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { foreignFile } from '../../../src/sources/csv/foreign.ts'
import { faultOf, folder, readCsv } from './files.ts'

const files = folder()
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')

describe('a file that is no CSV is named', () => {
  it.each<[string, Buffer | string, RegExp]>([
    [
      '.xlsx',
      latin1('PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0[Content_Types].xml'),
      /a workbook.*save the sheet/,
    ],
    ['.xlsx of a library', latin1('PK\x03\x04\x14\0\0\0\x08\0xl/workbook.xml'), /a workbook/],
    ['.ods', latin1('PK\x03\x04\x14\0\0\x08\0\0mimetypeapplication/vnd.oasis'), /a workbook/],
    ['a zip archive', latin1('PK\x03\x04\x14\0\0\0\x08\0contacts.csv'), /a zip archive/],
    ['an empty zip archive', latin1('PK\x05\x06\0\0'), /a zip archive/],
    ['.xls', latin1('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0'), /an old workbook/],
    ['an older .xls', latin1('\x09\x08\x08\0\0\x05'), /an old workbook/],
    ['a PDF', '%PDF-1.7\n', /a PDF document/],
    ['Parquet', latin1('PAR1\x15\x04'), /a Parquet file/],
    ['Avro', latin1('Obj\x01\x04'), /an Avro file/],
    ['ORC', latin1('ORC\x08'), /an ORC file/],
    ['SQLite', latin1('SQLite format 3\0'), /an SQLite database/],
    ['gzip in gzip', gzipSync(gzipSync('id\n1\n')), /gzip inside gzip/],
    ['bzip2', latin1('BZh91AY&SY'), /bzip2/],
    ['xz', latin1('\xfd7zXZ\0\0'), /of xz/],
    ['zstd', latin1('\x28\xb5\x2f\xfd\x04'), /of zstd/],
    ['7-Zip', latin1('7z\xbc\xaf\x27\x1c\0'), /7-Zip/],
    ['RAR', latin1('Rar!\x1a\x07\0'), /RAR/],
    ['a picture', latin1('\x89PNG\r\n\x1a\n'), /a picture/],
    ['HTML', '<!DOCTYPE html>\n<html><body>Log in</body></html>', /an HTML page.*login/],
    ['HTML without a type', '\n  <html lang="en">', /an HTML page/],
    ['a table', '<table border=1><tr><td>id</td>', /an HTML page/],
    ['HTML behind a comment', '<!-- x -->\n<!doctype HTML>', /an HTML page/],
    ['XML', '<?xml version="1.0"?>\n<rows/>', /an XML file/],
    ['XML in UTF-16', utf16('<?xml version="1.0"?>'), /an XML file/],
    ['RTF', '{\\rtf1\\ansi', /an RTF document/],
    ['JSON', '{\n  "rows": [\n    {"id": 1}\n  ]\n}\n', /a JSON file/],
    ['a list of JSON', '[{"id": 1}, {"id": 2}]', /a JSON file/],
    ['lists of JSON', '[["id","n"],["1","A"]]', /a JSON file/],
    ['an empty list', '[]\n', /a JSON file/],
    ['JSON with a mark', '\ufeff{"id": 1}', /a JSON file/],
    ['JSON lines', '{"id": 1}\n{"id": 2}\n', /a file of JSON lines/],
  ])('%s', async (_, content, message) => {
    const error = await faultOf({ path: await files.put(content) })
    expect(error).toMatchObject({ code: 'csv_foreign', line: undefined })
    expect(error.message).toMatch(message)
  })

  it.each([
    ['a name in braces', '{id},name\n1,A\n'],
    ['a name in brackets', '[id],[name]\n1,A\n'],
    ['a name in angles', '<id>,<name>\n1,A\n'],
    ['a first cell of a tag', '<b>id</b>,name\n1,A\n'],
    ['a name that begins like a format', 'PARK,name\n1,A\n'],
    ['a number sign', '#id,name\n1,A\n'],
    ['an object in a cell', 'id,json\n1,"{""a"": 1}"\n'],
  ])('%s may be CSV', (_, text) => {
    expect(foreignFile(Buffer.from(text))).toBeNull()
  })
})

describe('an encoding of East Asia', () => {
  const bytesOf = (hex: string) =>
    Buffer.concat([Buffer.from('id,name\n1,'), Buffer.from(hex, 'hex'), Buffer.from('\n')])
  it.each([
    ['GBK', 'd5c5ceb00a322ccdf5b7bc', 'gb18030'],
    ['Shift-JIS', '8d828bb42c836583588367', 'shift_jis'],
    ['Shift-JIS of kana', '82b382ad82e7', 'shift_jis'],
    ['EUC-KR', 'b1e8b9cebcf6', 'euc-kr'],
    ['Big5', 'b3afa4a4a4e5', 'big5'],
    ['EUC-JP', 'a4b5a4afa4e9', 'euc-jp'],
  ])('%s is among those that are named', async (_, hex, encoding) => {
    const error = await faultOf({ path: await files.put(bytesOf(hex)) })
    expect(error).toMatchObject({ code: 'csv_encoding', line: 2 })
    expect(error.message).toContain('it may be ')
    expect(error.message).toContain(encoding)
    expect(error.message).not.toContain('windows-1252')
  })

  it('Western letters at the beginning of words are none', async () => {
    const error = await faultOf({
      path: await files.put(latin1('id,name\n1,\xc9tienne\n2,\xd6zil\n')),
    })
    expect(error.message).toContain('write `encoding: windows-1252`')
  })

  it.each([
    ['cp932', 'fbfc8bb48740', '髙橋①'],
    ['CP936', 'd5c5ceb0', '张伟'],
    ['cp949', 'b1e8b9ce', '김민'],
    ['cp950', 'b3afa4a4', '陳中'],
    ['windows-932', 'fbfc', '髙'],
    ['gbk', 'd5c5', '张'],
  ])('%s is a name of one', async (encoding, hex, text) => {
    const { rows } = await readCsv({ path: await files.put(bytesOf(hex)), encoding })
    expect(rows[0]!.cells[1]).toBe(text)
  })
})

describe('quotes that another setting reads', () => {
  it.each([
    ['a backslash before them', 'id,n\n1,"He said \\"hi\\""\n', {}, '`escape: "\\\\"`'],
    ['space before them', 'id,n\n1, "A, B"\n', {}, '`skip_space: true`'],
    ['space behind them', 'id;n\n"1" ;A\n', { delimiter: ';' }, '`skip_space: true`'],
  ])('%s', async (_, text, options, setting) => {
    const error = await faultOf({ path: await files.put(text), ...options })
    expect(error.code).toBe('csv_quote')
    expect(error.message).toContain(setting)
  })
})
