// What names of columns, properties and object types mean: `Vorname`, `FirstName` and `svc_first_name` mean the same. Known are the
// words of common exports in English and German, some in French, Spanish, Japanese, Hindi and Arabic; a name with other words is compared
// word by word.

import { unaccented } from '../../core/unaccented.ts'
import { areTurnedAlike, turnsOf, type Turn } from './other-meanings.ts'

/** Phrases of one meaning. */
const MEANINGS: readonly (readonly string[])[] = [
  'first name|firstname|given name|forename|vorname|prenom|nombre|rufname|名|पहला नाम|प्रथम नाम|الاسم الأول|imię|adı',
  'last name|lastname|surname|family name|nachname|familienname|apellido|apellidos|nom|zuname|姓|उपनाम|अंतिम नाम|اسم العائلة|nazwisko|sobrenome|soyad|soyadı',
  'email|mail|email address|emailadresse|email adresse|mailadresse|mail adresse|adresse email|adresse mail|correo|correo electrónico|courriel|メール|メールアドレス|eメール|电子邮件|邮箱|이메일|ईमेल|ईमेल पता|البريد الإلكتروني|بريد إلكتروني|correo electronico|e posta|eposta|adres email',
  'phone|phone number|telephone|telephone number|tel|tel nr|telefon|telefonnummer|telefon nr|telefono|numéro de téléphone|rufnummer|festnetz|電話|電話番号|电话|전화번호|फ़ोन|फोन|फ़ोन नंबर|दूरभाष|الهاتف|هاتف|رقم الهاتف|telefone|numer telefonu|teléfono',
  'mobile|mobile phone|mobile number|cell|cell phone|handy|handynummer|mobil|mobiltelefon|mobiltelefonnummer|mobilfunknummer|mobilnummer|携帯電話|携帯番号|téléphone mobile|téléphone portable|numéro mobile|teléfono móvil|telefone celular|celular|telefon komórkowy|cep telefonu|मोबाइल|मोबाइल नंबर|الجوال|رقم الجوال',
  'birthday|birthdate|birth date|date birth|dob|born|geburtstag|geburtsdatum|geb datum|geboren|geb|date naissance|fecha nacimiento|生年月日|जन्म तिथि|تاريخ الميلاد|data nascimento|data urodzenia|doğum tarihi',
  'job title|jobtitle|jobtitel|title|titel|position|role|job|occupation|funktion|rolle|berufsbezeichnung|beruf|stellenbezeichnung|stelle|poste|cargo',
  'website|web site|homepage|url|web|webseite|internet|www|site web|sitio web|website url',
  'notes|note|comment|comments|remark|remarks|description|bemerkung|bemerkungen|notiz|notizen|kommentar|anmerkung|anmerkungen|beschreibung|remarque|remarques|टिप्पणी|ملاحظات|備考|uwagi|observações|notlar',
  'external id|id|key|uid|uuid|guid|record id|external key|external number|externe id|customer id|customer no|customer nr|customer number|kundennummer|kundennr|firmennummer|firmennr|kontaktnummer|auftragsnummer|angebotsnummer|vorgangsnummer|kunden nr|kunden id|kunden nummer|client id|member id|顧客番号|会員番号|顧客id|客户编号|ग्राहक संख्या|ग्राहक आईडी|رقم العميل|معرف السجل|معرف العميل|datensatz id|identyfikator|müşteri no|numéro client|numéro de client|número de cliente|mitgliedsnummer|mitglieds nr|nummer|number|nr|no|identifier|ident',
  'company|company name|organization|associated company|organization name|organisation|account|account name|firma|firmenname|unternehmen|employer|arbeitgeber|entreprise|societe|empresa',
  'name|full name|display name|firmenname|projektname|bezeichnung|title|titel|betreff|subject',
  'domain|domain name|company domain|email domain|web domain',
  'annual revenue|revenue|yearly revenue|turnover|umsatz|jahresumsatz|chiffre affaires',
  'lifetime value|ltv|clv|customer lifetime value|total spent|total revenue|gesamtumsatz|kundenwert|कुल खरीद|إجمالي المشتريات|累計購入額',
  'deal value|amount|value|deal amount|betrag|wert|summe|total|auftragswert|auftragssumme|volumen',
  'budget|planned budget|plan budget',
  'close date|closing date|closed|expected close date|abschlussdatum|abschluss|abgeschlossen',
  'founded|founded date|foundation date|year founded|grundung|gegrundet|grundungsdatum',
  'lifecycle stage|lifecycle|customer stage|contact stage|lebenszyklus|lebenszyklusphase|lifecycle phase',
  'stage|phase|deal stage|pipeline stage|verkaufsphase|stufe',
  'status|state|zustand',
  'priority|prio|prioritat|dringlichkeit',
  'tags|tag|labels|label|keywords|schlagworte|schlagworter|stichworte|gruppen|groups|segments|etiketten|étiquettes|etiquetas|etykiety|タグ',
  'subscribed|subscriber|newsletter|newsletter subscribed|opt|opted|marketing consent|consent|email opt|mailing|abonniert|abonnent|einwilligung|accepts email marketing|accepts marketing|email marketing|marketing status|marketing contact status|email subscriber status|購読|購読中|メルマガ|abonné|suscrito|مشترك|सदस्यता|subskrypcja|inscrito|abone',
  'last contacted|last contact|last contact date|last activity|last activity date|letzter kontakt|zuletzt kontaktiert|kontaktiert|letztes aktivitätsdatum|最終連絡日',
  'owner|record owner|account manager|betreuer|besitzer|inhaber|verantwortlich|verantwortlicher|kontaktverantwortlicher|zustandig|owner id|担当者',
  'score|lead score|rating|points|punkte|punktzahl|bewertung',
  'source|lead source|original source|origin|quelle|ursprungliche quelle|herkunft|leadquelle',
  'due|due date|deadline|fallig|falligkeit|falligkeitsdatum|frist',
  'completed|completed date|done|erledigt|erledigt',
  'body|text|content|message|inhalt|nachricht',
  'pinned|sticky|angeheftet',
  'created|created date|create date|date created|creation date|erstellt|angelegt|erstellungsdatum|anlagedatum',
  'updated|updated date|modified|last modified|last modified date|date modified|geandert|anderungsdatum|aktualisiert',
  'code|project code|projektcode|kurzel|project number|project no|projektnummer|projekt nr',
  'direction|richtung',
  'started|start|start time|started time|beginn|anfang',
  'duration seconds|duration|dauer|dauer sekunden',
].map((group) => group.split('|'))

