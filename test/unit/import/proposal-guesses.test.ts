// What `init` may guess and what it leaves to a person: signs, parentheses, guards of a spreadsheet, names that say the contrary or name
// somebody else. Each variant has the line that is active, or that none is.

import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { proposeImport, type Proposal, type Target } from '../../../src/import/index.ts'
import { readSchemaFile } from '../../../src/service/index.ts'
import { fieldTypes } from './proposal-scene.ts'

const schemaFile = fileURLToPath(new URL('../../fixtures/files/schema.json', import.meta.url))
const targets: readonly Target[] = [...readSchemaFile(schemaFile).types.values()]
  .filter(({ schema }) => schema.writable_operations.includes('create'))
  .map(({ schema }) => ({ self: { org_id: 1, reach: 'org' }, schema, fieldTypes }))

/** The proposal for contacts with a key, and one more column of these cells. */
function proposedFor(name: string, cells: readonly string[]): Proposal {
  const columns = ['Customer ID', 'Vorname', name]
  const rows = cells.map((cell, at) => [`K${at + 1}`, `N${at}`, cell])
  return proposeImport({ columns, rows }, targets, { name: 'contacts' })!
}

/** `property settings` of the column, active or waiting; null: neither. */
function lineOf(list: Proposal['properties'] | Proposal['open'], column: string): string | null {
  const found = list.find((one) => one.column === column)
  return found === undefined
    ? null
    : `${found.property.replace(/^svc_/, '')} ${JSON.stringify(found.settings).replaceAll('"', '')}`
}

const shown = (name: string, cells: readonly string[]) => {
  const { properties, open } = proposedFor(name, cells)
  return { active: lineOf(properties, name), waits: lineOf(open, name) }
}

describe('amounts of which two currencies are said', () => {
  it.each<[string, string[]]>([
    ['Revenue (USD)', ['150.00 EUR', '20.00 EUR']],
    ['Revenue (USD)', ['€1,500.00', '€20.00']],
    ['Revenue (€)', ['$1,500.00', '$20.00']],
    ['Revenue (£)', ['1,500.00 EUR', '20.00 EUR']],
    ['Revenue (JPY)', ['₹150', '₹2000']],
    ['Revenue (EUR)', ['¥150', '¥2000']],
  ])('%s %j waits', (name, cells) => {
    expect(shown(name, cells)).toMatchObject({ active: null, waits: expect.any(String) })
  })
})

