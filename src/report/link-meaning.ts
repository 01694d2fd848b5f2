// What the links of a run mean for a person, in words.

import { countText } from '../core/format.ts'
import { vanishedLinks, waitingLinks, rejectedLinks } from './account.ts'
import type { BooksReport } from './run-report.ts'

/** What a run is complete with whose links are all that needs a look, the worst first. */
export const linksNoun = (books: BooksReport): string =>
  rejectedLinks(books) > 0
    ? 'rejected links'
    : vanishedLinks(books) > 0
      ? 'links that are not there'
      : 'waiting links'

/** What of the links needs a person, or waits for another run, as sentences behind others; empty if nothing does. */
export function linksMeaning(books: BooksReport): string {
  const [rejected, waiting] = [rejectedLinks(books), waitingLinks(books)]
  const lost = vanishedLinks(books)
  const texts = [
    ...(rejected > 0
      ? [`${countText(rejected, 'link')} ${rejected === 1 ? 'was' : 'were'} rejected.`]
      : []),
    ...(lost > 0
      ? [
          `${countText(lost, 'link')} ${lost === 1 ? 'was' : 'were'} answered as made and ${lost === 1 ? 'is' : 'are'} not there: the next run sends ${lost === 1 ? 'it' : 'them'} again.`,
        ]
      : []),
    ...(waiting > 0
      ? [
          `${countText(waiting, 'link')} ${waiting === 1 ? 'waits for its target' : 'wait for their targets'}: a later run links ${waiting === 1 ? 'it' : 'them'} once the target exists.`,
        ]
      : []),
  ]
  return texts.map((text) => ` ${text}`).join('')
}
