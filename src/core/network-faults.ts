// Why a connection failed, in our words: the one classification for services, webhooks, proxies, Temporal and PostgreSQL.
// Promises kept here: no foreign message passes; each fault is named as what it is, with what to do about it.

import { tooManyOpenFiles } from './open-files.ts'

export interface NetworkFault {
  /**
   * `away`: it may pass by itself. `certificate`, `tls`, `proxy`: a person has to mend it. `plain`: the other side speaks no TLS.
   */
  readonly kind: 'away' | 'certificate' | 'tls' | 'proxy' | 'plain'
  /** Such as `connection refused by 127.0.0.1:8080`. */
  readonly what: string
  /** What to do about it. */
  readonly todo: string
}

/** The settings with which a person mends the TLS of a connection, in the words of its configuration. */
export interface TlsWords {
  /** @param of what the file has to hold */
  ca(of: string): string
  /** The certificate is for another name. */
  readonly name: string
  /** The server asks for a certificate of ours. */
  readonly client: string
  /** Whether names are shown; not where the address is a secret. Default true. */
  readonly showsNames?: boolean
}

/** `owner`: whose setting `ca` is. */
export const ownTls = (owner: string): TlsWords => ({
  ca: (of) =>
    `set \`ca\` of the ${owner} to a PEM file with ${of}, or NODE_EXTRA_CA_CERTS for the whole process`,
  name: 'put a name of the certificate into the address, or have it issued for this one too',
  client: `a ${owner} cannot give one: put the address of a gateway there which has it`,
})
export const SERVICE_TLS = ownTls('connection')

/** A proxy is in the way of a connection. */
export class ProxyFault extends Error {
  /** Its `host:port`. */
  readonly proxy: string
  /** The variable of the environment that names it. */
  readonly variable: string
  /** Its answer; null: none came, or none of HTTP. */
  readonly status: number | null
  /** Whether its URL has a login. */
  readonly hasLogin: boolean
  constructor(
    facts: Pick<ProxyFault, 'proxy' | 'variable' | 'hasLogin'>,
    status: number | null,
    cause?: unknown,
  ) {
    super('proxy', { cause })
    this.name = 'ProxyFault'
    this.proxy = facts.proxy
    this.variable = facts.variable
    this.hasLogin = facts.hasLogin
    this.status = status
  }
}

/**
 * Null: the error says nothing of the cause, such as a connection that was closed.
 * @param peer `host:port` of the other side, as messages name it
 */
