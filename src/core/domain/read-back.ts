// The result of reading back, in words.

import { formatNumber } from '../format.ts'
import { READ_BACK_NAMES, type Books, type ReadBack } from './books.ts'

type Part = { readonly name: keyof ReadBack; readonly rows: number; readonly meaning: string }

const MEANINGS: Readonly<Record<keyof ReadBack, string>> = {
  overwritten:
    'accepted, but a later row has the same record at the service, which holds the values of that one',
  equal: 'read back as they were sent',
  different: 'accepted, but the service holds another value',
  missing: 'accepted, but not found by their key',
  normalised:
    'normalised by the service: it keeps a form of its own, and they are not sent again for that',
}

/** What was read back otherwise, the worst first; and how many rows were as they were sent. */
export function readBackCounts({ readBack }: Pick<Books, 'readBack'>): Part[] {
  return READ_BACK_NAMES.filter((name) => (readBack[name] ?? 0) > 0).map((name) => ({
    name,
    rows: readBack[name] ?? 0,
    meaning: MEANINGS[name],
  }))
}

/** `3 rows were accepted and read back otherwise: 1 missing, 2 different`; null if nothing was read back otherwise. */
export function readBackText(books: Pick<Books, 'readBack'>): string | null {
  const parts = readBackCounts(books)
  const differing = parts.filter(({ name }) => name === 'missing' || name === 'different')
  const overwritten = parts.find(({ name }) => name === 'overwritten')
  const normalised = parts.find(({ name }) => name === 'normalised')
  const rows = differing.reduce((sum, part) => sum + part.rows, 0)
  const counts = differing.map((part) => `${formatNumber(part.rows)} ${part.name}`).join(', ')
  const texts = [
    ...(rows > 0 ? [`${count(rows)} accepted and read back otherwise: ${counts}`] : []),
    ...(overwritten
      ? [`${count(overwritten.rows)} overwritten by a later row of the same record`]
      : []),
    ...(normalised ? [`${count(normalised.rows)} normalised by the service`] : []),
  ]
  return texts.join('; ') || null
}

const count = (rows: number): string =>
  rows === 1 ? '1 row was' : `${formatNumber(rows)} rows were`
