// What went wrong below HTTP, for the client. Promises kept here: no foreign message passes; "nothing was sent" is said only if it
// is certain.

import { codeOf, networkFault, SERVICE_TLS } from '../core/network-faults.ts'

/** No answer, or one that could not be read to its end. */
export class NoAnswer extends Error {
  /** False only if it is certain that the service saw nothing of the request. */
  readonly mayBeSent: boolean
  /**
   * `distrusted`: something came, but it is not a valid answer; `barred`: the peer cannot prove its identity, or TLS or a proxy is
   * in the way, which a person has to mend; `late`: the request had to be sent earlier, or not at all; where it may be sent, the process stood still
   * while it was written.
   */
  readonly kind: 'nothing' | 'distrusted' | 'barred' | 'late'
  /** Whether the message has the cause, and what to do about it. */
  readonly isExplained: boolean
  constructor(
    message: string,
    mayBeSent: boolean,
    kind: NoAnswer['kind'] = 'nothing',
    isExplained = false,
  ) {
    super(message)
    this.name = 'NoAnswer'
    this.mayBeSent = mayBeSent
    this.kind = kind
    this.isExplained = isExplained
  }
}

const clientClosed = 'the client is closed'
const KINDS = {
  away: 'nothing',
  plain: 'distrusted',
  certificate: 'barred',
  tls: 'barred',
  proxy: 'barred',
} as const

/**
 * @param error what undici reported
 * @param origin where the request went
 * @param started whether undici had begun to write the request
 * @param answering whether the head of an answer had arrived
 */
export function classifyNetworkError(
  error: unknown,
  origin: string,
  started: boolean,
  answering: boolean,
): NoAnswer {
  const peer = peerOf(origin)
  const fault = answering ? null : networkFault(error, peer, SERVICE_TLS)
  // A connection that was lost under way says nothing of how to reach the service.
  if (fault !== null && !(started && fault.kind === 'away'))
    return new NoAnswer(`${fault.what}; ${fault.todo}`, started, KINDS[fault.kind], true)
  const code = codeOf(error)
  // undici's parser gives some of its errors no code.
  const isProtocol =
    code.startsWith('HPE_') ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    (error instanceof Error && error.name === 'HTTPParserError')
  // Within a body the parser's errors mean that it ended too early.
  if (isProtocol && !answering) return new NoAnswer('the answer is not HTTP', started, 'distrusted')
  if (code === 'UND_ERR_CLOSED' || code === 'UND_ERR_DESTROYED')
    return new NoAnswer(clientClosed, started)
  const closed = answering
    ? 'connection closed before the answer was complete'
    : started
      ? 'connection closed before an answer came'
      : origin.startsWith('https:')
        ? `${peer} closed the connection during the TLS handshake`
        : `no connection to ${peer}`
  return new NoAnswer(closed, started)
}

/** The service ends each connection after the handshake, before it is asked for anything. */
export const certificateWanted = (origin: string, mayBeSent: boolean): NoAnswer =>
  new NoAnswer(
    `${peerOf(origin)} ends connections right after the TLS handshake: as a rule it asks for a client certificate; ${SERVICE_TLS.client}`,
    mayBeSent,
    'barred',
    true,
  )

/** The service speaks TLS alone, and the address says http. */
export const tlsExpected = (origin: string, mayBeSent: boolean): NoAnswer =>
  new NoAnswer(
    `${peerOf(origin)} expects TLS; write https:// in its address`,
    mayBeSent,
    'barred',
    true,
  )

/** `HOST:PORT` */
function peerOf(origin: string): string {
  const { hostname, port, protocol } = new URL(origin)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}
