// What the document says about the service as a whole.

import { BATCH_ITEMS_MAX, PAGE_LIMIT_MAX, REQUEST_ID_HEADER } from '../../contract/index.ts'
import type { Operation } from '../../contract/index.ts'

/** Markdown. */
export const ABOUT = `A small, regular surface for every object type that a key can reach: contacts, companies, deals and an org's own types answer the same operations.

- **Keys.** Every request but the two public ones carries \`Authorization: Bearer <API_KEY>\`. The key decides the org; no path names one.
- **Answers** wrap what they carry in \`data\`. Every refusal is an \`application/problem+json\` body with a \`code\` of a closed set; its \`type\` is a page about that code.
- **Lists** are paged by opaque cursors that live for 24 hours, with up to ${PAGE_LIMIT_MAX} records a page. Aggregates are paged by limit and offset.
- **Batches** carry 1 to ${BATCH_ITEMS_MAX} items and answer each of them.
- **Limits** are per org and minute; \`RateLimit-Limit\` and \`RateLimit-Remaining\` are on every answer, \`Retry-After\` on 429 and 503.
- **Tracing.** \`${REQUEST_ID_HEADER}\` is on every answer, \`request_id\` in every problem.
- **Changes** within v1 add only: tolerate fields and reasons that you do not know.`

export const TAGS: readonly { readonly name: Operation['tag']; readonly description: string }[] = [
  { name: 'service', description: 'The service about itself, and about the caller.' },
  { name: 'schema', description: 'Object types, their properties, and field types.' },
  { name: 'records', description: 'Reading and writing records.' },
  { name: 'batch', description: `Writing up to ${BATCH_ITEMS_MAX} records at once.` },
  { name: 'associations', description: 'Links between records.' },
]
