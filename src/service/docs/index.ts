// The documentation: the operations, and a page for each error code, to which a problem's `type` points. Public.
// Promise kept here: a browser that shows it asks only this service, and runs only the two scripts that it names.

import type { FastifyInstance, FastifyReply } from 'fastify'
import { PROBLEM_CODES } from '../../contract/index.ts'
import { ASSETS } from './assets.ts'
import { errorPage, errorsPage, operationsPage } from './pages.ts'
import type { Site } from '../handlers/handler.ts'
import { RequestRefused, notFound, describeValue } from '../problems.ts'

const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  // The library's icons.
  "img-src 'self' data:",
  // "Try it out".
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export function addDocs(fastify: FastifyInstance, site: () => Site): void {
  const open = { config: { open: true } }
  // A person who opens the service's address expects this; a program gets the same answer as for any other path.
  fastify.get('/', open, (request, reply) => {
    if (request.headers.accept?.includes('text/html')) return guarded(reply).redirect('/docs')
    throw new RequestRefused(
      notFound('No such path: the API begins at /rest/v1/, the documentation at /docs'),
    )
  })
  for (const url of ['/docs', '/docs/']) {
    fastify.get(url, open, (_request, reply) => sendPage(reply, operationsPage(site())))
  }
  fastify.get('/docs/errors', open, (_request, reply) => sendPage(reply, errorsPage(site())))
  fastify.get('/docs/errors/:code', open, (request, reply) => {
    const { code } = request.params as { code: string }
    const known = PROBLEM_CODES.find((each) => each === code)
    if (!known)
      throw new RequestRefused(notFound(`No page about the error code ${describeValue(code)}`))
    return sendPage(reply, errorPage(site(), known))
  })
  for (const [name, { type, read }] of Object.entries(ASSETS)) {
    fastify.get(`/docs/${name}`, open, async (_request, reply) =>
      guarded(reply)
        .type(type)
        .send(await read()),
    )
  }
}

function sendPage(reply: FastifyReply, html: string): FastifyReply {
  return guarded(reply).type('text/html; charset=utf-8').send(html)
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply.headers({
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  })
}
