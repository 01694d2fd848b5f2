// Writes companies.csv, contacts.csv and deals.csv, the same bytes every time. All people, companies and deals are invented.
// `node generate.mjs` writes the files into this folder.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const COMPANIES = 250
const CONTACTS = 2400
const DEALS = 1350

/** Pseudo-random numbers in [0, 1) from a seed (mulberry32). */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

// Country, first names, last names; after each name how an e-mail address spells it.
const peoples = [
  [
    'de',
    'Jürgen juergen,Käthe kaethe,Björn bjoern,Anneliese anneliese',
    'Müller mueller,Weiß weiss,Schäfer schaefer,Großmann grossmann',
  ],
  [
    'fr',
    'Zoé zoe,François francois,Aïcha aicha,Benoît benoit',
    'Lefèvre lefevre,D’Aubigné daubigne,Garçon garcon,L’Hôpital lhopital',
  ],
  [
    'es',
    'Íñigo inigo,María-José mariajose,Begoña begona,Ángel angel',
    'Núñez nunez,Peña pena,García garcia,Echeverría echeverria',
  ],
  [
    'pl',
    'Łukasz lukasz,Małgorzata malgorzata,Świętosława swietoslawa,Józef jozef',
    'Wójcik wojcik,Kowalczyk kowalczyk,Żółkiewska zolkiewska,Dąbrowski dabrowski',
  ],
  [
    'cz',
    'Jiří jiri,Božena bozena,Šárka sarka,Přemysl premysl',
    'Dvořák dvorak,Němcová nemcova,Černý cerny,Růžička ruzicka',
  ],
  [
    'se',
    'Åsa asa,Örjan orjan,Märta marta,Göran goran',
    'Ångström angstrom,Sjöberg sjoberg,Nyström nystrom,Öberg oberg',
  ],
  [
    'tr',
    'İbrahim ibrahim,Şule sule,Çağlar caglar,Işıl isil',
    'Yılmaz yilmaz,Öztürk ozturk,Gökçe gokce,Şahin sahin',
  ],
  ['vn', 'Ngọc ngoc,Thảo thao,Đức duc,Hằng hang', 'Phạm pham,Trần tran,Đỗ do,Huỳnh huynh'],
  [
    'gr',
    'Νίκος nikos,Ελένη eleni,Γιώργος giorgos,Χριστίνα christina',
    'Παπαδόπουλος papadopoulos,Γεωργίου georgiou,Ψαράς psaras,Ωραιόπουλος oraiopoulos',
  ],
  [
    'ua',
    'Олена olena,Юрій yurii,Тарас taras,Ганна hanna',
    'Шевченко shevchenko,Щербак shcherbak,Коваленко kovalenko,Є́вченко yevchenko',
  ],
  [
    'ge',
    'ნინო nino,გიორგი giorgi,თამარ tamar,ლუკა luka',
    'ბერიძე beridze,კაპანაძე kapanadze,გელაშვილი gelashvili,ჯაფარიძე japaridze',
  ],
  [
    'am',
    'Արամ aram,Անահիտ anahit,Տիգրան tigran,Լուսինե lusine',
    'Սարգսյան sargsyan,Պետրոսյան petrosyan,Հակոբյան hakobyan,Գրիգորյան grigoryan',
  ],
  [
    'il',
    'נועה noa,איתן eitan,שירה shira,יוסף yosef',
    'כהן cohen,לוי levi,מזרחי mizrahi,פרידמן friedman',
  ],
  [
    'eg',
    'محمد mohamed,فاطمة fatima,ليلى layla,يوسف yousef',
    'الحسيني elhusseini,عبدالله abdallah,منصور mansour,خليل khalil',
  ],
  [
    'ir',
    'شیرین shirin,پرویز parviz,گلناز golnaz,کیان kian',
    'رضایی rezaei,محمدی mohammadi,تهرانی tehrani,کریمی karimi',
  ],
  [
    'in',
    'प्रिया priya,अर्जुन arjun,லட்சுமி lakshmi,অনির্বাণ anirban',
    'शर्मा sharma,सिंह singh,சுப்பிரமணியன் subramanian,চট্টোপাধ্যায় chattopadhyay',
  ],
  [
    'th',
    'สมชาย somchai,มาลี malee,กิตติ kitti,นภา napha',
    'ศรีสุข srisuk,จันทร์ดี chandee,ทองคำ thongkham,วงศ์ไทย wongthai',
  ],
  ['et', 'አበበ abebe,ሰላም selam,ዳዊት dawit,ሂሩት hirut', 'ተስፋዬ tesfaye,በቀለ bekele,ገብረ gebre,ኃይሌ haile'],
  ['cn', '伟 wei,秀英 xiuying,𠮷祥 jixiang,小明 xiaoming', '王 wang,欧阳 ouyang,李 li,张 zhang'],
  [
    'jp',
    'さくら sakura,健太 kenta,ユウキ yuki,花子 hanako',
    '佐藤 sato,髙橋 takahashi,渡邉 watanabe,鈴木 suzuki',
  ],
  ['kr', '민준 minjun,서연 seoyeon,지우 jiwoo,하은 haeun', '김 kim,박 park,최 choi,황보 hwangbo'],
  [
    'uk',
    'Siân sian,Aoife aoife,Seán sean,Zoë zoe',
    "O'Connor oconnor,Mc Donald mcdonald,Smith-Jones smithjones,Ó Súilleabháin osuilleabhain",
  ],
].map(([country, first, last]) => ({ country, first: namesOf(first), last: namesOf(last) }))

