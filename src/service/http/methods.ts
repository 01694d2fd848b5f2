// The methods that requests are routed by. Node's parser knows some thirty that no path has; a route for each of them on every
// path would be most of the routes, and most of the time that a service takes to start.

import type { IncomingMessage, RequestListener } from 'node:http'

const ROUTED = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Fastify knows it, and no path has it: what is true of it is true of every other. */
const STAND_IN = 'TRACE'

const given = new WeakMap<IncomingMessage, string>()

/** Lets a request with any other method be routed as TRACE is. */
export const routable =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    const { method = '' } = request
    if (!ROUTED.has(method)) {
      given.set(request, method)
      request.method = STAND_IN
    }
    listener(request, response)
  }

/** The method as the client sent it. */
export const methodOf = (request: IncomingMessage): string => given.get(request) ?? request.method!