describe('amounts', () => {
  it.each<[string, string, string[], string | null]>([
    ['below zero, before', 'Score', ['-5', '7', '-8'], 'score {}'],
    ['with plus', 'Score', ['+5', '+7'], 'score {}'],
    [
      'German, with €',
      'Revenue',
      ['1.234,50 €', '-950,00 €'],
      'revenue {decimal:,,thousands:.,symbol:€,unit:EUR}',
    ],
    [
      'French, with €',
      'Revenue',
      ['-1 234,50 €', '950,00 €'],
      'revenue {decimal:,,thousands: ,symbol:€,unit:EUR}',
    ],
    [
      'minus behind the sign',
      'Revenue (USD)',
      ['$-1200.00', '$2000.00'],
      'revenue {symbol:$,unit:USD}',
    ],
    [
      'minus before the sign',
      'Revenue (USD)',
      ['-$1200.00', '$2000.00'],
      'revenue {symbol:$,unit:USD}',
    ],
    ['Arabic digits', 'Score', ['٥', '٧'], 'score {}'],
    [
      'rupees with a point',
      'Revenue (INR)',
      ['Rs.1,500.50', 'Rs. 20.00'],
      'revenue {thousands:,,symbol:Rs.,unit:INR}',
    ],
    [
      'kroner with a point',
      'Revenue (DKK)',
      ['1.200,50 kr.', '20,00 kr.'],
      'revenue {decimal:,,thousands:.,symbol:kr.,unit:DKK}',
    ],
    ['full width', 'Revenue (JPY)', ['¥１２００', '¥３４'], 'revenue {symbol:¥,unit:JPY}'],
    ['a code', 'Revenue', ['CHF 12.50', 'CHF -3.00'], 'revenue {symbol:CHF,unit:CHF}'],
    ['yen', 'Revenue (JPY)', ['¥1,200', '¥3,400,500'], 'revenue {thousands:,,symbol:¥,unit:JPY}'],
    [
      'minus behind',
      'Revenue (EUR)',
      ['1200.00-', '50.00-', '2000.00'],
      'revenue {negative:trailing,unit:EUR}',
    ],
    [
      'minus behind, thousands',
      'Revenue (EUR)',
      ['1,200.00-', '50.00-', '2,000.00'],
      'revenue {thousands:,,negative:trailing,unit:EUR}',
    ],
    [
      'minus behind, German',
      'Revenue (EUR)',
      ['1.200,00-', '50,00-'],
      'revenue {decimal:,,thousands:.,negative:trailing,unit:EUR}',
    ],
    [
      'minus behind, all',
      'Revenue (EUR)',
      ['50.00-', '60.00-', '70.00-'],
      'revenue {negative:trailing,unit:EUR}',
    ],
    ['minus behind, numbers', 'Score', ['5-', '7-'], 'score {negative:trailing}'],
    [
      'minus behind and €',
      'Revenue',
      ['50,00- €', '7,00 €'],
      'revenue {decimal:,,symbol:€,negative:trailing,unit:EUR}',
    ],
    ['parentheses', 'Score', ['(30)', '45'], 'score {negative:parentheses}'],
    [
      'parentheses with $',
      'Revenue (USD)',
      ['($30.00)', '$45.00'],
      'revenue {symbol:$,negative:parentheses,unit:USD}',
    ],
    [
      'parentheses behind $',
      'Revenue (USD)',
      ['$(30.00)', '$45.00'],
      'revenue {symbol:$,negative:parentheses,unit:USD}',
    ],
    ['U+2212', 'Score', ['−5', '7'], 'score {}'],
  ])('%s: active', (_, name, cells, active) => {
    expect(shown(name, cells)).toEqual({ active, waits: null })
  })

  it.each<[string, string, string[], string | null]>([
    ['all in parentheses', 'Score', ['(30)', '(45)'], 'score {negative:parentheses}'],
    ['less than', 'Score', ['<5', '<10'], 'score {symbol:<}'],
    ['about', 'Score', ['~50', '~60'], 'score {symbol:~}'],
    ['a number sign', 'Score', ['#5', '#6'], 'score {symbol:#}'],
    ['percent', 'Score', ['12%', '5%'], 'score {symbol:%}'],
    ['a footnote', 'Score', ['5*', '7*'], 'score {symbol:*}'],
    ['degrees', 'Score', ['5°', '7°'], 'score {symbol:°}'],
    [
      'one wrong cell',
      'Score',
      [...Array.from({ length: 9 }, (_, at) => `${at}`), '1oo'],
      'score {}',
    ],
    ['debit', 'Revenue (EUR)', ['30.00 DR', '50.00 DR'], 'revenue {symbol:DR,unit:EUR}'],
  ])('%s: waits', (_, name, cells, waits) => {
    expect(shown(name, cells)).toEqual({ active: null, waits })
  })

  it.each<[string, string, string[]]>([
    ['credit and debit', 'Revenue (EUR)', ['1200.00 CR', '30.00 DR']],
    ['triangles', 'Revenue (JPY)', ['▲1,200', '△500', '3,400']],
    ['thousands as a letter', 'Score', ['5k', '7k']],
    ['at least', 'Score', ['5+', '7+']],
    ['two kinds of minus', 'Score', ['5-', '(7)', '3-']],
  ])('%s: left out', (_, name, cells) => {
    expect(shown(name, cells)).toEqual({ active: null, waits: null })
  })

  it('what a late row shows counts as well', () => {
    const cells = Array.from({ length: 900 }, (_, at) => `€${at}.50`)
    const active = 'revenue {symbol:€,negative:trailing,unit:EUR}'
    expect(shown('Revenue', [...cells, '€9.50-'])).toEqual({ active, waits: null })
  })
})

