// What tells a line of totals from the rows above it: a word in its first place, where they have something else.

const WORDS =
  'total|totals|total g[ée]n[ée]ral|sub ?totals?|grand totals?|overall total|sum|sums|count|average|avg|mean|summe|summen|gesamt|gesamtsumme|zwischensumme|insgesamt|anzahl|totaal|totale|totali|totaux|somme|sous-total|suma|sumas|totales|soma|somma|razem|celkem|összesen|yhteensä|summa|totalt|i alt|toplam|итого|всего|合計|总计|總計|合计|小計|小计|計|합계|총계'
const TOTALS = new RegExp(
  String.raw`^[*\s]*(?:${WORDS})(?:[\s:*=.]*|\s*:.*|\s+(?:rows?|records?|lines?|entries|items)\b.*|\s*\(.*\))$`,
  'iu',
)

/** `Totals:`, `Grand total`, `Summe`, `合計`. */
export const isTotalsWord = (text: string): boolean => TOTALS.test(text.trim().normalize('NFC'))

/** Whether a text is of letters, without digits or the marks of an address. */
export const isOfWords = (text: string): boolean => !/[\d@/_]/.test(text) && /\p{L}/u.test(text)
