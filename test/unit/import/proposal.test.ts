// What `init` proposes for files as people export them, against the types of the service.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileMapping, proposeImport, withAnswer } from '../../../src/import/index.ts'
import type { ImportConfig } from '../../../config/index.ts'
import type { Proposal } from '../../../src/import/index.ts'
import { wordsOfName } from '../../../src/import/proposal/words.ts'
import { file, sampleOf, targets } from './proposal-scene.ts'

function proposed(name: string, text: string, delimiter = ','): Proposal {
  const found = proposeImport(sampleOf(text, delimiter), targets, { name })
  if (found === null) throw new Error('expected a proposal')
  return found
}

/** `column → property settings`, as short as it can be read. */
const mapped = ({ properties }: Proposal): Record<string, unknown> =>
  Object.fromEntries(
    properties.map(({ property, column, settings }) => [
      property,
      Object.keys(settings).length === 0 ? column : { column, ...settings },
    ]),
  )
const leftOf = ({ left }: Proposal) =>
  Object.fromEntries(left.map(({ column, reason }) => [column, reason]))
const openOf = ({ open }: Proposal) =>
  Object.fromEntries(open.map(({ property, column, reason }) => [property, `${column}: ${reason}`]))

const day = (index: number) => String((index % 28) + 1).padStart(2, '0')
const month = (index: number) => String((index % 12) + 1).padStart(2, '0')

describe('a German Excel export', () => {
  const text = file(
    'Kundennr.;Vorname;Nachname;E-Mail-Adresse;Telefon;Geburtsdatum;Umsatz gesamt;Newsletter;PLZ;Bemerkung',
    30,
    (i) => [
      `K-${1000 + i}`,
      'Jürgen',
      'Groß',
      `kunde${i}@example.de`,
      `+49 30 ${100_000 + i}`,
      `${day(i)}.${month(i)}.1980`,
      `${100 + i},50`,
      i % 2 ? 'ja' : 'nein',
      `0${1000 + i}`,
      'ruft zurück',
    ],
    ';',
  )

  it('is of contacts, by its words, its days, its comma and its yes and no', () => {
    const proposal = proposed('Kundenliste 2026', text, ';')
    expect(proposal.objectType).toBe('svc_contact')
    expect(proposal.key).toMatchObject({ property: 'svc_external_id', column: 'Kundennr.' })
    expect(mapped(proposal)).toEqual({
      svc_external_id: 'Kundennr.',
      svc_first_name: 'Vorname',
      svc_last_name: 'Nachname',
      svc_email: 'E-Mail-Adresse',
      svc_phone: 'Telefon',
      svc_birthday: { column: 'Geburtsdatum', format: 'DD.MM.YYYY' },
      svc_subscribed: { column: 'Newsletter', true: ['ja'], false: ['nein'] },
      svc_notes: 'Bemerkung',
    })
    expect(leftOf(proposal)['PLZ']).toBe('no property has such a name')
    expect(proposal.keyReason).toBe('unique at the service; each of 30 rows has a value of its own')
  })
})

describe('an export of Salesforce', () => {
  const text = file(
    'Id,FirstName,LastName,Email,MobilePhone,Title,Birthdate,LeadSource,OwnerId,CreatedDate,Description,Lifetime_Value__c,CurrencyIsoCode',
    20,
    (i) => [
      `003xx00000${i}AAA`,
      'Ada',
      'Lovelace',
      `ada${i}@example.com`,
      '',
      'CTO',
      `19${70 + i}-0${(i % 9) + 1}-1${i % 10}`,
      'Web',
      '005xx000001',
      '2026-01-31T08:15:00.000Z',
      'met at a fair',
      `${i * 10}.25`,
      i % 2 ? 'USD' : 'EUR',
    ],
  )

  it('has its id as the key, and the column of units next to the amount', () => {
    const proposal = proposed('contacts', text)
    expect(proposal.objectType).toBe('svc_contact')
    expect(mapped(proposal)).toEqual({
      svc_external_id: 'Id',
      svc_first_name: 'FirstName',
      svc_last_name: 'LastName',
      svc_email: 'Email',
      svc_job_title: 'Title',
      svc_birthday: 'Birthdate',
      svc_notes: 'Description',
      svc_lifetime_value: { column: 'Lifetime_Value__c', unit_column: 'CurrencyIsoCode' },
    })
    expect(leftOf(proposal)).toMatchObject({
      OwnerId: 'svc_owner takes ids of users of the service',
      CreatedDate: 'svc_created_at is read-only',
    })
    expect(openOf(proposal)['svc_source']).toContain('can be set once only')
    expect(leftOf(proposal)).not.toHaveProperty('CurrencyIsoCode')
  })
})