describe('words of yes', () => {
  it.each([
    [['O', 'X'], null],
    [['o', 'x', 'x'], null],
    [['X', 'O', '-'], null],
    [['O', '✓'], null],
    [['x', 'ja'], null],
    [['S', 'x'], null],
    [['tak', 'ja'], null],
    [['O', 'X', 'No'], null],
    [['x', 'x'], '{true:[x]}'],
    [['O', 'N'], '{true:[o],false:[n]}'],
    [['O', 'oui', 'non'], '{true:[o,oui],false:[non]}'],
    [['J', 'ja', 'nein'], '{true:[j,ja],false:[nein]}'],
    [['Y', 'Yes', 'No'], '{true:[y,yes]}'],
    [['x', '1', '0'], '{true:[x,1]}'],
    [['x', 'true'], '{true:[x,true]}'],
    [['✓', 'x'], '{true:[✓,x]}'],
    [['y', 'n'], '{true:[y],false:[n]}'],
    [['sí', 'si', 'no'], '{true:[sí,si]}'],
    [['yes', '1', 'no'], '{}'],
    [['はい', 'いいえ'], '{true:[はい],false:[いいえ]}'],
  ])('%j: active as %s', (cells, active) => {
    const found = shown('Newsletter', cells)
    expect(found.active).toBe(active === null ? null : `subscribed ${active}`)
    expect(found.waits === null).toBe(active !== null)
  })
})

describe('names', () => {
  const yesNo = ['yes', 'no', 'no']
  it.each([
    'Not subscribed',
    'Opt-out',
    'Opt Out',
    'opt_out',
    'OptOut',
    'Opt-in (declined)',
    'Was subscribed',
    'Subscribed before',
    'Unsubscribed',
    'No newsletter',
    'Never subscribed',
    'Newsletter cancelled',
    'Subscription revoked',
    'Do not subscribe',
    'Nicht abonniert',
    'Newsletter abbestellt',
    'Kein Newsletter',
    'Vom Newsletter abgemeldet',
    'Newsletter gekündigt',
    'Einwilligung widerrufen',
    'Non abonné',
    'Désabonné',
    'Pas de newsletter',
    'No suscrito',
    'Newsletter: baja',
    'Suscripción cancelada',
    '購読停止',
    '未購読',
    'メルマガ拒否',
    '退订',
    'सदस्यता समाप्त',
    'غير مشترك',
    'отписан',
  ])('%s is no consent', (name) => {
    expect(shown(name, yesNo)).toEqual({ active: null, waits: null })
  })

  it.each([
    ['Subscribed', 'subscribed'],
    ['Newsletter', 'subscribed'],
    ['Accepts email marketing', 'subscribed'],
    ['Abonniert', 'subscribed'],
    ['Abonné', 'subscribed'],
    ['購読', 'subscribed'],
    ['Opt in', 'opt_in'],
  ])('%s is %s', (name, property) => {
    expect(shown(name, yesNo)).toEqual({ active: `${property} {}`, waits: null })
  })

  const mails = ['a@example.com', 'b@example.com', 'c@example.com']
  it.each([
    'Partner Email',
    'Spouse Email',
    'Referrer Email',
    'Referred by (email)',
    'Sales rep email',
    'Owner Email',
    'Manager E-Mail',
    'Invoice Email',
    'Billing E-mail',
    'Former email',
    'Old Email',
    'Previous e-mail address',
    'Parent email',
    "Mother's e-mail",
    'Assistant email',
    'Created by (email)',
    'Rechnungs-E-Mail',
    'Rechnungsmail',
    'Alte E-Mail',
    'E-Mail (alt)',
    'E-Mail Vertriebler',
    'Ehemalige Mailadresse',
    'Partnermail',
    'Kontaktverantwortlicher',
    'E-mail du conjoint',
    'E-mail de facturation',
    'Ancien e-mail',
    'Correo de facturación',
    'Correo anterior',
    '旧メールアドレス',
    '請求先メールアドレス',
    '紹介者メール',
    '担当者メール',
    'पुराना ईमेल',
    'अभिभावक ईमेल',
    'بريد الشريك',
  ])('%s is not the address of the contact', (name) => {
    expect(shown(name, mails)).toEqual({ active: null, waits: null })
  })

  it.each([
    'Email',
    'E-Mail',
    'E-Mail-Adresse',
    'Work email',
    'Primary E-mail',
    'E-mail 1 - Value',
    'Adresse e-mail',
    'Correo electrónico',
    'メールアドレス',
    'ईमेल',
    'البريد الإلكتروني',
    'Verteiler',
  ])('%s is the address of the contact', (name) => {
    expect(shown(name, mails)).toMatchObject({ waits: null })
    expect(shown(name, mails).active).toMatch(/^email /)
  })

  it.each([
    'Email campaign',
    'Email Helpdesk',
    'Adresse der Filiale',
    'Company Email',
    'E-mail 2 - Value',
  ])('%s waits', (name) => {
    expect(shown(name, mails)).toEqual({ active: null, waits: 'email {}' })
  })

  it('of two columns with addresses and names that say nothing, none is taken', () => {
    const columns = ['Customer ID', 'Eins', 'Zwei']
    const rows = [0, 1, 2].map((at) => [`K${at}`, `a${at}@example.com`, `b${at}@example.com`])
    const { properties } = proposeImport({ columns, rows }, targets, { name: 'contacts' })!
    expect(properties.map(({ column }) => column)).toEqual(['Customer ID'])
  })

  const phones = ['+49 30 123456', '+49 30 123457', '+49 30 123458']
  it.each([
    'Emergency phone',
    'Assistant Phone',
    'Notfalltelefon',
    "Téléphone d'urgence",
    'Teléfono de emergencia',
    '緊急連絡先電話番号',
    'आपातकालीन फ़ोन',
    'هاتف الطوارئ',
    'Old phone',
  ])('%s is not the number of the contact', (name) => {
    expect(shown(name, phones)).toEqual({ active: null, waits: null })
  })

  it.each(['Previous Score', 'Old score', 'Vorherige Punkte'])('%s is not the score', (name) => {
    expect(shown(name, ['1', '2', '3'])).toEqual({ active: null, waits: null })
  })

  it.each([
    ['Jobtitel', ['Leitung', 'Einkauf', 'Vertrieb'], 'job_title {}'],
    ['Mobiltelefonnummer', phones, 'phone {}'],
    ['Lifecycle-Phase', ['lead', 'customer', 'lead'], 'lifecycle_stage {}'],
  ])('%s is known', (name, cells, active) => {
    expect(shown(name, cells)).toEqual({ active, waits: null })
  })

  it('a reason names a property only where the cells would fit it', () => {
    const columns = ['Customer ID', 'E-Mail', 'Kontaktverantwortlicher']
    const rows = [0, 1, 2].map((at) => [`K${at}`, `a${at}@example.com`, `o${at % 2}@example.com`])
    const { left } = proposeImport({ columns, rows }, targets, { name: 'contacts' })!
    expect(left.map(({ reason }) => reason).join()).not.toContain('svc_email gets')
  })
})