function namesOf(list) {
  return list.split(',').map((pair) => {
    const space = pair.lastIndexOf(' ')
    return { name: pair.slice(0, space), ascii: pair.slice(space + 1) }
  })
}

const titles = [
  'Head of Procurement',
  'Geschäftsführerin',
  'Directeur général',
  '営業部長',
  'Инженер',
  'Buyer, "Special Projects"',
  'CEO & Founder',
  '',
]
const stages = ['subscriber', 'lead', 'opportunity', 'customer', 'former']
const tags = ['customer', 'partner', 'press', 'vip', 'newsletter', 'event']
const currencies = ['EUR', 'USD', 'GBP', 'JPY', 'CHF', 'SEK', 'PLN', 'INR']
const forms = ['GmbH', 'S.A.', 'Ltd', 'AB', '株式会社', 'ООО', 'Kft.', 'B.V.']
const trades = [
  'Hafen & Söhne',
  'Boulangerie',
  '山田製作所',
  'Κρασιά',
  'Łódzkie Młyny',
  'شركة النور',
  'Fjord; Fisk',
  'The "Quoted" Company',
]
const subjects = [
  'Licences',
  'Support contract',
  'Rollout, phase 2',
  'Schulung „Einsteiger“',
  'Renouvellement',
  '保守契約',
  'Pilot "North"',
]
const notes = [
  'Met at the fair; prefers a call in the morning.',
  'Says: "call me back", twice.\nThen hung up.',
  'Line one\nLine two, with a comma\n\nLine four after an empty one',
  '👩🏽‍💻 loves the API 🚀; speaks Español, 日本語 and العربية',
  '=SUM(A1:A9) is text here, not a formula',
  'Tab\there, backslash \\ there, percent 100%',
  "She said “d'accord” – and ' stayed '",
  '- wants a quote\n- "urgent"\n- budget 10,000',
]

const two = (number) => String(number).padStart(2, '0')
const day = (random, from, years) =>
  `${from + Math.floor(random() * years)}-${two(1 + Math.floor(random() * 12))}-${two(1 + Math.floor(random() * 28))}`