/** Words for kinds of records: what a file of them is called. */
const KINDS: readonly (readonly string[])[] = [
  'contact contacts person persons people lead leads customer customers client clients kontakt kontakte person personen kunde kunden ansprechpartner interessent interessenten subscriber subscribers newsletter member members mitglied mitglieder teilnehmer',
  'company companies account accounts organization organizations organisation organisationen firma firmen unternehmen',
  'deal deals opportunity opportunities verkaufschance verkaufschancen angebot angebote auftrag auftrage',
  'note notes notiz notizen',
  'task tasks todo todos aufgabe aufgaben',
  'call calls anruf anrufe telefonat telefonate',
  'meeting meetings termin termine',
  'project projects projekt projekte',
  'product products produkt produkte artikel',
  'ticket tickets case cases',
].map((group) => group.split(' '))

/** Words that say nothing of a name, and currencies, which say how its amounts are meant. */
const FILLERS = new Set(
  'the a an is has of at on in for to and or der die das des dem am im in vom von zum zur und ist hat de la le el del d l eur usd gbp chf jpy cad aud sek nok dkk pln czk inr cny brl mxn euro utc gmt'.split(
    ' ',
  ),
)
/** Words that many names have: to share one of them says little. */
const COMMON = new Set(
  'name date number id nr no type title address code value status time datum nummer last first primary main contact customer'.split(
    ' ',
  ),
)
const COMMON_WEIGHT = 0.3
const NAME_CHARS_MAX = 200

/** The words of a name, in small letters without accents: `E-Mail-Adresse` has three, `FirstName` two. */
export function wordsOfName(name: string): readonly string[] {
  const spaced = name
    .slice(0, NAME_CHARS_MAX)
    .replace(/__c$/, '')
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
  const all = unaccented(spaced)
    .replaceAll(/(?<![\p{L}\p{N}])e[- _]?mail(?=s?(?![\p{L}\p{N}]))/gu, 'email')
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
  const telling = all.filter((word) => !FILLERS.has(word))
  return telling.length === 0 ? all : telling
}

