// What arguments of several commands may be.

import { InvalidArgumentError } from 'commander'

export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`)
    return value
  }
}

export const port = wholeNumber(0, 65_535)
/** Requests. */
export const perMinute = wholeNumber(1, 10_000_000)
