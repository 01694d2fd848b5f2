// Words that files have where there is no value.

/** Words of databases and spreadsheets that are never a value. */
const NOTHING =
  /^(?:\\N|#(?:N\/A(?: N\/A)?|NV|N\/D|ND|NA|NULL!|NULO!|NULLO!|REF!|¡REF!|BEZUG!|RIF!|VALUE!|WERT!|VALEUR!|¡VALOR!|VALOR!|VALORE!|DIV\/0!|¡DIV\/0!|NAME\?|NOM\?|¿NOMBRE\?|NOME\?|NUM!|ZAHL!|NOMBRE!|¡NUM!|SPILL!|CALC!|ERROR!))$/
/** Words that may be a value too, such as a name. */
const PERHAPS =
  /^(?:NULL|null|Null|\(null\)|<null>|NaN|nan|NaT|<NA>|nil|undefined|N\/A|n\/a|N\.A\.|n\.a\.|k\.\s?A\.)$/
const CHARS_MAX = 12
/** What these words begin with, or the space around them: most cells are none after one look. */
const FIRST = /^[\\#Nn(<uk\s]/

/** Whether a cell is a word for no value; `perhaps`: it may be a value as well. */
export function noValue(cell: string): 'certainly' | 'perhaps' | null {
  if (cell.length > CHARS_MAX || !FIRST.test(cell)) return null
  const text = cell.trim()
  return NOTHING.test(text) ? 'certainly' : PERHAPS.test(text) ? 'perhaps' : null
}
