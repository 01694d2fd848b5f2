// Rejects that are corrected in the console: cells that are typed, and files that come back. Promises kept here: it is the way of
// `retry --file`; nothing is kept of a page or a file in which something is wrong; values are not in addresses.

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { keepCorrectedRows, keepCorrectionFiles } from '../../actions/corrections.ts'
import { LedgerError, SourceError } from '../../core/errors.ts'
import {
  BYTE_ORDER_MARK,
  createRejectsSheet,
  leftPages,
  type SpreadsheetFile,
} from '../../corrections/index.ts'
import { BodyRefused, FILE_BYTES_MAX, OneAtATime, TYPED_BYTES_MAX } from '../bodies.ts'
import type { ConsoleDeps } from '../deps.ts'
import { correctionsMain, correctionsPath, type SentCorrections } from '../pages/corrections.ts'
import type { DrawnPage } from '../pages/page-route.ts'
import { PASTE_SCRIPT_PATH } from '../paste-script.ts'
import { LedgerAway } from '../readings.ts'
import { TEXT } from '../texts.ts'
import { readCorrectionsPage, rejectGroupsOf, type CorrectionsPage } from '../views/corrections.ts'
import { numberOf } from '../views/run.ts'
import { textsOf, type ActionSite } from './routes.ts'
import { readTypedCells } from './typed-cells.ts'
import { valuesFor } from '../values.ts'

const { corrections: words } = TEXT

const RETRY_AFTER_S = 10
const NAME_CHARS_MAX = 100

export function addCorrections(
  fastify: FastifyInstance,
  depsOf: (request: FastifyRequest) => ConsoleDeps,
  site: ActionSite,
): void {
  const limited = (bytes: number) => ({
    bodyLimit: bytes,
    errorHandler: async (
      error: Error & { statusCode?: number },
      request: FastifyRequest,
      reply: FastifyReply,
    ) => {
      if (error.statusCode !== 413) throw error
      const message = error instanceof BodyRefused ? error.message : words.tooLarge(bytes)
      return await site.refuse(request, reply, { status: 413, code: 'too_large', message })
    },
  })
  fastify.post('/runs/:run/corrections', limited(TYPED_BYTES_MAX), (request, reply) =>
    receive(depsOf(request), site, { request, reply }, keepTyped),
  )
  const oneFile = new OneAtATime()
  fastify.post(
    '/runs/:run/corrections/file',
    {
      ...limited(FILE_BYTES_MAX),
      onRequest: async (request, reply) => {
        if (oneFile.take(request, reply)) return
        void reply.header('retry-after', RETRY_AFTER_S)
        const why = { status: 503, code: 'busy', message: words.busy }
        return await site.refuse(request, reply, why)
      },
    },
    (request, reply) =>
      oneFile.run(request, () => receive(depsOf(request), site, { request, reply }, keepFile)),
  )
  fastify.get('/runs/:run/rejects.csv', (request, reply) =>
    download(depsOf(request), site, request, reply),
  )
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

interface Received {
  readonly page: CorrectionsPage
  readonly fields: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, string>>
}

/** Where the person goes next, or what is wrong with what they sent. */
type Kept =
  | { readonly to: string }
  | { readonly sent: SentCorrections; readonly columns?: readonly number[] }

const IMPOSSIBLE: SentCorrections = { typed: new Map(), errors: new Map(), notes: [], tone: 'bad' }

async function receive(
  deps: ConsoleDeps,
  site: ActionSite,
  { request, reply }: Exchange,
  keep: (deps: ConsoleDeps, received: Received) => Promise<Kept>,
): Promise<FastifyReply> {
  const fields = textsOf(request.body)
  const query = withColumns(textsOf(request.query), fields)
  const id = numberOf(textsOf(request.params)['run'])
  const page = id === null ? null : await readCorrectionsPage(deps, id, query)
  if (page === null) return await refused(site, request, reply, 404, TEXT.notFound)
  const body = (request.body ?? {}) as Record<string, unknown>
  const received = { page, fields, body, query }
  const isAsked = site.isOfSession(request, fields['csrf'])
  const kept =
    page.view.possible && isAsked && fields['columns'] === undefined
      ? await writing(() => keep(deps, received))
      : { sent: page.view.possible ? await unread(deps, received, isAsked) : IMPOSSIBLE }
  if ('to' in kept) return reply.redirect(kept.to, 303)
  const columns = [...page.view.shown, ...(kept.columns ?? [])]
  const shown =
    kept.columns === undefined || kept.columns.length === 0
      ? page
      : await readCorrectionsPage(deps, id!, { ...query, columns: columns.join(',') })
  if (shown === null) return await refused(site, request, reply, 404, TEXT.notFound)
  const status = !isAsked ? 403 : kept.sent.tone === 'bad' ? 422 : 200
  void reply.code(status)
  return await site.show(request, reply, correctionsDrawn(shown, query, kept.sent))
}

/** With the columns that a button asks for. */
function withColumns(
  query: Readonly<Record<string, string>>,
  { columns, add }: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (columns === undefined) return query
  return {
    ...query,
    columns: columns === 'add' ? `${query['columns'] ?? ''},${add ?? ''}` : columns,
  }
}

/** The page again with what was typed, where nothing is to be kept. */
async function unread(
  deps: ConsoleDeps,
  { page, fields }: Received,
  isAsked: boolean,
): Promise<SentCorrections> {
  const { config } = await deps.readings.config()
  const { typed, notes } = await readTypedCells(config, page, fields)
  const why = isAsked ? [] : [TEXT.act.noSession]
  return { typed, errors: new Map(), notes: [...why, ...notes], tone: isAsked ? 'look' : 'bad' }
}

const refused = (
  site: ActionSite,
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  message: string,
) => site.refuse(request, reply, { status, code: 'not_found', message })

/** @throws LedgerAway: nothing was kept */
async function writing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof LedgerError ? new LedgerAway(error.message) : error
  }
}