export function networkFault(
  error: unknown,
  peer: string,
  words: TlsWords = SERVICE_TLS,
): NetworkFault | null {
  if (error instanceof ProxyFault) return proxyFault(error, peer)
  const full = tooManyOpenFiles(error)
  if (full !== null) {
    const end = full.message.indexOf(': ')
    const what = lowerFirst(full.message.slice(0, end))
    return {
      kind: 'away',
      what: `no connection to ${peer}: ${what}`,
      todo: full.message.slice(end + 2),
    }
  }
  const cause = tellingError(error)
  const code = codeOf(cause)
  const certificate = certificateFault(cause, words)
  if (certificate !== null)
    return {
      kind: 'certificate',
      what: `the certificate of ${peer} is not trusted: ${certificate.what}`,
      todo: certificate.todo,
    }
  return handshakeFault(code, peer, words) ?? AWAY[code]?.(peer) ?? null
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const away =
  (what: (peer: string) => string, todo: string) =>
  (peer: string): NetworkFault => ({ kind: 'away', what: what(peer), todo })

const noRoute = away(
  (peer) => `the network of ${peer} cannot be reached`,
  'see the network and the routes of this machine (VPN?), or correct the address',
)
const inTime = away(
  (peer) => `no connection to ${peer} in time`,
  'see whether a firewall is in the way, or the host is down; or correct the address',
)
const forbidden = away(
  (peer) => `this machine does not let us connect to ${peer}`,
  'let its firewall, or the rules of its container, allow it',
)
const unresolved = away(
  (peer) => `the host name of ${peer} does not resolve`,
  'correct the address, or see the DNS of this machine',
)

/** By code of Node or of the system. */
const AWAY: Readonly<Record<string, (peer: string) => NetworkFault>> = {
  ECONNREFUSED: away(
    (peer) => `connection refused by ${peer}`,
    'start what listens there, or correct the address',
  ),
  ENOTFOUND: unresolved,
  EAI_NONAME: unresolved,
  EAI_NODATA: unresolved,
  EAI_AGAIN: away(
    (peer) => `the host name of ${peer} does not resolve for the moment`,
    'see whether this machine reaches its DNS server',
  ),
  EHOSTUNREACH: away(
    (peer) => `${peer} cannot be reached`,
    'see whether the host is up and in this network, or correct the address',
  ),
  EHOSTDOWN: noRoute,
  ENETUNREACH: noRoute,
  ENETDOWN: noRoute,
  EADDRNOTAVAIL: noRoute,
  EAFNOSUPPORT: noRoute,
  ETIMEDOUT: inTime,
  UND_ERR_CONNECT_TIMEOUT: inTime,
  EACCES: forbidden,
  EPERM: forbidden,
}

/** Of one address of several that were tried, these say the least: this machine has no IPv6, as a rule. */
const NO_ROUTE = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'])

/** Of several addresses that were tried, the error that says the most. */
function tellingError(error: unknown): unknown {
  if (!(error instanceof AggregateError)) return error
  return error.errors.findLast((one) => !NO_ROUTE.has(codeOf(one))) ?? error.errors.at(-1) ?? error
}

/** The code of Node, OpenSSL or the system; '' if there is none. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(tellingError(error))
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  if (typeof error.code !== 'string') return ''
  // A handshake that fails in the midst of a write has the code of OpenSSL in its text alone.
  const [, reason] =
    /:SSL routines:[^:]*:([\w /]{1,80}):/.exec('message' in error ? String(error.message) : '') ??
    []
  return error.code === 'EPROTO' && reason !== undefined
    ? `ERR_SSL_${reason.toUpperCase().replaceAll(' ', '_')}`
    : error.code
}

/** Node's and OpenSSL's codes for a certificate that is not accepted. */
const CERTIFICATE =
  /^(?:CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)|PATH_LENGTH_|CA_MD_|(?:CA|EE)_KEY_|ERR_SSL_(?:CA_MD|CA_KEY|EE_KEY|CERTIFICATE_VERIFY))/

/** Why the certificate of the other side is not trusted, as the end of a sentence; null if it is about something else. */
export function certificateFault(
  error: unknown,
  words: TlsWords,
): Pick<NetworkFault, 'what' | 'todo'> | null {
  const code = codeOf(error)
  if (!CERTIFICATE.test(code)) return null
  const renew = 'whoever runs the server has to renew it'
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'HOSTNAME_MISMATCH':
      return { what: otherName(error, words), todo: words.name }
    case 'CERT_HAS_EXPIRED':
      return { what: 'it has expired', todo: `${renew}; if others trust it, set this clock right` }
    case 'CERT_NOT_YET_VALID':
      return { what: 'it is not valid yet', todo: 'check the clock of this machine' }
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return { what: 'it is self-signed', todo: words.ca('this certificate') }
    case 'CERT_REVOKED':
      return { what: 'it was revoked', todo: renew }
    case 'UNABLE_TO_GET_ISSUER_CERT':
      return {
        what: 'the CA above the one that we know is missing',
        todo: words.ca('the whole chain, the root CA too'),
      }
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'CERT_UNTRUSTED':
      return {
        what: `no CA that we know has signed it (${code})`,
        todo: words.ca('the certificate of its CA'),
      }
    default:
      return { what: `it is not valid (${shown(code)})`, todo: renew }
  }
}

/** OpenSSL's codes are words of capitals; some have a slash. */
const shown = (code: string): string => (/^[\w/]{1,80}$/.test(code) ? code : 'unknown')

const NAMES_MAX = 5