describe('an export of HubSpot', () => {
  const text = file(
    'Record ID,First Name,Last Name,Email,Phone Number,Contact owner,Lifecycle Stage,Associated Company,Last Activity Date,Website URL',
    12,
    (i) => [
      90_000 + i,
      'Grace',
      'Hopper',
      `grace${i}@example.com`,
      `(555) 010-${1000 + i}`,
      'Anna Schmidt',
      ['Lead', 'Customer', 'Subscriber'][i % 3]!,
      'Navy',
      `2026-02-0${(i % 9) + 1} 10:0${i % 10}`,
      'https://example.com',
    ],
  )

  it('has options by their labels; times without a zone are a question', () => {
    const proposal = proposed('hubspot-crm-exports-all-contacts-2026-02-01', text)
    expect(mapped(proposal)).toEqual({
      svc_external_id: 'Record ID',
      svc_first_name: 'First Name',
      svc_last_name: 'Last Name',
      svc_email: 'Email',
      svc_phone: 'Phone Number',
      svc_lifecycle_stage: 'Lifecycle Stage',
      svc_website: 'Website URL',
    })
    expect(proposal.open).toMatchObject([
      {
        property: 'svc_last_contacted_at',
        settings: { zone: 'UTC' },
        question: { about: 'zone' },
      },
    ])
    expect(openOf(proposal)['svc_last_contacted_at']).toContain('where it says UTC')
    expect(leftOf(proposal)['Associated Company']).toBe('no property has such a name')
  })
})

describe('days with slashes', () => {
  const withDays = (days: readonly string[]) =>
    file('id,first_name,last_name,date of birth', days.length, (i) => [i, 'A', 'B', days[i]!])

  it('whose order no row shows are a question, in both orders', () => {
    const proposal = proposed('contacts', withDays(['03/04/1990', '05/06/1991', '12/11/1992']))
    expect(mapped(proposal)).not.toHaveProperty('svc_birthday')
    const [open] = proposal.open
    expect(open?.question).toMatchObject({
      about: 'days',
      answers: [{ format: 'DD/MM/YYYY' }, { format: 'MM/DD/YYYY' }],
    })
    const answered = withAnswer(proposal, open!, open!.question!.answers[1]!)
    expect(mapped(answered)['svc_birthday']).toEqual({
      column: 'date of birth',
      format: 'MM/DD/YYYY',
    })
    expect(answered.open).toEqual([])
  })

  it('are read as the one row shows that has a day above 12', () => {
    const american = proposed('contacts', withDays(['03/04/1990', '05/26/1991']))
    expect(mapped(american)['svc_birthday']).toMatchObject({ format: 'MM/DD/YYYY' })
    const german = proposed('contacts', withDays(['3/4/1990', '26/5/1991']))
    expect(mapped(german)['svc_birthday']).toMatchObject({ format: 'D/M/YYYY' })
  })

  it('are read as those of another column of the file', () => {
    const text = file('id,first_name,birthday,joined', 3, (i) => [
      i,
      'A',
      `0${i + 1}/04/1990`,
      `${20 + i}/05/2020`,
    ])
    expect(mapped(proposed('contacts', text))['svc_birthday']).toMatchObject({
      format: 'DD/MM/YYYY',
    })
  })

  it('with points have the day first, because nobody writes it otherwise', () => {
    const proposal = proposed('contacts', withDays(['03.04.1990', '05.06.1991']))
    expect(mapped(proposal)['svc_birthday']).toMatchObject({ format: 'DD.MM.YYYY' })
  })

  it('without a year, or with times, are not mapped, and the reason says so', () => {
    const times = withDays(['1990-12-31 08:15:00', '1991-11-30 09:00:00'])
    expect(leftOf(proposed('contacts', times))['date of birth']).toBe(
      'svc_birthday takes days, and the cells have times other than midnight as well',
    )
    expect(leftOf(proposed('contacts', withDays(['12/31', '--11-30'])))['date of birth']).toBe(
      'svc_birthday takes days, and the cells have no year',
    )
  })
})

