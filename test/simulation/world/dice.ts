// Chance that a seed decides. Each part of the world has dice of its own: one that is drawn more often than before does not change what
// the others show, so that a story stays the same where it can.

import type { Dice } from '../scheduler.ts'

/** A number that is the same for the same text, 32 bits. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash ^= text.charCodeAt(index)
    hash = Math.imul(hash, 0x01000193)
  }
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** mulberry32. */
function randoms(seed: number): () => number {
  let state = seed >>> 0 || 1
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** @param part the part of the world that draws */
export function diceOf(seed: number, part: string): Dice {
  const random = randoms(hash32(`${seed} ${part}`))
  const below = (n: number) => Math.floor(random() * n)
  return {
    random,
    below,
    often: (p) => random() < p,
    one: <T>(...of: T[]): T => of[below(of.length)]!,
  }
}