describe('guards of a spreadsheet', () => {
  const FORMULA = '{pattern:^=\\(?<v>.*)\\$'
  it.each<[string, string, string[], string]>([
    ['zip, all', 'Zip', ['="01569"', '="10115"', '="00042"'], `zip ${FORMULA}}`],
    ['zip, some', 'Zip', ['="01569"', '10115', ''], `zip ${FORMULA},else:keep}`],
    ['zip, apostrophes', 'Zip', ["'01569", "'10115"], "zip {pattern:^'(?<v>[+=@-].*|[\\\\d.,]+)$}"],
    [
      'zip, some apostrophes',
      'Zip',
      ["'01569", '10115'],
      "zip {pattern:^'(?<v>[+=@-].*|[\\\\d.,]+)$,else:keep}",
    ],
    [
      'phones',
      'Phone',
      ["'+49 30 1234", "'+49 30 1235"],
      "phone {pattern:^'(?<v>[+=@-].*|[\\\\d.,]+)$}",
    ],
    ['names, all', 'Last name', ["'Meyer", "'Ross"], "last_name {pattern:^'(?<v>.*)$}"],
    [
      'names of the Netherlands',
      'Last name',
      ["'t Hooft", 'Meyer', "'s Gravesande"],
      'last_name {}',
    ],
    ['numbers', 'Score', ['="5"', '="7"'], `score ${FORMULA}}`],
  ])('%s', (_, name, cells, active) => {
    expect(shown(name, cells)).toEqual({ active, waits: null })
  })

  it('keys count without their guard', () => {
    const columns = ['Customer ID', 'Vorname']
    const rows = [
      ['="0012"', 'A'],
      ['="0013"', 'B'],
      ['0014', 'C'],
    ]
    const { key, properties } = proposeImport({ columns, rows }, targets, { name: 'contacts' })!
    expect(key).toMatchObject({ property: 'svc_external_id', column: 'Customer ID' })
    expect(properties[0]!.settings).toEqual({ pattern: '^="(?<v>.*)"$', else: 'keep' })
  })
})