function otherName(error: unknown, { showsNames = true }: TlsWords): string {
  const { host, cert } = error as {
    host?: unknown
    cert?: { subjectaltname?: unknown; subject?: { CN?: unknown } }
  }
  const listed = String(cert?.subjectaltname ?? cert?.subject?.CN ?? '')
    .split(', ')
    .map((name) => name.replace(/^(?:DNS|IP Address):/, ''))
    // A certificate is a foreign text.
    .filter((name) => /^[\w.:*-]{1,253}$/.test(name))
  if (!showsNames || listed.length === 0) return 'it is for another name'
  const more = listed.length > NAMES_MAX ? ` and ${listed.length - NAMES_MAX} more` : ''
  const asked = /^[\w.:-]{1,253}$/.test(String(host)) ? `, not for ${String(host)}` : ''
  return `it is for another name: for ${listed.slice(0, NAMES_MAX).join(', ')}${more}${asked}`
}

/** How a TLS handshake ends that is not about the server's certificate. */
function handshakeFault(code: string, peer: string, words: TlsWords): NetworkFault | null {
  if (!code.startsWith('ERR_SSL_') && code !== 'EPROTO') return null
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|RECORD_OVERFLOW/.test(code))
    return {
      kind: 'plain',
      what: `${peer} answers, but not with TLS`,
      todo: 'is its address http://? Only this machine is asked without TLS; any other needs it',
    }
  const tls = (what: string, todo: string): NetworkFault => ({ kind: 'tls', what, todo })
  if (
    /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_|NO_PROTOCOLS|INAPPROPRIATE_FALLBACK/.test(
      code,
    )
  )
    return tls(
      `${peer} and this program have no version of TLS in common (${shown(code)})`,
      'let the server speak TLS 1.2 or 1.3; see --tls-min and --tls-max in NODE_OPTIONS',
    )
  if (/CERTIFICATE_REQUIRED|ALERT_(?:\w*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(code))
    return tls(`${peer} asks for a client certificate (${shown(code)})`, words.client)
  if (/HANDSHAKE_FAILURE|INSUFFICIENT_SECURITY|NO_SHARED_CIPHER/.test(code))
    return tls(
      `${peer} ended the TLS handshake (${shown(code)}): it asks for a client certificate, or has no cipher in common with us`,
      `in the first case ${words.client}; in the second let it speak TLS 1.2 or 1.3 as usual`,
    )
  if (/UNRECOGNIZED_NAME|ALERT_INTERNAL_ERROR/.test(code))
    return tls(
      `${peer} ended the TLS handshake (${shown(code)}): as a rule it has no certificate for this name`,
      'correct the host of the address, or let the server have a certificate for it',
    )
  return tls(
    `the TLS handshake with ${peer} failed (${shown(code)})`,
    'see the log of the server, and whether something between it and this machine changes TLS',
  )
}

function proxyFault(fault: ProxyFault, peer: string): NetworkFault {
  const { status, variable, hasLogin } = fault
  const proxy = `the proxy ${fault.proxy} (${variable})`
  const around = `or name the host in NO_PROXY if it is reached without a proxy`
  if (status === 407)
    return {
      kind: 'proxy',
      what: hasLogin
        ? `${proxy} does not accept the login in its URL (status 407)`
        : `${proxy} asks for a login (status 407)`,
      todo: `set ${variable} to http://USER:PASSWORD@HOST:PORT, with %40 for @, ${around}`,
    }
  if (status !== null && status >= 500)
    return {
      kind: 'away',
      what: `${proxy} did not reach ${peer} (status ${status})`,
      todo: `correct the address if it is wrong, ${around}`,
    }
  if (status !== null)
    return {
      kind: 'proxy',
      what: `${proxy} refuses a connection to ${peer} (status ${status})`,
      todo: `let whoever runs the proxy allow it, ${around}`,
    }
  const cause = networkFault(fault.cause, fault.proxy, proxyTls)
  if (cause !== null)
    return {
      kind: cause.kind,
      what: `${proxy} cannot be used: ${cause.what}`,
      todo: cause.kind === 'away' ? `correct ${variable}, ${around}` : cause.todo,
    }
  return {
    kind: 'away',
    what: `${proxy} does not answer as an HTTP proxy`,
    todo: `correct ${variable}, ${around}`,
  }
}

const proxyTls: TlsWords = {
  ca: (of) => `set NODE_EXTRA_CA_CERTS to a PEM file with ${of}`,
  name: 'put a name of the certificate into the variable',
  client: 'a proxy cannot be given one',
}