const companyId = (number) => `K-${String(number).padStart(4, '0')}`
const contactId = (number) => `C-${String(number).padStart(5, '0')}`
const dealId = (number) => `D-${String(number).padStart(5, '0')}`
const domainOf = (number) => `company${number}.example.com`

/** A company whose row has a mistake, and which a deal names: it arrives when its row is corrected. */
const LATE = 117
const LATE_DEAL = 42

/** Rows that are wrong on purpose, by number: what is wrong with each. */
const wrongCompanies = new Map([
  [57, (row) => ({ ...row, founded: '2024-02-30' })],
  [LATE, (row) => ({ ...row, revenue: '1.234,50' })],
])
const wrongContacts = new Map([
  [307, (row) => ({ ...row, born: '30.02.1984' })],
  [667, (row) => ({ ...row, email: 'not an address' })],
  [1007, (row) => ({ ...row, stage: 'prospekt' })],
  [1367, (row) => ({ ...row, email: `${row.email.split(';')[0]};nobody@` })],
  [1707, (row) => ({ ...row, lifetime_value: '99.90', currency: 'Euro' })],
  [2107, (row) => ({ ...row, id: '' })],
])
const wrongDeals = new Map([
  [411, (row) => ({ ...row, amount: '12 5oo' })],
  [913, (row) => ({ ...row, closes: '2026-11-31' })],
])

/** Contacts of which no deal knows: those with a mistake, and the rows that repeat an id. */
const isRepeated = (number) => number % 100 === 50
const isNamed = (number) => !wrongContacts.has(number) && !isRepeated(number)

/** One or two numbers of the ranges that are reserved for fiction. */
function phones(random) {
  const british = `+44 7700 900${100 + Math.floor(random() * 900)}`
  const american = `+1 (202) 555-01${two(Math.floor(random() * 100))}`
  const first = random() < 0.5 ? british : american
  return random() < 0.1 ? `${british};${american}` : first
}

function contact(number, random) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const sometimes = (share, value) => (random() < share ? value() : '')
  const people = pick(peoples)
  const first = pick(people.first)
  const last = pick(people.last)
  const mailbox = `${first.ascii}.${last.ascii}${number}`
  const amount = sometimes(0.7, () => (random() * 50_000 - 500).toFixed(2))
  return {
    id: contactId(number),
    // Some exports decompose accents: the same name in other code points.
    first_name: random() < 0.05 ? first.name.normalize('NFD') : first.name,
    last_name: last.name,
    job_title: pick(titles),
    company: sometimes(0.6, () => domainOf(someCompany(random))),
    email: [
      `${mailbox}@${people.country}.example.com`,
      ...(random() < 0.15 ? [`${mailbox}@example.org`] : []),
    ].join(';'),
    phone: sometimes(0.8, () => phones(random)),
    website: sometimes(0.3, () => `https://${people.country}.example.com/~${last.ascii}`),
    born: sometimes(
      0.6,
      () =>
        `${two(1 + Math.floor(random() * 28))}.${two(1 + Math.floor(random() * 12))}.${1940 + Math.floor(random() * 66)}`,
    ),
    stage: sometimes(0.9, () => pick(stages)),
    tags: sometimes(0.5, () => tags.filter(() => random() < 0.4).join('|')),
    lifetime_value: amount,
    currency: amount === '' ? '' : pick(currencies),
    score: sometimes(0.8, () => `${Math.floor(random() * 100)},${Math.floor(random() * 10)}`),
    newsletter: sometimes(0.9, () => pick(['yes', 'no', 'ja', 'nein', 'YES'])),
    last_contacted_at: sometimes(
      0.5,
      () =>
        `2025-${two(1 + Math.floor(random() * 12))}-${two(1 + Math.floor(random() * 28))}T${two(Math.floor(random() * 24))}:${two(Math.floor(random() * 60))}:00${pick(['Z', '+01:00', '-05:00'])}`,
    ),
    notes: sometimes(0.4, () => pick(notes)),
  }
}

