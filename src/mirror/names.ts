// Names of tables and columns. Promise kept here: every name fits both warehouses and differs from the others of its table or
// schema in any case; the same wanted name gets the same result as long as that is free.

import { createHash } from 'node:crypto'
import { NAME_BYTES_MAX } from '../core/domain/mirror.ts'

const HEX_DIGITS = 8

/** What makes two names the same: to one of the warehouses, or to a reader. */
function folded(name: string): string {
  return name.toUpperCase().toLowerCase().normalize('NFC')
}

/**
 * The wanted name if it is free, has 1 to 63 bytes of UTF-8 and no NUL; otherwise as much of it as fits, with a suffix that is a
 * hash of the whole.
 */
export function fitName(wanted: string, taken: Iterable<string>): string {
  return createNamer(taken)(wanted)
}

/** Gives names that differ from the taken ones and from each other. */
export function createNamer(taken: Iterable<string>): (wanted: string) => string {
  const used = new Set<string>()
  for (const name of taken) used.add(folded(name))
  return (wanted) => {
    let name = cut(wanted, NAME_BYTES_MAX) === wanted ? wanted : ''
    // Bounded: each turn tries another name, and those in use are finite.
    for (let turn = 0; name === '' || used.has(folded(name)); turn++) name = suffixed(wanted, turn)
    used.add(folded(name))
    return name
  }
}

function suffixed(wanted: string, turn: number): string {
  const digest = createHash('sha256').update(turn === 0 ? wanted : `${wanted}\0${turn}`)
  const suffix = `_${digest.digest('hex').slice(0, HEX_DIGITS)}`
  return cut(wanted, NAME_BYTES_MAX - suffix.length) + suffix
}

/** The first characters that fit into so many bytes, without those that a database refuses. Empty for an empty name. */
function cut(text: string, bytesMax: number): string {
  let name = ''
  let bytes = 0
  for (const character of text) {
    if (character === '\0') continue
    // Half of a surrogate pair cannot be written in UTF-8.
    const written = /\p{Surrogate}/u.test(character) ? '\uFFFD' : character
    bytes += Buffer.byteLength(written)
    if (bytes > bytesMax) break
    name += written
  }
  return name
}
