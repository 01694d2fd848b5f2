// Every way in which a CSV file can be wrong: a stable code, the place, and what was expected.

import { execFileSync } from 'node:child_process'
import { appendFile, symlink, utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { SourceError } from '../../../src/core/errors.ts'
import { CSV_RECORD_BYTES_MAX } from '../../../src/core/limits.ts'
import { csvFaults } from '../../../src/sources/csv/faults.ts'
import { openCsv } from '../../../src/sources/csv/index.ts'
import { RecordReader } from '../../../src/sources/csv/records.ts'
import { faultOf, folder } from './files.ts'

const files = folder()
const SECRET = 'c0ffee-secret-cell'

async function fault(content: string | Uint8Array, options: object = {}): Promise<SourceError> {
  return faultOf({ path: await files.put(content), ...options })
}

describe('the content of a CSV file', () => {
  // [what, content, code, line, column, what was expected]
  const cases: [string, string | Buffer, string, number | undefined, number | undefined, RegExp][] =
    [
      ['nothing', '', 'csv_empty', undefined, undefined, /expected a header/],
      ['blank lines only', '\n\r\n\n', 'csv_empty', undefined, undefined, /expected a header/],
      ['a byte order mark only', '\ufeff', 'csv_empty', undefined, undefined, /expected a header/],
      ['names of spaces', '\n,"  ",\n', 'csv_header', 2, 1, /names no column.*`header: N`/],
      [
        'a short row',
        `a,b,c\n1,2,3\n1,${SECRET}\n`,
        'csv_ragged_row',
        3,
        3,
        /has 2 cells; expected 3/,
      ],
      [
        'a long row',
        `a,b\n1,"x\r\ny"\n\n1,2,${SECRET}\n`,
        'csv_ragged_row',
        5,
        3,
        /has 3 cells; expected 2/,
      ],
      ['a short last row', 'a,b\n1', 'csv_ragged_row', 2, 2, /has 1 cell; expected 2/],
      [
        'text after a quote',
        `a,b\n1,"x"${SECRET}\n`,
        'csv_quote',
        2,
        2,
        /closing quote of column 2/,
      ],
      [
        'a quote in a cell',
        `a,b\n1,2\n${SECRET}"x",2\n`,
        'csv_quote',
        3,
        1,
        /unquoted cell of column 1/,
      ],
      [
        'an open quote',
        `a,b\n1,2\n\n3,"${SECRET}\n4,5\n`,
        'csv_quote_unclosed',
        4,
        2,
        /opens column 2/,
      ],
      [
        'bad UTF-8',
        Buffer.from(`a\nx\ny\xe9${SECRET}\nz\n`, 'latin1'),
        'csv_encoding',
        3,
        1,
        /utf-8.*looks like windows-1252: write `encoding: windows-1252`/,
      ],
      [
        'bad UTF-8 in a later column',
        Buffer.from(`a,b,c\n1,2,3\n1,"2,\n,2","xx${SECRET}\xe9t"\nz\n`, 'latin1'),
        'csv_encoding',
        4,
        3,
        /looks like windows-1252/,
      ],
      [
        'two encodings',
        Buffer.concat([Buffer.from('a,b\n\u00e9,2\n1,'), Buffer.from('\xe9\n1,2\n', 'latin1')]),
        'csv_encoding',
        3,
        2,
        /more than one encoding/,
      ],
      [
        'no encoding that is known',
        Buffer.from('a,b\n1,\x81\n1,2\n', 'latin1'),
        'csv_encoding',
        2,
        2,
        /it may be windows-1250, windows-1251, macintosh or another: write the one/,
      ],
      [
        'two bytes a character, without a mark',
        Buffer.from('id,name\n1,Ada\n', 'utf16le'),
        'csv_nul',
        1,
        1,
        /write `encoding: utf-16le`/,
      ],
      [
        'two bytes a character that are not UTF-8, without a mark',
        Buffer.from('id,name\n1,Zoë\n', 'utf16le'),
        'csv_encoding',
        2,
        2,
        /not utf-8.*write `encoding: utf-16le`/,
      ],
      [
        'UTF-8 cut off',
        Buffer.from('a\r\nx\r\n\xe2\x82', 'latin1'),
        'csv_encoding',
        3,
        1,
        /utf-8.*cut off/,
      ],
      [
        'an encoded surrogate',
        Buffer.from('a\n\xed\xa0\x80\n', 'latin1'),
        'csv_encoding',
        2,
        1,
        /utf-8/,
      ],
      ['NUL', `a,b\r\n1,2\r\n3,${SECRET}\0\r\n`, 'csv_nul', 3, 2, /without NUL/],
      ['NUL after a quote', 'a,b\n"1"\0,2\n', 'csv_nul', 2, 1, /without NUL/],
      ['NUL at the begin of a cell', 'a,b,c\n1,,\0\n', 'csv_nul', 2, 3, /without NUL/],
    ]
  it.each(cases)('%s', async (_what, content, code, line, column, expected) => {
    const error = await fault(content, { ragged: 'refuse' })
    expect([error.code, error.line, error.column]).toEqual([code, line, column])
    expect(error.message).toMatch(expected)
    expect(error.message).toMatch(/; expected /)
    expect(error.message).toMatch(line === undefined ? /\.csv: / : new RegExp(`\\.csv:${line}:`))
    expect(JSON.stringify([error.message, error.stack, error.details, error.cause])).not.toContain(
      SECRET,
    )
    expect(error.cause).toBeUndefined()
  })

  it('is cut off where its last row is short, whatever is done with ragged rows', async () => {
    for (const end of ['', '\n', '\r\n\r\n']) {
      const error = await fault(`a,b,c\n1,2,3\n1,2\n1,2,3\n\n4,${SECRET}${end}`)
      expect([error.code, error.line, error.column]).toEqual(['csv_ragged_row', 6, 3])
      expect(error.message).toMatch(/the last row has 2 cells; expected 3.*cut off\?/)
      expect(error.message).not.toContain(SECRET)
    }
  })

  it('is wrong at the same line when that is far into the file', async () => {
    const long = `a,b\n${'1,"x\r\ny"\r\n'.repeat(40_000)}`
    expect((await fault(`${long}1\n`)).line).toBe(80_002)
    expect((await fault(Buffer.concat([Buffer.from(long), Buffer.from([0xff])]))).line).toBe(80_002)
    expect((await fault(`${long}1,\0\n`)).line).toBe(80_002)
  })

  it('may not contradict the encoding', async () => {
    const wide = Buffer.from('\ufeffa\n', 'utf16le')
    expect((await fault(wide, { encoding: 'utf-8' })).message).toMatch(
      /mark of utf-16le; expected utf-8/,
    )
    expect((await fault('\ufeffa\n', { encoding: 'windows-1252' })).code).toBe('csv_encoding')
    const lone = Buffer.from('a\n\ud800b\n', 'utf16le')
    expect((await fault(lone, { encoding: 'utf-16le' })).code).toBe('csv_encoding')
    expect((await fault(Buffer.from([0x61, 0]), { encoding: 'utf-8' })).code).toBe('csv_nul')
    expect((await fault(Buffer.from([0x61, 0, 0x0a]), { encoding: 'utf-16le' })).code).toBe(
      'csv_encoding',
    )
  })
})

describe('a record without an end', () => {
  /** Bytes read until an endless record is refused. */
  async function bytesUntilRefused(start: string, piece: Buffer): Promise<[number, SourceError]> {
    const reader = new RecordReader(
      { delimiter: ',', quote: '"', recordBytesMax: CSV_RECORD_BYTES_MAX },
      csvFaults('endless.csv'),
    )
    await reader.read(Buffer.from(start))
    for (let bytes = piece.length; bytes < 2 ** 25; bytes += piece.length) {
      const refused = await reader.read(piece).then(
        () => undefined,
        (error: unknown) => error as SourceError,
      )
      if (refused !== undefined) return [bytes, refused]
    }
    throw new Error('read 32 MiB')
  }

  it.each([
    ['an open quote', 'a,b\n1,2\n3,"', 'x'],
    ['nothing but delimiters', 'a,b\n1,2\n', ','],
    ['nothing but breaks in quotes', 'a,b\n1,2\n3,"', '\n'],
    ['a header without an end', '\n\n', 'a,'],
  ])('%s is refused early', async (_what, start, filling) => {
    const piece = Buffer.from(filling.repeat(65_536 / filling.length))
    const [bytes, error] = await bytesUntilRefused(start, piece)
    expect(bytes).toBeLessThanOrEqual(CSV_RECORD_BYTES_MAX + 4 * piece.length)
    expect([error.code, error.line]).toEqual(['csv_row_too_long', 3])
    expect(error.message).toMatch(/longer than 1048576 bytes/)
  })

  it('is refused at the bound that was set', async () => {
    const path = await files.put('a,b\n12345,67890\n')
    await expect(
      openCsv({ path, recordBytesMax: 10 }).then((source) => source.close()),
    ).resolves.toBeUndefined()
    const error = await faultOf({ path, recordBytesMax: 8 })
    expect([error.code, error.line]).toEqual(['csv_row_too_long', 2])
  })

  it('is not seen in many blank lines', async () => {
    const path = await files.put(`a\n${'\n'.repeat(200_000)}1\n`)
    const source = await openCsv({ path, recordBytesMax: 1_000 })
    for await (const rows of source.chunks(10)) expect(rows[0]?.line).toBe(200_002)
    await source.close()
  })
})

describe('gzip', () => {
  const whole = gzipSync(
    `id\n${Array.from({ length: 5_000 }, (_, at) => `${at * 7_919}`).join('\n')}\n`,
  )
  it.each([
    ['truncated', whole.subarray(0, whole.length - 9), /too early/],
    ['cut in its header', whole.subarray(0, 5), /too early/],
    ['damaged', Buffer.from(whole).fill(0x55, 2_000, 2_050), /damaged/],
    [
      'with a wrong checksum',
      Buffer.from(whole).fill(0, whole.length - 8, whole.length - 4),
      /damaged/,
    ],
    ['followed by other bytes', Buffer.concat([whole, Buffer.from('id\n1\n')]), /damaged/],
    [
      'with a member after zeros',
      Buffer.concat([whole, Buffer.alloc(9), whole]),
      /other bytes follow/,
    ],
  ])('%s is an error', async (_what, content, message) => {
    const error = await fault(content)
    expect(error.code).toBe('csv_gzip')
    expect(error.message).toMatch(message)
  })
})

describe('the file', () => {
  it('is missing', async () => {
    expect((await faultOf({ path: files.path('none.csv') })).code).toBe('csv_missing')
    const inside = `${await files.put('a\n')}/b.csv`
    expect((await faultOf({ path: inside })).code).toBe('csv_missing')
  })

  it('is something else', async () => {
    const directory = await faultOf({ path: dirname(files.path('x')) })
    expect([directory.code, directory.message]).toEqual([
      'csv_not_a_file',
      expect.stringMatching(/a directory; expected/),
    ])
    execFileSync('mkfifo', [files.path('pipe')])
    expect((await faultOf({ path: files.path('pipe') })).code).toBe('csv_not_a_file')
  })

  it('cannot be read', async () => {
    await symlink(files.path('loop.csv'), files.path('loop.csv'))
    const error = await faultOf({ path: files.path('loop.csv') })
    expect(error.code).toBe('csv_unreadable')
    expect(error.message).not.toContain('ELOOP')
  })

  it.each([
    ['grows', (path: string) => appendFile(path, '8\n')],
    ['is written anew', (path: string) => utimes(path, 1, 1)],
    ['grows and is broken too', (path: string) => appendFile(path, '1,2,3\n')],
  ])('%s while it is read', async (_what, change) => {
    const path = await files.put(`id\n${'7\n'.repeat(200_000)}`)
    const source = await openCsv({ path })
    const reading = (async () => {
      let rows = 0
      for await (const chunk of source.chunks(1_000)) {
        if (rows === 0) await change(path)
        rows += chunk.length
      }
    })()
    await expect(reading).rejects.toMatchObject({ code: 'csv_changed' })
    expect(() => source.summary()).toThrow(SourceError)
    await source.close()
  })
})

describe('options', () => {
  it.each([
    [{ delimiter: '' }, 'csv_options', /delimiter is ""/],
    [{ delimiter: '||' }, 'csv_options', /expected one character/],
    [{ delimiter: '\n' }, 'csv_options', /no line break/],
    [{ quote: ',' }, 'csv_options', /neither the delimiter/],
    [{ quote: '' }, 'csv_options', /expected null, or one character/],
    [{ recordBytesMax: 0 }, 'csv_options', /whole number above 0/],
    [{ encoding: 'klingon' }, 'csv_encoding_unknown', /"klingon" .* utf-8, utf-16le, windows-1252/],
  ])('%j', async (options, code, message) => {
    const error = await fault('a\n', options)
    expect(error.code).toBe(code)
    expect(error.message).toMatch(message)
  })

  it.each(['delimiter', 'quote', 'encoding'])('%s is not quoted at length', async (option) => {
    const { message } = await fault('a\n', { [option]: 'q'.repeat(10_000) })
    expect(message.match(/q+/g)?.every((quoted) => quoted.length <= 200)).toBe(true)
  })
})
