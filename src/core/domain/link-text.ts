// What became of the links of a run, in words.

import { countText, formatNumber } from '../format.ts'
import { countLinkRejects, countNotKept, countParked, type Books } from './books.ts'

/**
 * `3 links are parked: their targets do not exist yet; 1 link was not accepted`; null if all were linked and took no other's place, or
 * there are none.
 */
export function linksText(books: Pick<Books, 'links'>): string | null {
  const [parked, rejects] = [countParked(books), countLinkRejects(books)]
  const lost = countNotKept(books)
  const replaced = books.links?.replaced ?? 0
  const texts = [
    ...(parked > 0
      ? [
          parked === 1
            ? '1 link is parked: its target does not exist yet'
            : `${formatNumber(parked)} links are parked: their targets do not exist yet`,
        ]
      : []),
    ...(lost > 0
      ? [
          lost === 1
            ? '1 link was answered as made and is not there: the next run sends it again'
            : `${formatNumber(lost)} links were answered as made and are not there: the next run sends them again`,
        ]
      : []),
    ...(rejects > 0
      ? [
          rejects === 1
            ? '1 link was not accepted'
            : `${formatNumber(rejects)} links were not accepted`,
        ]
      : []),
    ...(replaced > 0
      ? [
          `${countText(replaced, 'link')} took the place of ${replaced === 1 ? 'another one' : 'others'}, because the association allows one only`,
        ]
      : []),
  ]
  return texts.join('; ') || null
}