describe('numbers', () => {
  const companies = (amounts: readonly string[], extra = amounts.map(() => '1')) =>
    file(
      'company_id;company name;annual revenue (EUR);score',
      amounts.length,
      (i) => [`c${i}`, `Firm ${i}`, amounts[i]!, extra[i]!],
      ';',
    )

  it('with a decimal comma say so, and the name of the column has the unit', () => {
    const proposal = proposed('companies', companies(['1200,50', '7,1', '33']), ';')
    expect(proposal.objectType).toBe('svc_company')
    expect(mapped(proposal)).toEqual({
      svc_external_id: 'company_id',
      svc_name: 'company name',
      svc_annual_revenue: { column: 'annual revenue (EUR)', decimal: ',', unit: 'EUR' },
      svc_score: 'score',
    })
  })

  it.each([
    [['1.234', '33.500'], { decimal: ',', thousands: '.' }, {}],
    [['1,234', '33,500'], { thousands: ',' }, { decimal: ',' }],
  ])('%j may have separators of thousands: a question', (amounts, thousands, decimals) => {
    const proposal = proposed('companies', companies(amounts), ';')
    const unit = { unit: 'EUR' }
    expect(proposal.open).toMatchObject([
      {
        property: 'svc_annual_revenue',
        question: {
          about: 'marks',
          answers: [
            { ...thousands, ...unit },
            { ...decimals, ...unit },
          ],
        },
      },
    ])
    const shown = companies(amounts, ['1,5', '2,25'])
    expect(mapped(proposed('companies', shown, ';'))['svc_annual_revenue']).toEqual({
      column: 'annual revenue (EUR)',
      ...(amounts[0]!.includes('.') ? thousands : decimals),
      ...unit,
    })
  })

  it.each([
    [['1.200,50', '33.500,00'], { decimal: ',', thousands: '.' }],
    [['1,200.50', '7'], { thousands: ',' }],
    [['1.234', '0.500'], {}],
    [['1,234', '0,500'], { decimal: ',' }],
    [['1.234.567', '1.000'], { decimal: ',', thousands: '.' }],
    [["1'200.50", "33'500"], { thousands: "'" }],
    [['1 200,50', '33 500,00'], { decimal: ',', thousands: ' ' }],
    [['1.200,50 €', '3,00 €'], { decimal: ',', thousands: '.', symbol: '€' }],
    [['€5', '-€7.25'], { symbol: '€' }],
    [['EUR 5', 'EUR 1,200.00'], { thousands: ',', symbol: 'EUR' }],
  ])('%j show their separators and signs', (amounts, settings) => {
    expect(mapped(proposed('companies', companies(amounts), ';'))['svc_annual_revenue']).toEqual({
      column: 'annual revenue (EUR)',
      ...settings,
      unit: 'EUR',
    })
  })

  it('whose sign is that of one currency have it', () => {
    const text = file('deal id,deal name,deal value,stage', 3, (i) => [i, 'x', `£1${i}.50`, 'won'])
    expect(mapped(proposed('opportunities', text))['svc_deal_value']).toEqual({
      column: 'deal value',
      symbol: '£',
      unit: 'GBP',
    })
    const dollars = proposed('opportunities', text.replaceAll('£', '$'))
    expect(dollars.open).toMatchObject([{ question: { about: 'unit' } }])
  })

  it.each(['k', ' Mio', '−'])('with %j are not read without it', (mark) => {
    const at = (i: number) => [i, 'x', mark === '−' ? `−1${i}.50` : `1${i}.50${mark}`, 'won']
    const proposal = proposed('opportunities', file('deal id,deal name,deal value,stage', 3, at))
    expect(JSON.stringify(proposal)).not.toContain('"symbol"')
  })

  it('without a currency are a question', () => {
    const text = file('deal id,deal name,deal value,stage', 3, (i) => [i, 'x', '10.5', 'won'])
    const proposal = proposed('opportunities', text)
    expect(proposal.objectType).toBe('svc_deal')
    expect(proposal.open).toMatchObject([
      { property: 'svc_deal_value', question: { about: 'unit' } },
    ])
    expect(mapped(proposal)['svc_stage']).toBe('stage')
  })
})

