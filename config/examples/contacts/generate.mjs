// Writes contacts.csv and companies.csv, the same bytes every time. All people and companies are invented.
// `node generate.mjs` writes the files beside this one.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const CONTACTS = 4000
const COMPANIES = 600

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

/** What can be wrong with a contact: each takes a good row and spoils one cell. */
const mistakes = [
  (row) => ({ ...row, born: '30.02.2024' }),
  (row) => ({ ...row, born: '2024-02-30' }),
  (row) => ({ ...row, lifetime_value: '12,5o', currency: 'EUR' }),
  (row) => ({ ...row, lifetime_value: '1.234.567', currency: 'EUR' }),
  (row) => ({ ...row, lifetime_value: '99.90', currency: 'Euro' }),
  (row) => ({ ...row, email: 'not an address' }),
  (row) => ({ ...row, email: `${row.email.split(';')[0]};nobody@` }),
  (row) => ({ ...row, stage: 'prospekt' }),
  (row) => ({ ...row, id: '' }),
  (row) => ({ ...row, newsletter: 'maybe' }),
  (row) => ({ ...row, score: 'high' }),
  (row) => ({ ...row, last_contacted_at: 'yesterday' }),
]

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
    id: `C-${String(number).padStart(5, '0')}`,
    // Some exports decompose accents: the same name in other code points.
    first_name: random() < 0.05 ? first.name.normalize('NFD') : first.name,
    last_name: last.name,
    job_title: pick(titles),
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

/** contacts.csv: 4,000 rows, of which 40 repeat an id and 40 have a mistake. */
export function contactsCsv() {
  const random = randomFrom(20260131)
  const rows = []
  for (let number = 1; number <= CONTACTS; number++) {
    const row = contact(number, random)
    if (number % 100 === 50) {
      // The same person again, with what is known later: the last row of an id counts.
      const earlier = rows[Math.floor(random() * (rows.length - 1))]
      rows.push({
        ...row,
        id: earlier.id || row.id,
        first_name: earlier.first_name,
        last_name: earlier.last_name,
      })
    } else if (number % 100 === 7)
      rows.push(mistakes[Math.floor(number / 100) % mistakes.length](row))
    else rows.push(row)
  }
  return csvOf(rows, ',')
}

/** companies.csv: 600 rows with semicolons and decimal commas, of which 6 repeat an id and 6 have a mistake. */
export function companiesCsv() {
  const random = randomFrom(600)
  const pick = (list) => list[Math.floor(random() * list.length)]
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
  const rows = []
  for (let number = 1; number <= COMPANIES; number++) {
    const domain = `company${number}.example.com`
    const row = {
      company_id: `K-${String(number).padStart(4, '0')}`,
      name: `${pick(trades)} ${number} ${pick(forms)}`,
      domain,
      email: `info@${domain}`,
      website: `https://${domain}/`,
      founded:
        random() < 0.8
          ? `${1890 + Math.floor(random() * 135)}-${two(1 + Math.floor(random() * 12))}-${two(1 + Math.floor(random() * 28))}`
          : '',
      stage: pick(['prospect', 'customer', 'former', '']),
      revenue:
        random() < 0.8
          ? `${Math.floor(random() * 90_000_000)},${two(Math.floor(random() * 100))}`
          : '',
      notes: random() < 0.3 ? pick(notes) : '',
    }
    if (number % 100 === 50)
      rows.push({ ...row, company_id: rows.at(-20).company_id, domain: rows.at(-20).domain })
    else if (number % 200 === 7) rows.push({ ...row, founded: '2024-02-30' })
    else if (number % 200 === 107) rows.push({ ...row, revenue: '1.234,50' })
    else rows.push(row)
  }
  return csvOf(rows, ';')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('contacts.csv', import.meta.url), contactsCsv())
  writeFileSync(new URL('companies.csv', import.meta.url), companiesCsv())
}
