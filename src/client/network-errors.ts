// What went wrong below HTTP, in our words. Promises kept here: no foreign message passes; "nothing was sent" is said only
// where it is certain.

/** No answer, or one that may not be read to its end. */
export class NoAnswer extends Error {
  /** False only where it is certain that the service saw nothing of the request. */
  readonly mayBeSent: boolean
  /** `distrusted`: something came, but it is not believed; `certificate`: the peer cannot prove who it is. */
  readonly kind: 'nothing' | 'distrusted' | 'certificate'
  constructor(message: string, mayBeSent: boolean, kind: NoAnswer['kind'] = 'nothing') {
    super(message)
    this.name = 'NoAnswer'
    this.mayBeSent = mayBeSent
    this.kind = kind
  }
}

/** Node's and OpenSSL's codes of a certificate that is not accepted. */
const certificateCode =
  /^(?:CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_)/

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name does not resolve for the moment',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_CLOSED: 'the client is closed',
  UND_ERR_DESTROYED: 'the client is closed',
}

/**
 * @param error what undici reported
 * @param started whether undici had begun to write the request
 * @param answering whether the head of an answer had arrived
 */
export function noAnswerOf(error: unknown, started: boolean, answering: boolean): NoAnswer {
  const code = codeOf(error)
  if (!started && certificateCode.test(code)) {
    return new NoAnswer('the certificate of the service is not valid', false, 'certificate')
  }
  const isProtocol = code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW'
  // Within a body the parser's errors mean that it ended too early.
  if (isProtocol && !answering) return new NoAnswer('the answer is not HTTP', started, 'distrusted')
  const known = words[code]
  if (known !== undefined && !answering) return new NoAnswer(known, started)
  const closed = answering
    ? 'connection closed before the answer was complete'
    : started
      ? 'connection closed before an answer came'
      : 'no connection'
  return new NoAnswer(closed, started)
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  if ('code' in error && typeof error.code === 'string') return error.code
  // undici's parser gives some of its errors no code.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'HPE_'
  // Several addresses were tried: the last one speaks for all.
  if (error instanceof AggregateError) return codeOf(error.errors.at(-1))
  return ''
}
