// What the first rows say of a file as a whole: whether its first line is a header, its encoding, its words for no value, its totals.
// A doubt is never an active setting, and no cell is in a reason.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readCsvSample } from '../../../src/cli/commands/init-sample.ts'
import { headerDoubt } from '../../../src/import/index.ts'
import { sampleOf, targets } from '../import/proposal-scene.ts'
import { folder } from './init-scene.ts'

describe('a first line of data', () => {
  it.each([
    ['ids, names, addresses', 'C-100,Ada,ada@example.com\nC-101,Bob,bob@example.com\n'],
    ['numbers as ids', '1,Ada,Lovelace\n2,Bob,Meyer\n'],
    ['days', '2024-01-01,Ada,12.5\n2024-01-02,Bob,13.5\n'],
    ['phones', '+49 30 1234567,Ada\n+49 30 1234568,Bob\n'],
    ['German', 'K-1;Jürgen;juergen@example.de\nK-2;Änne;aenne@example.de\n'],
    ['Japanese', 'C001,花子,hanako@example.jp\nC002,太郎,taro@example.jp\n'],
    ['Arabic', 'C001,أحمد,ahmed@example.com\nC002,سارة,sara@example.com\n'],
    ['Hindi', 'C001,अनीता,anita@example.in\nC002,रवि,ravi@example.in\n'],
    ['French', 'Émile,01/02/1990\nZoé,03/04/1991\n'],
    ['one column of addresses', 'ada@example.com\nbob@example.com\n'],
    [
      'UUIDs',
      '0b1f7c1e-9d3e-4c57-8f0a-2d1c3b4a5e6f,Ada\n1b1f7c1e-9d3e-4c57-8f0a-2d1c3b4a5e6f,Bob\n',
    ],
    ['URLs', 'https://acme.example,Acme\nhttps://globex.example,Globex\n'],
    ['ids of one shape', 'AB-17,Ada\nAB-18,Bob\n'],
    ['amounts', 'Ada,€12.50\nBob,€13.75\n'],
  ])('%s', (_, text) => {
    const sample = sampleOf(text, text.includes(';') ? ';' : ',')
    const doubt = headerDoubt(sample, targets)
    expect(doubt).toMatch(/^the first line looks like data/)
    for (const cell of sample.columns.filter(({ length }) => length > 2))
      expect(doubt).not.toContain(cell)
  })

  it.each([
    ['a usual header', 'id,first name,email\n1,Ada,ada@example.com\n'],
    ['years as names', 'Customer ID,First Name,2023,2024\nC1,Ada,12,13\nC2,Bob,14,15\n'],
    ['questions', 'Respondent ID,Q1,Q2\nR1,A3,B2\nR2,A4,B1\n'],
    [
      'numbered names',
      'E-Mail 1,E-Mail 2\na@example.com,b@example.com\nc@example.com,d@example.com\n',
    ],
    ['Japanese', '顧客番号,名,メールアドレス\nC1,花子,hanako@example.jp\n'],
    ['Hindi', 'नाम,शहर\nअनीता,दिल्ली\n'],
    ['Arabic', 'الاسم,المدينة\nأحمد,القاهرة\n'],
    ['words that nobody knows', 'qwe,rtz\n1,2\n'],
  ])('%s is a header', (_, text) => {
    expect(headerDoubt(sampleOf(text), targets)).toBeNull()
  })
})

const sampled = (bytes: Buffer | string) => {
  const file = join(folder(), 'contacts.csv')
  writeFileSync(file, bytes)
  return readCsvSample(file)
}

/** Bytes of a code page, for the letters that a test has. */
const inPage = (label: string, text: string): Buffer => {
  const decoder = new TextDecoder(label)
  const bytes = new Map<string, number>()
  for (let byte = 255; byte >= 0; byte -= 1) bytes.set(decoder.decode(Uint8Array.of(byte)), byte)
  return Buffer.from([...text].map((letter) => bytes.get(letter)!))
}

