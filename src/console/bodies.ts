// Bodies of requests to the console. Promises kept here: none is parsed that has more bytes or fields than a page of ours sends; one file of
// corrections is received and read at a time, so that memory and time of all stay bounded.

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const FORM_BYTES_MAX = 16_384
/** Of 50 rows with all that a page shows of them; of a file. */
export const TYPED_BYTES_MAX = 4 * 1_048_576
export const FILE_BYTES_MAX = 16 * 1_048_576
/** Cells of 50 rows, with 400 columns. */
export const FIELDS_MAX = 20_000

/** A body that is not read, and what was expected. */
export class BodyRefused extends Error {
  readonly statusCode: number
  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

const tooManyFields = () =>
  new BodyRefused(413, `The form has too many fields; expected at most ${FIELDS_MAX}`)

/** Parsers of what pages and programs send: forms, forms with a file, JSON; of nothing else. */
export function addBodyParsers(fastify: FastifyInstance): void {
  const parseJson = fastify.getDefaultJsonParser('error', 'error')
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: FORM_BYTES_MAX },
    (request, body, done) => {
      // A route with a greater limit has it for its forms.
      if (body.length > FORM_BYTES_MAX)
        return done(new BodyRefused(413, `Expected at most ${FORM_BYTES_MAX} bytes of JSON`))
      void parseJson(request, String(body), done)
    },
  )
  fastify.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: FORM_BYTES_MAX },
    (_request, body, done) => {
      if (isAbove(body as Buffer, '&', FIELDS_MAX)) return done(tooManyFields())
      done(null, Object.fromEntries(new URLSearchParams(body.toString('utf8'))))
    },
  )
  fastify.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer', bodyLimit: TYPED_BYTES_MAX },
    async (request: FastifyRequest, body: Buffer) => await formOf(request, body),
  )
}

/** Whether a text is there more than `max` times. */
function isAbove(body: Buffer, text: string, max: number): boolean {
  let count = 0
  for (let at = body.indexOf(text); at !== -1; at = body.indexOf(text, at + text.length))
    if (++count > max) return true
  return false
}

/** The fields of a form with a file, read as a browser would. */
async function formOf({ headers }: FastifyRequest, body: Buffer): Promise<object> {
  const type = headers['content-type'] ?? ''
  const unreadable = new BodyRefused(400, 'The form cannot be read; expected multipart/form-data')
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(type) ?? []
  const boundary = quoted ?? bare
  if (boundary === undefined) throw unreadable
  if (isAbove(body, `--${boundary}`, FIELDS_MAX)) throw tooManyFields()
  const form = await new Response(
    new Uint8Array(body.buffer, body.byteOffset, body.length) as Uint8Array<ArrayBuffer>,
    {
      headers: { 'content-type': type },
    },
  )
    .formData()
    .catch(() => {
      throw unreadable
    })
  return Object.fromEntries(form.entries())
}

/** One request at a time, from before its body until its work is done. */
export class OneAtATime {
  #holder: FastifyRequest | null = null

  /** False: another request is received or worked on. */
  take(request: FastifyRequest, reply: FastifyReply): boolean {
    if (this.#holder !== null) return false
    this.#holder = request
    // Its body may never come.
    reply.raw.once('close', () => request.body === undefined && this.#release(request))
    return true
  }

  async run<Result>(request: FastifyRequest, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } finally {
      this.#release(request)
    }
  }

  #release(request: FastifyRequest): void {
    if (this.#holder === request) this.#holder = null
  }
}
