// Names without what writers leave out: capitals, accents, and other forms of one letter.

/** Accents of Latin letters, and marks that Arabic is mostly written without. */
const ACCENTS = /[\u0300-\u036f\u064b-\u0655]/g

export const unaccented = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('ı', 'i')
    .normalize('NFKD')
    .replaceAll(ACCENTS, '')
    .normalize('NFC')
