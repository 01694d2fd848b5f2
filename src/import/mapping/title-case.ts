// Words with a capital at their beginning.

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*/gu

/** `ANNA-LENA d'ARC` becomes `Anna-Lena D'arc`: a word goes on behind an apostrophe, and not behind a hyphen. */
export const titleCase = (text: string): string =>
  text.replace(WORD, (word) => {
    const [first = ''] = word
    // The capital of a letter may be several: that of ß is SS.
    const [capital = '', ...others] = first.toUpperCase()
    // The small letters of the whole word: alone, a sigma does not know that it is the last one (`ΑΣ` is `Ας`).
    const rest = word.toLowerCase().slice(first.toLowerCase().length)
    return capital + others.join('').toLowerCase() + rest
  })