describe('days with a year of two digits', () => {
  it.each<[string[], string]>([
    [['31.12.90', '01.02.75'], 'DD.MM.YY'],
    [['1.2.75', '31.12.90'], 'D.M.YY'],
    [['01.02.03', '04.05.06'], 'DD.MM.YY'],
    [['31/12/99', '01/02/05'], 'DD/MM/YY'],
    [['12/31/99', '01/02/05'], 'MM/DD/YY'],
    [['3/31/21', '4/1/22'], 'M/D/YY'],
    [['31-12-99', '01-02-05'], 'DD-MM-YY'],
    [['99/12/31', '05/02/01'], 'YY/MM/DD'],
    [['98-1-31', '99-12-5'], 'YY-M-D'],
    [['31.12.90 00:00', '01.02.75 00:00'], 'DD.MM.YY 00:00'],
    [['00.00.00', ''], ''],
  ])('%j: active, or nothing', (cells, format) => {
    expect(shown('Geburtstag', cells)).toEqual({
      active: format === '' ? null : `birthday {format:${format},window:1940}`,
      waits: null,
    })
  })

  it.each<[string, string[], RegExp]>([
    ['day or month', ['01/02/75', '03/04/80'], /DD\/MM\/YY and MM\/DD\/YY both fit/],
    ['any of three', ['01/02/03', '04/05/06'], /DD\/MM\/YY, MM\/DD\/YY and YY\/MM\/DD all fit/],
    ['any of three, -', ['21-05-03', '22-06-04'], /DD-MM-YY and YY-MM-DD both fit/],
    ['1945 or 2045', ['31.12.45', '01.02.75'], /either century/],
    ['1957 or 2057', ['31/12/57'], /either century/],
    ['1969 or 2069', ['12/31/69', '12/30/99'], /either century/],
    ['one cell is none', ['31.12.90', '01.02.75', '05.06.80', 'x'], /1 row does not fit/],
    ['one has four digits', ['31.12.90', '01.02.75', '05.06.1980'], /1 row does not fit/],
    ['order and century', ['01/02/45', '03/04/50'], /both fit.*either century/],
  ])('%s waits', (_, cells, why) => {
    const { properties, open } = proposedFor('Geburtstag', cells)
    expect(lineOf(properties, 'Geburtstag')).toBeNull()
    expect(open.find(({ column }) => column === 'Geburtstag')?.reason).toMatch(why)
  })

  it('another column shows which comes first', () => {
    const columns = ['Customer ID', 'Birthday', 'Joined']
    const rows = [
      ['K1', '01/02/75', '31/12/2020'],
      ['K2', '03/04/80', '30/11/2021'],
    ]
    const proposal = proposeImport({ columns, rows }, targets, { name: 'contacts' })!
    expect(lineOf(proposal.properties, 'Birthday')).toBe('birthday {format:DD/MM/YY,window:1940}')
  })
})

describe('a website is no domain', () => {
  const lines = (name: string, cells: readonly string[]) => {
    const rows = cells.map((cell, at) => [`K${at}`, `F${at}`, cell])
    const columns = ['Company ID', 'Company', name]
    const { properties } = proposeImport({ columns, rows }, targets, { name: 'companies' })!
    return lineOf(properties, name)
  }
  it.each<[string, string[], string | null]>([
    ['Website', ['https://a.example/shop', 'b.example'], null],
    ['Website', ['https://a.example', 'https://b.example/x'], 'website {}'],
    ['Homepage', ['www.a.example', 'b.example'], null],
    ['Web', ['a.example', 'b.example'], null],
    ['Domain', ['a.example', 'b.example'], 'domain {}'],
    ['Company domain', ['https://a.example', 'www.b.example'], 'domain {type:domain}'],
  ])('%s %j', (name, cells, active) => {
    expect(lines(name, cells)).toBe(active)
  })
})

