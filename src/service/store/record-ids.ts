// Ids of records. Promise kept here: an id is given once and says nothing about how many records there are, because some of them are
// private: it is the creation sequence, permuted by a secret of the org.

import { createCipheriv, type Cipher } from 'node:crypto'

/** The creation sequence has 40 bits; a permutation of them is made of rounds over its halves (a Feistel network). */
const HALF_BITS = 20
const HALF = 2 ** HALF_BITS
const ROUNDS = 8
/** Ids that are made together: to encrypt many blocks at once costs as much as one. */
const TOGETHER = 64
const BLOCK_BYTES = 16
/** 40 bits in base 36. */
const CHARS = 8

export class RecordIds {
  private readonly prefix: string
  private readonly cipher: Cipher
  private made: { readonly from: number; readonly ids: readonly string[] } | null = null

  /** @param secret of 16 bytes */
  constructor(orgId: number, secret: Uint8Array) {
    this.prefix = `rec_${orgId.toString(36)}_`
    this.cipher = createCipheriv('aes-128-ecb', secret, null)
  }

  /** @param seq below 2 ** 40 */
  of(seq: number): string {
    const from = seq - (seq % TOGETHER)
    if (this.made?.from !== from) this.made = { from, ids: this.make(from) }
    return this.made.ids[seq - from]!
  }

  private make(from: number): string[] {
    let left = Array.from({ length: TOGETHER }, (_, at) => Math.floor((from + at) / HALF))
    let right = Array.from({ length: TOGETHER }, (_, at) => (from + at) % HALF)
    for (let round = 0; round < ROUNDS; round += 1) {
      const mixed = this.mixed(round, right)
      ;[left, right] = [right, left.map((half, at) => half ^ mixed[at]!)]
    }
    return left.map(
      (half, at) => this.prefix + (half * HALF + right[at]!).toString(36).padStart(CHARS, '0'),
    )
  }

  private mixed(round: number, halves: readonly number[]): number[] {
    const blocks = Buffer.alloc(BLOCK_BYTES * halves.length)
    for (const [at, half] of halves.entries()) {
      blocks.writeUInt32BE(round, at * BLOCK_BYTES)
      blocks.writeUInt32BE(half, at * BLOCK_BYTES + 4)
    }
    const encrypted = this.cipher.update(blocks)
    return halves.map((_, at) => encrypted.readUInt32BE(at * BLOCK_BYTES) >>> (32 - HALF_BITS))
  }
}