async function keepTyped(
  { parts, readings }: ConsoleDeps,
  { page, fields, query }: Received,
): Promise<Kept> {
  const { config } = await readings.config()
  const { rows, typed, errors, notes, columns } = await readTypedCells(config, page, fields)
  // A browser sends its name alone.
  const isFileGiven = (fields['file'] ?? '') !== ''
  const bad = (...more: readonly string[]): Kept => ({
    sent: { typed, errors, notes: [...more, ...notes], tone: 'bad' },
    columns,
  })
  if (errors.size > 0) return bad(words.wrong(errors.size))
  if (notes.length > 0) return bad()
  if (isFileGiven) return bad(words.fileToo)
  if (rows.length === 0) return { sent: { typed, errors, notes: [words.unchanged], tone: 'look' } }
  const earlier = page.view.correction?.correction ?? null
  const correction = await keepCorrectedRows(parts.place, page.run, earlier, rows)
  const kept = { correction, rows: rows.length, more: false, overtaken: 0 }
  const view = { ...page.view, correction: kept }
  const after = numberOf(query['after'])
  const to = correctionsPath(view, { after })
  return { to: `${to}${to.includes('?') ? '&' : '?'}saved=${rows.length}` }
}

async function keepFile(deps: ConsoleDeps, received: Received): Promise<Kept> {
  const { page, body } = received
  const bad = async (...notes: readonly string[]): Promise<Kept> => {
    const sent = await unread(deps, received, true)
    return { sent: { ...sent, notes: [...notes, ...sent.notes], tone: 'bad' } }
  }
  const file = await fileOf(body['file'])
  if (file === null) return await bad(words.noFile)
  const { config } = await deps.readings.config()
  const { rows } = await readTypedCells(config, page, received.fields)
  if (rows.length > 0) return await bad(words.typedToo(rows.length))
  try {
    const { correction, account } = await keepCorrectionFiles(deps.parts.place, page.run, [file])
    if (correction === null) return await bad(words.noRows)
    const sum = (counts: ReadonlyMap<string, number>) =>
      [...counts.values()].reduce((total, each) => total + each, 0)
    const { missing, ignored } = account.files[0]!
    const query = new URLSearchParams({ correction: String(correction) })
    for (const [name, value] of [
      ['restored', sum(account.restored)],
      ['missing', missing.length],
      ['ignored', ignored.length],
    ] as const)
      if (value > 0) query.set(name, String(value))
    return { to: `/runs/${page.run.id}/retry?${query.toString()}` }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return await bad(`${words.fileRefused} ${error.message}`)
  }
}

async function fileOf(value: unknown): Promise<Exclude<SpreadsheetFile, string> | null> {
  if (!(value instanceof File) || value.size === 0) return null
  const name = value.name.slice(0, NAME_CHARS_MAX)
  return { name, bytes: Buffer.from(await value.arrayBuffer()) }
}

export function correctionsDrawn(
  { view }: Pick<CorrectionsPage, 'view'>,
  query: Readonly<Record<string, string>>,
  sent?: SentCorrections,
): DrawnPage {
  const { run, correction } = view
  const saved = numberOf(query['saved'])
  const isKept = saved !== null && saved <= (correction?.rows ?? 0)
  return {
    title: `${words.title}, ${TEXT.run(run.run)}, ${run.sync}`,
    at: null,
    scripts: [PASTE_SCRIPT_PATH],
    main: correctionsMain(
      view,
      sent ?? {
        typed: new Map(),
        errors: new Map(),
        // A link alone says no more than is kept.
        notes: saved === null || !isKept ? [] : [words.saved(saved)],
        tone: 'good',
      },
      numberOf(query['after']),
    ),
  }
}

/** The file that `rejects` writes, of all rows that are left or of a group. */
async function download(
  deps: ConsoleDeps,
  site: ActionSite,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { parts, readings } = deps
  const id = numberOf(textsOf(request.params)['run'])
  const { group } = textsOf(request.query)
  const { config } = await readings.config()
  const run = id === null ? null : await readings.ledger((ledger) => ledger.run(id))
  if (
    run === null ||
    run.kind !== 'import' ||
    run.mode !== 'run' ||
    valuesFor(deps, config) === 'hidden'
  )
    return await refused(site, request, reply, 404, TEXT.notFound)
  const { place } = parts
  async function* lines(): AsyncGenerator<string> {
    const ledger = await place.openLedger()
    try {
      const sheet = createRejectsSheet(run!, false)
      yield BYTE_ORDER_MARK + sheet.header
      for await (const items of leftPages(ledger, run!))
        yield items
          .filter((item) => group === undefined || rejectGroupsOf(item).includes(group))
          .map((item) => sheet.line(item))
          .join('')
    } finally {
      await ledger.close()
    }
  }
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="rejects-${run.id}.csv"`)
    .send(Readable.from(lines()))
}