const csvOf = (rows, delimiter) =>
  [Object.keys(rows[0]), ...rows.map((row) => Object.values(row))]
    .map((cells) => cells.map((cell) => cellOf(cell, delimiter)).join(delimiter) + '\n')
    .join('')

const cellOf = (text, delimiter) =>
  /["\r\n]|^\s|\s$/.test(text) || text.includes(delimiter)
    ? `"${text.replaceAll('"', '""')}"`
    : text

/** One that the CRM has after the first run. */
function someCompany(random) {
  for (;;) {
    const number = 1 + Math.floor(random() * COMPANIES)
    if (!wrongCompanies.has(number)) return number
  }
}

function someContact(random) {
  for (;;) {
    const number = 1 + Math.floor(random() * CONTACTS)
    if (isNamed(number)) return number
  }
}

const asWritten = (wrong, number, row) => (wrong.get(number) ?? ((same) => same))(row)

/** companies.csv: 250 rows with semicolons and decimal commas, of which 2 have a mistake. */
export function companiesCsv() {
  const random = randomFrom(600)
  const pick = (list) => list[Math.floor(random() * list.length)]
  const rows = []
  for (let number = 1; number <= COMPANIES; number++) {
    const domain = domainOf(number)
    const row = {
      domain,
      company_id: companyId(number),
      name: `${pick(trades)} ${number} ${pick(forms)}`,
      email: `info@${domain}`,
      website: `https://${domain}/`,
      founded: random() < 0.8 ? day(random, 1890, 135) : '',
      stage: pick(['prospect', 'customer', 'former', '']),
      revenue:
        random() < 0.8
          ? `${Math.floor(random() * 90_000_000)},${two(Math.floor(random() * 100))}`
          : '',
      notes: random() < 0.3 ? pick(notes) : '',
    }
    rows.push(asWritten(wrongCompanies, number, row))
  }
  return csvOf(rows, ';')
}

/** contacts.csv: 2,400 rows, of which 24 repeat an id and 6 have a mistake. */
export function contactsCsv() {
  const random = randomFrom(20260131)
  const rows = []
  for (let number = 1; number <= CONTACTS; number++) {
    const row = contact(number, random)
    if (!isRepeated(number)) {
      rows.push(asWritten(wrongContacts, number, row))
      continue
    }
    // The same person again, with what is known later: the last row of an id counts.
    const { id, first_name, last_name, company } = rows.at(-20)
    rows.push({ ...row, id, first_name, last_name, company })
  }
  return csvOf(rows, ',')
}

/** deals.csv: 1,350 rows, each with its company, and one or two contacts; 2 have a mistake, and 1 waits for its company. */
export function dealsCsv() {
  const random = randomFrom(1350)
  const pick = (list) => list[Math.floor(random() * list.length)]
  const rows = []
  for (let number = 1; number <= DEALS; number++) {
    const contacts = Array.from({ length: random() < 0.25 ? 2 : 1 }, () =>
      contactId(someContact(random)),
    )
    const row = {
      id: dealId(number),
      name: `${pick(subjects)} ${2024 + Math.floor(random() * 3)}`,
      company: domainOf(number === LATE_DEAL ? LATE : someCompany(random)),
      contacts: [...new Set(contacts)].join(';'),
      stage: pick(['new', 'qualified', 'offer', 'won', 'lost']),
      amount: (random() * 250_000).toFixed(2),
      currency: pick(currencies),
      closes: random() < 0.8 ? day(random, 2025, 2) : '',
      notes: random() < 0.2 ? pick(notes) : '',
    }
    rows.push(asWritten(wrongDeals, number, row))
  }
  return csvOf(rows, ',')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('companies.csv', import.meta.url), companiesCsv())
  writeFileSync(new URL('contacts.csv', import.meta.url), contactsCsv())
  writeFileSync(new URL('deals.csv', import.meta.url), dealsCsv())
}
