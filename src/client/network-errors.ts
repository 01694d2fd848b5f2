// What went wrong below HTTP, in our words. Promises kept here: no foreign message passes; "nothing was sent" is said only if it
// is certain.

/** No answer, or one that could not be read to its end. */
export class NoAnswer extends Error {
  /** False only if it is certain that the service saw nothing of the request. */
  readonly mayBeSent: boolean
  /**
   * `distrusted`: something came, but it is not a valid answer; `certificate`: the peer cannot prove its identity; `late`: the
   * request had to be sent earlier, or not at all.
   */
  readonly kind: 'nothing' | 'distrusted' | 'certificate' | 'late'
  constructor(message: string, mayBeSent: boolean, kind: NoAnswer['kind'] = 'nothing') {
    super(message)
    this.name = 'NoAnswer'
    this.mayBeSent = mayBeSent
    this.kind = kind
  }
}

/** Node's and OpenSSL's codes for a certificate that is not accepted. */
const certificateCode =
  /^(?:CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_)/

/** OpenSSL's codes for an answer that is not TLS: a plain one, as a rule. */
const plainAnswer = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL)$/

const clientClosed = () => 'the client is closed'
const noMoreFiles = (peer: string) =>
  `no connection to ${peer}: no more files can be opened (ulimit -n)`
const words: Readonly<Record<string, (peer: string) => string>> = {
  ECONNREFUSED: (peer) => `connection refused by ${peer}`,
  ENOTFOUND: (peer) => `the host name of ${peer} does not resolve`,
  EAI_AGAIN: (peer) => `the host name of ${peer} does not resolve for the moment`,
  EHOSTUNREACH: (peer) => `${peer} cannot be reached`,
  ENETUNREACH: (peer) => `the network of ${peer} cannot be reached`,
  ETIMEDOUT: (peer) => `the connection to ${peer} timed out`,
  UND_ERR_CONNECT_TIMEOUT: (peer) => `no connection to ${peer} in time`,
  EMFILE: noMoreFiles,
  ENFILE: noMoreFiles,
  UND_ERR_CLOSED: clientClosed,
  UND_ERR_DESTROYED: clientClosed,
}

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
  const code = codeOf(error)
  const peer = peerOf(origin)
  if (!started && certificateCode.test(code)) {
    return new NoAnswer(`the certificate of ${peer} is not valid`, false, 'certificate')
  }
  if (!started && plainAnswer.test(code)) {
    return new NoAnswer(
      `${peer} answers, but not with TLS; is its address http://?`,
      false,
      'distrusted',
    )
  }
  const isProtocol = code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW'
  // Within a body the parser's errors mean that it ended too early.
  if (isProtocol && !answering) return new NoAnswer('the answer is not HTTP', started, 'distrusted')
  const known = words[code]
  if (known && !answering) return new NoAnswer(known(peer), started)
  const closed = answering
    ? 'connection closed before the answer was complete'
    : started
      ? 'connection closed before an answer came'
      : `no connection to ${peer}`
  return new NoAnswer(closed, started)
}

/** `HOST:PORT` */
function peerOf(origin: string): string {
  const { hostname, port, protocol } = new URL(origin)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  // undici's parser gives some of its errors no code.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'HPE_'
  // Several addresses were tried: the last error counts.
  if (error instanceof AggregateError) return codeOf(error.errors.at(-1))
  return ''
}