describe('times and midnights', () => {
  const contacts = (name: string, cells: readonly string[]) =>
    proposed(
      'contacts',
      file(`id,first name,${name}`, cells.length, (i) => [i, 'A', `"${cells[i]}"`]),
    )

  it.each([
    ['last contacted', ['2024-03-01 14:22', '2024-03-02 0:00'], { zone: 'UTC' }],
    [
      'last contacted',
      ['31.03.2024, 14:22', '01.03.2024, 09:00'],
      { format: 'DD.MM.YYYY', zone: 'UTC' },
    ],
  ])('%s as %j waits for its zone', (name, cells, settings) => {
    const [open] = contacts(name, cells).open
    expect(open).toMatchObject({ settings, question: { about: 'zone' } })
  })

  it('of UTC by the name, and with an offset, are mapped', () => {
    expect(mapped(contacts('Last contact (UTC)', ['2024-03-01 14:22:09']))).toMatchObject({
      svc_last_contacted_at: { column: 'Last contact (UTC)', zone: 'UTC' },
    })
    const offsets = ['2024-03-01 14:22:09 +0100', '2024-03-01 14:22:09.123+00']
    expect(mapped(contacts('last contact', offsets))['svc_last_contacted_at']).toBe('last contact')
  })

  it('whose days and months are in doubt ask for both', () => {
    const [open] = contacts('last contact', ['3/4/2024 2:22 PM']).open
    expect(open!.question).toMatchObject({
      about: 'days',
      answers: [
        { format: 'D/M/YYYY', zone: 'UTC' },
        { format: 'M/D/YYYY', zone: 'UTC' },
      ],
    })
    expect(open!.reason).toContain('and the times have no zone')
  })

  it.each([
    [['1990-12-31 00:00:00', '1991-11-30 00:00:00'], 'YYYY-MM-DD 00:00:00'],
    [['31.12.1990 00:00', '30.11.1991 00:00'], 'DD.MM.YYYY 00:00'],
    [['1990-12-31T00:00:00.000Z'], 'YYYY-MM-DDT00:00:00.000Z'],
  ])('%j are days with midnight behind them', (cells, format) => {
    expect(mapped(contacts('birthday', cells))['svc_birthday']).toEqual({
      column: 'birthday',
      format,
    })
  })
})

describe('yes and no', () => {
  it.each([
    ['Tak', 'Nie'],
    ['Sim', 'Não'],
    ['✓', '✗'],
    ['да', 'нет'],
    ['J', 'N'],
  ])('as %s and %s', (yes, no) => {
    const text = file('id,first name,newsletter', 4, (i) => [i, 'A', i % 2 ? yes : no])
    expect(mapped(proposed('contacts', text))['svc_subscribed']).toMatchObject({
      true: [yes.toLowerCase()],
      false: [no.toLowerCase()],
    })
  })

  it('as a mark and nothing else says what nothing means', () => {
    const text = file('id,first name,newsletter', 4, (i) => [i, 'A', i % 2 ? 'x' : ''])
    const found = proposed('contacts', text).properties.find(
      ({ column }) => column === 'newsletter',
    )
    expect(found?.reason).toContain('an empty cell leaves it alone and does not mean no')
  })
})

it('domains as URLs are read as domains, also as the key', () => {
  const text = file('name,domain', 4, (i) => [
    `Firm ${i}`,
    [`https://www.a${i}.example/`, `a${i}.example`, `WWW.a${i}.example`][i % 3]!,
  ])
  const proposal = proposed('companies', text)
  expect(proposal.key).toMatchObject({ property: 'svc_domain', column: 'domain' })
  expect(mapped(proposal)['svc_domain']).toEqual({ column: 'domain', type: 'domain' })
  const plain = file('name,domain', 2, (i) => [`Firm ${i}`, `a${i}.example`])
  expect(mapped(proposed('companies', plain))['svc_domain']).toBe('domain')
})