const meanings = new Map<string, Set<number>>()
for (const [index, group] of MEANINGS.entries())
  for (const listed of group) {
    const phrase = wordsOfName(listed).join(' ')
    meanings.set(phrase, (meanings.get(phrase) ?? new Set()).add(index))
  }

const NO_MEANING: ReadonlySet<number> = new Set()

/** The groups of a phrase, also in the plural: `e mails`, `e mail adressen`. */
const meaningsOf = (phrase: string): ReadonlySet<number> =>
  meanings.get(phrase) ?? meanings.get(phrase.replace(/[sn]$/, '')) ?? NO_MEANING

const [IDENTIFIER] = meaningsOf('external id')
const [PHONE] = meaningsOf('phone')
const [MOBILE] = meaningsOf('mobile')

/** The words that a kind of records goes by, with those that mean the same. */
export function wordsOfType(
  type: { readonly name: string; readonly label: string; readonly label_plural: string },
  prefix: string,
): ReadonlySet<string> {
  const own = [bareName(type.name, prefix), type.label, type.label_plural].map(wordsOfName)
  const names = new Set(own.map((words) => words.join(' ')))
  const group = KINDS.find((words) => words.some((word) => names.has(word)))
  const single = own.filter((words) => words.length === 1).flat()
  return new Set([...single, ...(group ?? [])])
}

/** So many names of a service share what they begin with. */
const PREFIX_SHARE_MIN = 0.6

/** What most columns of some exports begin with: `Person - `, `Contact: `, `contact.`. */
export const COLUMN_PREFIX = /^[^\d]{2,30}?(?: [-–:] |: |\.)/u

/** What most names of a service begin with: `svc_`. Empty if they share nothing. */
export function sharedPrefix(names: readonly string[], form = /^[a-z0-9]+_+/i): string {
  const counts = new Map<string, number>()
  for (const name of names) {
    const [prefix] = form.exec(name) ?? []
    if (prefix !== undefined) counts.set(prefix, (counts.get(prefix) ?? 0) + 1)
  }
  const [best] = [...counts].toSorted(([, a], [, b]) => b - a)
  return best !== undefined && best[1] >= names.length * PREFIX_SHARE_MIN ? best[0] : ''
}

/** Without what every name of a service begins with. */
export const bareName = (name: string, prefix: string): string =>
  name.startsWith(prefix) ? name.slice(prefix.length) : name

/** How well a column's name fits a property: 0 to 1, and why in words. */
export interface NameMatch {
  readonly score: number
  readonly reason: string
  /** Words that only one of the names has, and that may be of another thing: none in names that mean the same. */
  readonly unlike: readonly string[]
}

/** Below this, names have nothing in common. */
export const NAME_SCORE_MIN = 0.4

/** A name, taken apart once: it is compared with many. */
export interface TakenName {
  readonly words: readonly string[]
  readonly phrase: string
  /** The phrase without words for the kind of records: in a file of contacts `Contact name` is `Name`. */
  readonly bare: string
  readonly meanings: ReadonlySet<number>
  readonly turns: ReadonlySet<Turn>
}

export function takeName(name: string, typeWords: ReadonlySet<string>): TakenName {
  const words = wordsOfName(name)
  const phrase = words.join(' ')
  const rest = words.filter((word) => !typeWords.has(word))
  const bare = rest.length === 0 ? phrase : rest.join(' ')
  // In a file of companies `Company` is its name.
  const own = rest.length === 0 && phrase !== 'newsletter' ? meaningsOf('name') : NO_MEANING
  const meanings = new Set([...meaningsOf(phrase), ...meaningsOf(bare), ...own])
  return { words, phrase, bare, meanings, turns: turnsOf(words) }
}

/** A property's name, with and without what every name of a service begins with, and its label. */
export const takePropertyNames = (
  { name, label }: { readonly name: string; readonly label: string },
  prefix: string,
  typeWords: ReadonlySet<string>,
): readonly TakenName[] =>
  [...new Set([name, bareName(name, prefix), label])].map((one) => takeName(one, typeWords))

/** @returns null if they have nothing in common */
export function matchNames(column: TakenName, property: readonly TakenName[]): NameMatch | null {
  const found = property
    .map((name) => matchName(column, name))
    .reduce((best, one) => (one.score > best.score ? one : best))
  return found.score < NAME_SCORE_MIN ? null : found
}

