// An example of every operation, and of every status that it succeeds with.
// Promise kept here: they are true. Sent in this order to a service of org 1742 with three seeded contacts, each request
// gets an answer that holds what its example holds; the test does so.

import type { Example } from './example-parts.ts'
import { readExamples } from './example-reads.ts'
import { writeExamples } from './example-writes.ts'

/** `url` is where the service listens, `docsUrl` where its documentation is. */
export function examples(url: string, docsUrl: string): Example[] {
  return [...readExamples(url, docsUrl), ...writeExamples(docsUrl)]
}