describe('an export of pandas', () => {
  it('has its unnamed column left, and True and False read', () => {
    const text = file('Unnamed: 0,contact_id,given_name,surname,opted_in,phone', 5, (i) => [
      i,
      `${500 + i}.0`,
      'A',
      'B',
      i % 2 ? 'True' : 'False',
      `4930${100_000 + i}.0`,
    ])
    const proposal = proposed('df', text)
    expect(mapped(proposal)).toMatchObject({
      svc_external_id: 'contact_id',
      svc_first_name: 'given_name',
      svc_last_name: 'surname',
      svc_subscribed: 'opted_in',
    })
    expect(leftOf(proposal)).toHaveProperty(['Unnamed: 0'])
  })
})

describe('lists', () => {
  const text = file(
    'id;  First Name ;E-Mails;Tags',
    4,
    (i) => [
      i,
      'A',
      i === 0 ? 'a@example.com|b@example.com' : `c${i}@example.com`,
      i === 1 ? 'vip|press' : 'customer',
    ],
    ';',
  )

  it('get the separator that makes all of their parts fit; spaces in headers stay', () => {
    expect(mapped(proposed('people', text, ';'))).toMatchObject({
      svc_first_name: '  First Name ',
      svc_email: { column: 'E-Mails', split: '|' },
      svc_tags: { column: 'Tags', split: '|' },
    })
  })
})

describe('the key', () => {
  it('is a unique property first; another one that is possible is named', () => {
    const text = file('id,name,domain', 5, (i) => [i, `Firm ${i}`, `firm${i}.example`])
    const proposal = proposed('accounts', text)
    expect(proposal.key).toMatchObject({ property: 'svc_external_id', column: 'id' })
    expect(proposal.otherKeys).toMatchObject([{ property: 'svc_domain', column: 'domain' }])
  })

  it('is the address where there is no number, and says that the service does not keep it unique', () => {
    const text = file('First name,Name,Email', 5, (i) => ['A', 'B', `a${i}@example.com`])
    const proposal = proposed('contacts', text)
    expect(proposal.key).toMatchObject({ property: 'svc_email', column: 'Email', isUnique: false })
    expect(proposal.keyReason).toContain('a value that two records share is refused')
    // A name that shares words with many others is none of them.
    expect(leftOf(proposal)).toEqual({ Name: 'no property has such a name' })
  })

  it('may have a few empty and repeated values, which are counted', () => {
    const text = file('id,first name', 100, (i) => [i === 7 ? '' : i === 8 ? 9 : i, 'A'])
    expect(proposed('contacts', text).keyReason).toBe(
      'unique at the service; of 100 rows, 1 row has none and 1 row repeats one',
    )
  })

  it('is missing where no column has a value of its own in each row', () => {
    const text = file('first name,last name,customer no', 20, (i) => ['A', 'B', i % 5])
    const proposal = proposed('contacts', text)
    expect(proposal.key).toBeNull()
    expect(proposal.nearKeys).toMatchObject([
      {
        property: 'svc_external_id',
        column: 'customer no',
        reason: 'of 20 rows, 15 rows repeat one',
      },
    ])
    expect(mapped(proposal)).toMatchObject({ svc_first_name: 'first name' })
  })

  it('is what a person chooses, whatever its values are', () => {
    const sample = sampleOf(file('name,kind', 3, () => ['A', 'B']))
    const key = { property: 'svc_external_id', column: 'kind' }
    expect(proposeImport(sample, targets, { name: 'companies', key })).toMatchObject({
      objectType: 'svc_company',
      key: { ...key, empty: 0, repeated: 2 },
      properties: [{ property: 'svc_external_id', column: 'kind' }, { property: 'svc_name' }],
    })
  })
})

it('a column of blanks waits for a person, each property once; an amount keeps a unit', () => {
  const text = file('id,first_name,job title,position,lifetime value', 3, (i) => [
    i,
    'A',
    ' ',
    '',
    '',
  ])
  const proposal = proposed('contacts', text)
  expect(openOf(proposal)).toEqual({
    svc_job_title: 'job title: every cell is empty',
    svc_lifetime_value: 'lifetime value: every cell is empty',
  })
  expect(proposal.open[1]!.settings).toEqual({ unit: 'EUR' })
  expect(leftOf(proposal)).toEqual({ position: 'svc_job_title gets column "job title"' })
})

