// Words that turn the meaning of a name: `Not subscribed` is no `Subscribed`, `Partner Email` is somebody else's, `Old phone` was another
// time. A column with such a word goes to no property without one, however similar the names are.

import { unaccented } from '../../core/unaccented.ts'

export type Turn = 'not' | 'former' | 'other'

/** Whole words of Latin letters; an asterisk: also within a compound. */
const LATIN: Readonly<Record<Turn, string>> = {
  not:
    'not non never without dont out out optout unsub* unregister* unconfirm* unverif* unwanted inactive declin* refus* reject* revok* withdrawn withdraw* cancel* ended stopped block* bounced disabl* suppress* exclud* denied oppos* ' +
    'nicht kein keine keinen keiner ohne abgemeldet abbestell* abgelehnt widerruf* gekundigt kundigung gesperrt ausgetragen verweigert widersproch* widerspruch unerwunscht inaktiv ' +
    'pas ne sans desabonn* desinscri* desinscript* annul* jamais nunca sin baja desuscri* rechaz* revocad* disiscritt* mai nao descadastr* niet geen uitgeschreven afgemeld nie inte ikke',
  former:
    'old previous* prev former* formerly ex past was were before legacy prior obsolete outdated expired ' +
    'alt alte altes alten fruher* vorherig* vorige vorheriger ehemalig* bisherig* ancien* anterior* antigu* vieux vecchi* precedent* oud oude gammal tidigare',
  other:
    'partner* spouse* wife husband mother* father* parent parents parental guardian* child children kid kids son daughter sibling* relative* kin family friend* colleague* emergency* ' +
    'assistant* secretary referrer* referral* referred referring referer sponsor* inviter invited introduc* affiliate* rep reps representative* owner* manager* supervisor* boss superior agent agents advisor* adviser* consultant* assignee* assigned creator created author ' +
    'invoic* billing* bill payer* payee* shipping* ship delivery accounting accountant* supplier* vendor* reseller* distributor* beneficiary lawyer attorney doctor physician teacher coach support sender cc bcc host ' +
    'ehefrau ehemann ehegatt* gatte gattin mutter vater eltern* kind kinder notfall* assistenz* assistent* sekretar* empfehl* werber geworben* vermittl* vertreter* vertrieb* betreuer* besitzer* inhaber* verantwortlich* zustandig* vorgesetzt* rechnung* buchhalt* liefer lieferung lieferadresse versand* chef geschaftsfuhr* ' +
    'conjoint* epoux epouse mere pere tuteur* enfant* urgence* parrain* commercial* responsable* gestionnaire* facturation* facture livraison* proprietaire* ' +
    'conyuge* esposo esposa madre padre tutor tutora emergencia* asistente* referido* gerente* facturacion* factura envio propietario* emergenza coniuge noodgeval nodkontakt',
}

/** Parts of names of other letters, which have no spaces or many endings. */
const OTHERS: Readonly<Record<Turn, string>> = {
  not: '停止 解除 拒否 退会 不要 不可 しない ない 未 非 無効 不 取消 退订 退訂 拒绝 拒絕 无 無 거부 해지 취소 नहीं समाप्त रद्द बंद अस्वीकार غير ليس إلغاء ملغ رفض отпис отказ отмен',
  former: '旧 舊 以前 前回 過去 原来 이전 과거 पुरान पिछल पूर्व سابق قديم старый стара прежн',
  other:
    '配偶 緊急 紧急 請求 发票 發票 紹介 推荐 推薦 担当 負責 负责 保護者 監護 监护 秘書 上司 代理 家族 親の 母親 父親 送付先 納品 배우자 비상 긴급 청구 추천 담당 보호자 आपातकाल जीवनसाथी पति पत्नी माता पिता अभिभावक सहायक प्रबंधक बिलिंग रेफर طوارئ شريك زوج والد مدير فوات مساعد ولي супруг экстренн родител менеджер помощник бухгалт',
}

/** A contact, although half of the word is a partner. */
const PLAIN = new Set(['ansprechpartner', 'kontaktperson'])

const TURNS = (['not', 'former', 'other'] as const).map((turn) => {
  const listed = LATIN[turn].split(' ')
  const stems = listed.filter((one) => one.endsWith('*')).map((one) => one.slice(0, -1))
  return {
    turn,
    words: new Set(listed.filter((one) => !one.endsWith('*'))),
    stems,
    parts: OTHERS[turn].split(' ').map(unaccented),
  }
})

/** A compound has a word of so many letters anywhere in it, a shorter one at its beginning. */
const INNER_CHARS_MIN = 6

/**
 * How a name is turned.
 * @param words of the name, in small letters without accents
 */
export function turnsOf(words: readonly string[]): ReadonlySet<Turn> {
  const found = new Set<Turn>()
  for (const [at, word] of words.entries()) {
    if (PLAIN.has(word)) continue
    const isLatin = /^[a-z0-9]+$/.test(word)
    for (const { turn, words: whole, stems, parts } of TURNS) {
      const isTurned = isLatin
        ? whole.has(word) ||
          stems.some((stem) =>
            stem.length < INNER_CHARS_MIN ? word.startsWith(stem) : word.includes(stem),
          )
        : parts.some((part) => word.includes(part))
      if (isTurned) found.add(turn)
    }
    // `No newsletter`; a number behind other words is `Customer no`.
    if (word === 'no' && at === 0 && words.length > 1) found.add('not')
  }
  return found
}

/** Whether two names are turned in the same way. */
export const areTurnedAlike = (a: ReadonlySet<Turn>, b: ReadonlySet<Turn>): boolean =>
  a.size === b.size && [...a].every((turn) => b.has(turn))
