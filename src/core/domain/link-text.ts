// What became of the links of a run, in words.

import { formatNumber } from '../format.ts'
import { countLinkRejects, countParked, type Books } from './books.ts'

/** `3 links are parked: their targets do not exist yet; 1 link was not accepted`; null if all were linked, or there are none. */
export function linksText(books: Pick<Books, 'links'>): string | null {
  const [parked, rejects] = [countParked(books), countLinkRejects(books)]
  const texts = [
    ...(parked > 0
      ? [
          parked === 1
            ? '1 link is parked: its target does not exist yet'
            : `${formatNumber(parked)} links are parked: their targets do not exist yet`,
        ]
      : []),
    ...(rejects > 0
      ? [
          rejects === 1
            ? '1 link was not accepted'
            : `${formatNumber(rejects)} links were not accepted`,
        ]
      : []),
  ]
  return texts.join('; ') || null
}