function matchName(ours: TakenName, theirs: TakenName): NameMatch {
  const none: NameMatch = { score: 0, reason: '', unlike: [] }
  if (ours.words.length === 0 || !areTurnedAlike(ours.turns, theirs.turns)) return none
  const isSame = ours.words.join('') === theirs.words.join('')
  if (isSame) return { score: 1, reason: 'same name', unlike: [] }
  if (ours.bare === theirs.bare) return { score: 0.9, reason: 'same name', unlike: [] }
  if ([...ours.meanings].some((meaning) => theirs.meanings.has(meaning)))
    return { score: 0.85, reason: 'the name means the same', unlike: [] }
  if (isMobile(ours) && theirs.meanings.has(PHONE!))
    return { score: 0.6, reason: 'a kind of phone', unlike: [] }
  const weight = Math.max(
    sharedWeight(ours.words, theirs.words),
    sharedWeight(ours.bare.split(' '), theirs.bare.split(' ')),
  )
  const [a, b] = [ours.bare.split(' '), theirs.bare.split(' ')]
  const unlike = [
    ...a.filter((word) => !theirs.words.includes(word)),
    ...b.filter((word) => !ours.words.includes(word)),
  ]
  return { score: 0.7 * weight, reason: 'a similar name', unlike: unlike.filter(mayDiffer) }
}

const isMobile = ({ meanings: all }: TakenName): boolean => all.has(MOBILE!)

/** Words that make no other thing of a name: which of several phones it is, or that it is a number. */
const HARMLESS = new Set(
  '1 one primary main principal haupt work business office home private personal direct mobile cell number no nr nummer address adresse value wert contact customer client kontakt kunde kunden full legal display default preferred current aktuell field geschaftlich bureau domicile portable personnel trabalho casa celular privat dienstlich pro professionnel'.split(
    ' ',
  ),
)

/** Whether a name is one of these, means the same as one, or is of an identifier. */
export function isKnownName(
  name: string,
  properties: readonly { readonly name: string; readonly label: string }[],
  prefix: string,
): boolean {
  const taken = takeName(name, new Set())
  if (taken.meanings.size > 0 || namesIdentifier(name)) return true
  return properties.some((one) =>
    takePropertyNames(one, prefix, new Set()).some((other) => other.phrase === taken.phrase),
  )
}

/** Whether a name that is not known has several words: one of them may say that it is another thing. */
export const saysMore = ({ words }: TakenName): boolean => words.length > 1 && words.some(mayDiffer)

const mayDiffer = (word: string): boolean => !HARMLESS.has(word)

/** The weight of the words that both have, of all their words. */
function sharedWeight(ours: readonly string[], theirs: readonly string[]): number {
  const weight = (words: Iterable<string>) =>
    [...words].reduce((sum, word) => sum + (COMMON.has(word) ? COMMON_WEIGHT : 1), 0)
  const [a, b] = [new Set(ours), new Set(theirs)]
  const shared = [...a].filter((word) => b.has(word))
  if (shared.every((word) => COMMON.has(word))) return 0
  const all = weight(a) + weight(b)
  return all === 0 ? 0 : (2 * weight(shared)) / all
}

/** Whether a name is that of an identifier: `id`, `Kundennummer`, `customer_no`. */
export function namesIdentifier(name: string): boolean {
  const words = wordsOfName(name)
  const phrase = words.join(' ')
  if (meaningsOf(phrase).has(IDENTIFIER!) || phrase === 'code') return true
  const last = words.at(-1) ?? ''
  return (
    [
      'id',
      'uuid',
      'guid',
      'uid',
      'key',
      'nr',
      'no',
      'number',
      'nummer',
      'code',
      'ref',
      'sku',
    ].includes(last) && !words.some((word) => NOT_IDENTIFIERS.has(word))
  )
}

/** With these a number is none of a record: `phone number`, `zip code`. */
const NOT_IDENTIFIERS = new Set(
  'phone tel telefon fax mobile mobil handy house haus zip postal post country currency area vat tax'.split(
    ' ',
  ),
)

/** A word begins with these: `Kundenliste`. */
const STEM_CHARS_MIN = 5

/** Whether a text, such as the name of a file, has a word for a kind of records. */
export const namesType = (text: string, typeWords: ReadonlySet<string>): boolean =>
  wordsOfName(text).some((word) =>
    [...typeWords].some(
      (known) => word === known || (known.length >= STEM_CHARS_MIN && word.startsWith(known)),
    ),
  )
