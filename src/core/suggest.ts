// The word that a person probably meant, and the words that were possible.

import { seenText } from './look.ts'

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
    }
    before = last
    last = row
  }
  return last[b.length]!
}

const wordCharsMax = 64

/** Without what people do not see of a word, or do not care for: how it looks, in small letters. */
const plain = (word: string): string => seenText(word).toLowerCase()

/** Letters that one word must share with another one that it contains. */
const PART_CHARS_MIN = 4

/** The longest word that has `word` as half of its letters, or is half of `word`: `Telefon` for `Telefonnummer`. */
function partOf(word: string, words: readonly string[]): string | undefined {
  const found = words.filter((candidate) => {
    const [short, long] = [plain(candidate), word].toSorted((a, b) => a.length - b.length)
    return (
      short!.length >= PART_CHARS_MIN && short!.length * 2 >= long!.length && long!.includes(short!)
    )
  })
  return found.toSorted((a, b) => b.length - a.length)[0]
}

/**
 * The word nearest to `word`, if it is near enough: a third of its length differs, or one of both contains the other; else undefined.
 */
export function nearestWord(word: string, words: readonly string[]): string | undefined {
  if (word.length > wordCharsMax) return undefined
  const meant = plain(word)
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of words) {
    if (candidate.length > wordCharsMax) continue
    const found = distance(meant, plain(candidate))
    if (found < bestDistance) [best, bestDistance] = [candidate, found]
  }
  return best ?? partOf(meant, words)
}

const listMax = 30

/** Words as a message lists them. */
export function joinWords(words: readonly string[]): string {
  const more = words.length > listMax ? ` and ${words.length - listMax} more` : ''
  const shown = words.slice(0, listMax).map((word) => `\`${word}\``)
  return `${shown.join(', ')}${more}`
}

/** `; did you mean …?`; empty if no word is near. */
export function suggestNearest(word: string, words: readonly string[]): string {
  const near = nearestWord(word, words)
  return near === undefined ? '' : `; did you mean \`${near}\`?`
}

/** `; did you mean …?`, or else the valid words. */
export function suggestWord(word: string, words: readonly string[], noun: string): string {
  const near = suggestNearest(word, words)
  if (near !== '') return near
  return words.length === 0 ? `; there are no ${noun}` : `; ${noun}: ${joinWords(words)}`
}