it('options that do not fit are named', () => {
  const text = file('id,first_name,lifecycle stage', 3, (i) => [i, 'A', 'y'])
  expect(leftOf(proposed('contacts', text))).toEqual({
    'lifecycle stage':
      'svc_lifecycle_stage takes subscriber, lead, opportunity, customer, former; `map` of a mapping says what other values become',
  })
})

it('nothing is proposed where no column fits', () => {
  expect(proposeImport(sampleOf('qwe,rtz\n1,2\n'), targets, { name: 'x' })).toBeNull()
})

it.each([
  ['E-Mail-Adresse', 'email adresse'],
  ['EMailAddress', 'email address'],
  ['E-mail 1 - Value', 'email 1 value'],
  ['ईमेल पता', 'ईमेल पता'],
  ['メールアドレス', 'メールアドレス'],
  ['FirstName', 'first name'],
  ['IDNumber', 'id number'],
  ['Straße / Nr.', 'strasse nr'],
  ['Date of Birth', 'date birth'],
  ['Lifetime_Value__c', 'lifetime value'],
  ['Gegründet am', 'gegrundet'],
])('%j has the words %j', (name, words) => {
  expect(wordsOfName(name).join(' ')).toBe(words)
})

/** Cells of the kinds that columns have, and anything. */
const cell = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '',
    ' ',
    'ja',
    'nein',
    'true',
    'x',
    '1.234',
    '1,5',
    '12',
    'EUR',
    'won',
    'vip|press',
  ),
  fc.constantFrom('03/04/2020', '31.12.2020', '2020-02-30', '2026-01-31T08:15:00Z', '20200101'),
  fc.emailAddress(),
)
const names = targets.flatMap(({ schema }) =>
  schema.properties.flatMap(({ name, label }) => [name, label, name.slice(4)]),
)
const header = fc.uniqueArray(
  fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })),
  { minLength: 1, maxLength: 12 },
)
const table = header.chain((columns) =>
  fc.record({
    columns: fc.constant(columns),
    rows: fc.array(fc.array(cell, { minLength: columns.length, maxLength: columns.length }), {
      minLength: 1,
      maxLength: 12,
    }),
  }),
)

it('no cell is in a reason', () => {
  const text = file('id,First Name,born,stage,score,tags', 5, (i) => [
    `Zaphod${i}`,
    'Zaphod',
    i === 0 ? 'Zaphod' : '2020-01-01',
    'Zaphod',
    'Zaphod',
    'Zaphod',
  ])
  expect(JSON.stringify(proposed('contacts', text))).not.toContain('Zaphod')
})

it('what is proposed compiles, and maps each property once', () => {
  let compiled = 0
  fc.assert(
    fc.property(table, fc.string({ maxLength: 10 }), (sample, name) => {
      const proposal = proposeImport(sample, targets, { name })
      if (proposal === null) return
      const places = [...proposal.properties, ...proposal.open, ...proposal.left].map(
        ({ column }) => column,
      )
      const target = targets.find(({ schema }) => schema.name === proposal.objectType)!
      for (const column of places) expect(sample.columns).toContain(column)
      const properties = [...proposal.properties, ...proposal.open].map(({ property }) => property)
      expect(new Set(properties).size).toBe(properties.length)
      if (proposal.key === null) return
      compiled += 1
      const config = {
        from: { csv: 'x.csv' },
        to: 'crm',
        object_type: proposal.objectType,
        matching_property: proposal.key.property,
        mode: 'upsert',
        empty: 'omit',
        verify: 'sample',
        properties: Object.fromEntries(
          proposal.properties.map(({ property, column, settings }) => [
            property,
            { column, ...settings },
          ]),
        ),
      } as ImportConfig
      compileMapping('x', config, target, sample.columns)
      // With every open one mapped as it stands, too.
      for (const { property, column, settings } of proposal.open)
        compileMapping(
          'x',
          { ...config, properties: { ...config.properties, [property]: { column, ...settings } } },
          target,
          sample.columns,
        )
    }),
    { numRuns: 100 },
  )
  expect(compiled).toBeGreaterThan(10)
})