describe('encodings', () => {
  it.each([
    ['windows-1251', 'id,name\n1,Иван Петров\n2,Анна Смирнова\n'],
    ['koi8-r', 'id,name\n1,Иван Петров\n2,Анна Смирнова\n'],
    ['windows-1250', 'id,name\n1,Łukasz Żółty\n2,Zofia Wiśniewska\n'],
    ['windows-1253', 'id,name\n1,Γιώργος\n2,Μαρία\n'],
    ['windows-1255', 'id,name\n1,שלום\n2,דוד\n'],
    ['windows-1256', 'id,name\n1,أحمد\n2,سارة\n'],
    ['windows-874', 'id,name\n1,สมชาย\n2,มาลี\n'],
    ['macintosh', 'id,name\n1,Jürgen Müller\n2,Zoë Groß\n'],
    ['ibm866', 'id,name\n1,Иван Петров\n2,Анна Смирнова\n'],
  ])('%s waits', async (label, text) => {
    const { dialect, waiting } = await sampled(inPage(label, text))
    expect(dialect).toEqual({})
    expect(waiting?.dialect.encoding).toBeDefined()
  })

  it.each([
    ['German', 'id,name\n1,Jürgen Groß\n2,Änne Müller\n'],
    ['French', 'id,name\n1,Zoé Lefèvre\n2,François Garçon\n'],
    ['Spanish', 'id,name\n1,Íñigo Núñez\n2,José Muñoz\n'],
  ])('windows-1252 in %s is active', async (_, text) => {
    const { dialect, waiting } = await sampled(inPage('windows-1252', text))
    expect({ dialect, waiting }).toEqual({ dialect: { encoding: 'windows-1252' }, waiting: null })
  })

  it.each([
    'MÃ¼ller',
    'JosÃ©',
    'Ã–sterreich',
    'GroÃŸ',
    'itâ€™s',
    'â€œHiâ€\u009d',
    'Â£5',
    'ÐœÐ¾ÑÐºÐ²Ð°',
  ])('%s is damaged', async (name) => {
    const { warnings } = await sampled(`id,name\n1,${name}\n2,Ada\n`)
    expect(warnings.join()).toMatch(/1 row has letters that were damaged before/)
    expect(warnings.join()).not.toContain(name)
  })

  it.each(['Müller', 'SÃO PAULO', 'Âge', 'Île-de-France', 'Москва', '£5'])(
    '%s is not',
    async (name) => {
      expect((await sampled(`id,name\n1,${name}\n`)).warnings).toEqual([])
    },
  )
})

describe('words for no value', () => {
  it.each([
    ['1,#N/A\n2,b\n', ['#N/A']],
    ['1,#NV\n2,#BEZUG!\n', ['#NV', '#BEZUG!']],
    ['1,#N/D\n2,#VALEUR!\n', ['#N/D', '#VALEUR!']],
    ['1,#DIV/0!\n2,#NAME?\n', ['#DIV/0!', '#NAME?']],
    ['1,\\N\n2,b\n', ['\\N']],
    ['NULL,NULL\n2,b\n', ['NULL']],
    ['n/a,n/a\n2,b\n', ['n/a']],
  ])('%j: %j are active', async (rows, nulls) => {
    const { dialect, waiting } = await sampled(`id,name\n${rows}`)
    expect({ dialect, waiting }).toEqual({ dialect: { nulls }, waiting: null })
  })

  it.each([
    ['1,null\n2,null\n3,b\n', ['null']],
    ['1,None\n2,None\nNone,b\n', ['None']],
    ['1,-\n2,-\n-,b\n', ['-']],
    ['1,nan\n2,nan\n3,#N/A\n', ['#N/A', 'nan']],
  ])('%j: %j waits', async (rows, nulls) => {
    const { dialect, waiting } = await sampled(`id,name\n${rows}`)
    expect(waiting?.dialect.nulls).toEqual(nulls)
    expect(dialect.nulls ?? []).not.toEqual(nulls)
  })

  it.each(['1,NA\n2,NA\n', '1,Null\n2,b\n', '1,Nan Goldin\n2,Nil\n'])(
    '%j are values',
    async (rows) => {
      expect(await sampled(`id,name\n${rows}`)).toMatchObject({ dialect: {}, waiting: null })
    },
  )
})

describe('the last row', () => {
  it.each(['Totals:,,11', 'Summe,,11', 'Total général,,11', '合計,,11', 'Grand total,,11'])(
    '%s waits as a footer',
    async (last) => {
      const { rows, waiting, dialect } = await sampled(
        `id,name,score\nT1,Ada,5\nT2,Bob,6\n${last}\n`,
      )
      expect({ rows: rows.length, waiting: waiting?.dialect, dialect }).toEqual({
        rows: 2,
        waiting: { footer: 1 },
        dialect: {},
      })
    },
  )

  it('rows of nothing are none', async () => {
    const { rows } = await sampled('id,name\nT1,Ada\n , \n,\u00a0\nT2,Bob\n,\n,\n')
    expect(rows.map(([id]) => id)).toEqual(['T1', 'T2'])
  })
})
