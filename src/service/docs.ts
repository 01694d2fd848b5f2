// The pages that a problem's `type` points at: one per error code, public.

import type { FastifyInstance } from 'fastify'
import { CODE_STATUSES, OPERATIONS, PROBLEM_CODES, REASONS, TITLES } from '../contract/index.ts'
import type { ProblemCode } from '../contract/index.ts'
import type { Site } from './handlers/handler.ts'
import { OPERATION_IDS } from './handlers/index.ts'
import { Refusal, notFound, shown } from './problems.ts'

const MEANINGS: Readonly<Record<ProblemCode, string>> = {
  unauthenticated: 'The API key is missing, unknown or revoked.',
  request_invalid: 'The request is malformed, or violates the schema of the object type.',
  not_found: 'The path, the object type or the record does not exist, or this key may not read it.',
  permission_denied: 'The object type or the grants of this key do not allow the operation.',
  conflict:
    'The request contradicts what is stored: a unique value is taken, or a match is ambiguous.',
  rate_limited:
    'The org used up its requests of this minute. Wait as many seconds as Retry-After says.',
  timeout: 'The service took too long. The request may have been carried out.',
  service_unavailable: 'The service, or a part of it, is unavailable. Wait as Retry-After says.',
  internal_error: 'The service failed. Quote the request id when you ask about it.',
}

export function addDocs(fastify: FastifyInstance, site: () => Site): void {
  fastify.get('/docs', { config: { open: true } }, (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(indexPage(site())),
  )
  fastify.get('/docs/errors/:code', { config: { open: true } }, (request, reply) => {
    const { code } = request.params as { code: string }
    const known = PROBLEM_CODES.find((each) => each === code)
    if (!known) throw new Refusal(notFound(`No page about the error code ${shown(code)}`))
    return reply.type('text/html; charset=utf-8').send(errorPage(known))
  })
}

function indexPage(site: Site): string {
  const operations = OPERATION_IDS.map((id) => {
    const { method, path, summary } = OPERATIONS[id]
    return `<li><code>${method} ${path}</code> ${summary}</li>`
  })
  const codes = PROBLEM_CODES.map(
    (code) => `<li><a href="${site.docsUrl}/errors/${code}">${code}</a>: ${MEANINGS[code]}</li>`,
  )
  return htmlPage(
    'Records Service v1',
    `<p>The machine-readable description: <a href="${site.openApiUrl}">OpenAPI 3.1</a>.</p>
<h2>Operations, below /rest/v1</h2><ul>${operations.join('\n')}</ul>
<h2>Error codes</h2><ul>${codes.join('\n')}</ul>`,
  )
}

function errorPage(code: ProblemCode): string {
  const statuses = CODE_STATUSES[code].map((status) => `${status} ${TITLES[status]}`)
  const reasons = Object.entries(REASONS).filter(([, facts]) => facts.code === code)
  const items = reasons.map(([reason, { status }]) => `<li><code>${reason}</code> (${status})</li>`)
  return htmlPage(
    code,
    `<p>${MEANINGS[code]}</p><p>Statuses: ${statuses.join(', ')}.</p>
${items.length > 0 ? `<h2>Reasons</h2><ul>${items.join('\n')}</ul>` : ''}`,
  )
}

function htmlPage(title: string, content: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<h1>${title}</h1>
${content}
</html>
`
}
