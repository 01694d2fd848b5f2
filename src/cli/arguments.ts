// What arguments of several commands may be.

import { InvalidArgumentError } from 'commander'

export function whole(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`)
    return value
  }
}

export const port = whole(0, 65_535)
/** Requests. */
export const perMinute = whole(1, 10_000_000)
