// Whether bytes are a text in windows-1252. Every byte sequence nearly is one, so this looks at which letters stand where: Western
// text does not have a sign between letters, nor a capital within a word of small ones.

const LF = 10
/** Bytes that have no character in windows-1252. */
const UNDEFINED = [0x81, 0x8d, 0x8f, 0x90, 0x9d]
/** Of the characters above ASCII, so many may be odd. */
const ODD_MAX = 0.02

const OTHER_ENCODINGS = 'windows-1250, windows-1251, macintosh or another'

const isAsciiSmall = (byte: number | undefined): boolean =>
  byte !== undefined && byte >= 0x61 && byte <= 0x7a
const isAsciiLetter = (byte: number | undefined): boolean =>
  byte !== undefined && isAsciiSmall(byte | 0x20)
/** Š Œ Ž š œ ž Ÿ, and those that ISO 8859-1 has. */
const isLetterIn1252 = (byte: number | undefined): boolean =>
  byte !== undefined &&
  (byte >= 0xc0
    ? byte !== 0xd7 && byte !== 0xf7
    : [0x8a, 0x8c, 0x8e, 0x9a, 0x9c, 0x9e, 0x9f].includes(byte))
const isLetter = (byte: number | undefined): boolean => isLetterIn1252(byte) || isAsciiLetter(byte)
const isCapitalIn1252 = (byte: number): boolean =>
  isLetterIn1252(byte) && (byte < 0x90 || byte === 0x9f || (byte >= 0xc0 && byte < 0xdf))
const isAboveAscii = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x80
/** š and ž, where windows-1250 has them too. */
const OF_OTHER_LANGUAGES = [0x9a, 0x9e]
/** Apostrophes, dashes, the middle dot, spaces and hyphens: these stand between letters. */
const BETWEEN_LETTERS = [0x91, 0x92, 0x96, 0x97, 0xa0, 0xad, 0xb4, 0xb7]

/**
 * The share of characters above ASCII that Western text hardly has, read as windows-1252: a sign between letters, a capital
 * within a word of small ones, three such characters in a row, and letters of Slavic languages, which windows-1250 has at the
 * same place.
 */
function oddShareIn1252(text: Buffer): number {
  let all = 0
  let odd = 0
  text.forEach((byte, at) => {
    if (byte < 0x80) return
    all += 1
    const before = text[at - 1]
    const after = text[at + 1]
    const isInWord: boolean = isLetter(before) && isLetter(after)
    const isOdd = isLetterIn1252(byte)
      ? (isCapitalIn1252(byte) && (isAsciiSmall(before) || (isInWord && isAsciiSmall(after)))) ||
        OF_OTHER_LANGUAGES.includes(byte)
      : !BETWEEN_LETTERS.includes(byte) && isInWord
    if (isOdd || (isAboveAscii(before) && isAboveAscii(after))) odd += 1
  })
  return all === 0 ? 0 : odd / all
}

/** Whether the text is certainly one in windows-1252: all its bytes have characters there, and hardly any is odd. */
export const isWestern = (text: Buffer): boolean =>
  !text.some((byte) => byte === 0 || UNDEFINED.includes(byte)) &&
  oddShareIn1252(text) <= ODD_MAX &&
  !isInPairs(text)

/** Whether most bytes above ASCII come in pairs that no letter of ASCII stands before, as in encodings of East Asia. */
function isInPairs(text: Buffer): boolean {
  let pairs = 0
  let others = 0
  let isBehindPair = false
  for (let at = 0; at < text.length; at++) {
    const [byte, next] = [text[at]!, text[at + 1]]
    if (!isAboveAscii(byte)) {
      isBehindPair = false
      continue
    }
    // Second bytes of some encodings are letters and signs of ASCII; those of words are letters too.
    const isInWord: boolean =
      (!isBehindPair && isAsciiLetter(text[at - 1])) ||
      (isLetterIn1252(byte) && isAsciiLetter(next))
    isBehindPair = !isInWord && (next ?? 0) >= 0x40
    if (isBehindPair) pairs++
    else others++
    if (isBehindPair) at++
  }
  return pairs > others
}

/** In the order of preference: each with what is common in a text of it, and hardly in one of the others. */
const EAST_ASIAN: readonly (readonly [label: string, common: RegExp])[] = [
  ['shift_jis', /[\u3040-\u30ff\u4e00-\u9fa5]/g],
  ['euc-jp', /[\u3040-\u30ff]/g],
  ['euc-kr', /[\uac00-\ud7a3]/g],
  ['gb18030', /[\u4e00-\u9fa5]/g],
  ['big5', /[\u4e00-\u9fa5]/g],
]

/** The encodings of East Asia that the text may be in, the likelier first. */
function eastAsian(text: Buffer): readonly string[] {
  if (!isInPairs(text)) return []
  // A piece of a file may end within a character.
  const lines = text.subarray(0, text.lastIndexOf(LF) + 1 || text.length)
  return EAST_ASIAN.flatMap(([label, common]) => {
    try {
      const read = new TextDecoder(label, { fatal: true }).decode(lines)
      const letters = read.match(/[^\0-\x7f]/g)?.length ?? 0
      return [{ label, share: (read.match(common)?.length ?? 0) / letters }]
    } catch {
      return []
    }
  })
    .toSorted((one, other) => other.share - one.share)
    .map(({ label }) => label)
}

/** Of the letters of Cyrillic, so many are in the upper half, and next to each other; of second bytes of pairs, a third is not. */
const UPPER_MIN = 0.9
const JOINED_MIN = 0.8

function isInWords(text: Buffer): boolean {
  const isUpper = (byte: number | undefined) => byte !== undefined && byte >= 0xc0
  const high = [...text.keys()].filter((at) => isAboveAscii(text[at]))
  const upper = high.filter((at) => isUpper(text[at]))
  const joined = upper.filter((at) => isUpper(text[at - 1]) || isUpper(text[at + 1]))
  return upper.length >= high.length * UPPER_MIN && joined.length >= high.length * JOINED_MIN
}

/** What a text may be that is neither UTF-8 nor certainly windows-1252, the likelier first. */
const candidates = (text: Buffer): readonly string[] => [
  ...(isInWords(text) ? ['windows-1251'] : []),
  ...eastAsian(text),
]

/** The encoding that is likeliest for such a text. */
export const likelyEncoding = (text: Buffer): string => candidates(text)[0] ?? 'windows-1250'

/** What such a text may be, for people. */
export function otherEncodings(text: Buffer): string {
  const found = candidates(text)
  const isKnown = found.some((one) => one !== 'windows-1251')
  return isKnown ? `${found.join(', ')} or another` : OTHER_ENCODINGS
}
