// What became of the links of a run, in words.

import { countText, formatNumber } from '../format.ts'
import { countLinkRejects, countTargetMissing, type Books } from './books.ts'

/**
 * `3 links are waiting: their targets do not exist yet; 1 link was rejected`; null if all were linked and took no other's place, or
 * there are none.
 */
export function linksText(books: Pick<Books, 'links'>): string | null {
  const [waiting, rejects] = [countTargetMissing(books), countLinkRejects(books)]
  const lost = books.links?.states.vanished ?? 0
  const replaced = books.links?.replaced ?? 0
  const texts = [
    ...(waiting > 0
      ? [
          waiting === 1
            ? '1 link is waiting: its target does not exist yet'
            : `${formatNumber(waiting)} links are waiting: their targets do not exist yet`,
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
      ? [rejects === 1 ? '1 link was rejected' : `${formatNumber(rejects)} links were rejected`]
      : []),
    ...(replaced > 0
      ? [
          `${countText(replaced, 'link')} took the place of ${replaced === 1 ? 'another one' : 'others'}, because the association allows one only`,
        ]
      : []),
  ]
  return texts.join('; ') || null
}