describe('columns that all begin alike', () => {
  it.each<[string, string[]]>([
    ['Pipedrive, English', ['Person - ID', 'Person - First name', 'Person - Email - Work']],
    ['Pipedrive, French', ['Personne - ID', 'Personne - Prénom', 'Personne - E-mail - Bureau']],
    ['Pipedrive, German', ['Person – ID', 'Person – Vorname', 'Person – E-Mail']],
    ['a label and a colon', ['Contact: ID', 'Contact: First Name', 'Contact: Email']],
    ['paths', ['contact.id', 'contact.first_name', 'contact.email']],
    ['paths in capitals', ['Person.Id', 'Person.FirstName', 'Person.Email']],
  ])('%s', (_, columns) => {
    const rows = ['a', 'b', 'c'].map((one) => [`K${one}`, `N${one}`, `${one}@example.com`])
    const { properties } = proposeImport({ columns, rows }, targets, { name: 'rows' })!
    const mapped = properties.map(({ property }) => property)
    expect(mapped).toEqual(['svc_external_id', 'svc_first_name', 'svc_email'])
  })

  it('one that begins so alone keeps its name', () => {
    const columns = ['Customer ID', 'Vorname', 'Partner - Email']
    const rows = ['a', 'b'].map((one) => [`K${one}`, `N${one}`, `${one}@example.com`])
    const { properties } = proposeImport({ columns, rows }, targets, { name: 'contacts' })!
    expect(lineOf(properties, 'Partner - Email')).toBeNull()
  })
})

describe('names of other languages', () => {
  const days = ['1990-01-31', '1991-02-28']
  it.each<[string, string[], string]>([
    ['Doğum Tarihi', days, 'birthday {}'],
    ['Data urodzenia', days, 'birthday {}'],
    ['Data de nascimento', days, 'birthday {}'],
    ['जन्म तिथि', ['३१/०१/१९९०', '२८/०२/१९९१'], 'birthday {format:DD/MM/YYYY}'],
    ['تاريخ الميلاد', ['٣١/٠١/١٩٩٠', '٢٨/٠٢/١٩٩١'], 'birthday {format:DD/MM/YYYY}'],
    ['生年月日', ['１９９０/０１/３１', '１９９１/０２/２８'], 'birthday {format:YYYY/MM/DD}'],
    ['رقم الهاتف', ['+٩٧١٥٠١٢٣٤٥٦٧', '٠٥٠١٢٣٤٥٦٨'], 'phone {}'],
    ['生年月日', ['1990年1月31日', '1991年12月5日'], 'birthday {format:YYYY年M月D日}'],
    ['Téléphone mobile', ['06 12 34 56 78', '0612345679'], 'phone {}'],
    ['رقم الجوال', ['+971 50 123 4567', '050 123 4568'], 'phone {}'],
    ['電話番号', ['０３－１２３４－５６７８', '03-1234-5679'], 'phone {}'],
    ['Telefone', ['+55 11 91234-5678', '11 91234-5679'], 'phone {}'],
    ['Numer telefonu', ['+48 601 234 567', '601 234 568'], 'phone {}'],
    ['مشترك', ['نعم', 'لا'], 'subscribed {true:[نعم],false:[لا]}'],
    ['सदस्यता', ['हाँ', 'नहीं'], 'subscribed {true:[हाँ],false:[नहीं]}'],
    ['Soyadı', ['Yılmaz', 'Kaya'], 'last_name {}'],
    ['Nazwisko', ['Nowak', 'Kowalska'], 'last_name {}'],
    ['कुल खरीद (INR)', ['₹1,23,100.00', '₹99.50'], 'lifetime_value {thousands:,,symbol:₹,unit:INR}'],
  ])('%s %j', (name, cells, active) => {
    expect(shown(name, cells)).toEqual({ active, waits: null })
  })
})

describe('commas in the cells of a list', () => {
  it.each<[string[], string | null, string | null]>([
    [['Red, green', 'Blue'], null, 'labels {}'],
    [['"VIP","Kunde"', '"Kunde"'], null, 'labels {}'],
    [['Red', 'Blue'], 'labels {}', null],
    [['Red;green', 'Blue'], 'labels {split:;}', null],
    [['Red, dark;green', 'Blue'], 'labels {split:;}', null],
  ])('%j', (cells, active, waits) => {
    expect(shown('Labels', cells)).toEqual({ active, waits })
  })
})
