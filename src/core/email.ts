// Whether a text is an e-mail address: one rule for the connector and the service. The form is that of RFC 5321 and 6531, for addresses on
// the Internet: a domain has a dot and no number for its last part. Promise kept here: an address with something around it is none.

const ATOM = String.raw`[\p{L}\p{N}\p{M}!#$%&'*+/=?^_\x60{|}~-]+`
/** `"john smith"`: anything may be in quotes. */
const QUOTED = String.raw`"(?:[^"\\\p{C}]|\\[^\p{C}])+"`
const LABEL = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?`
const ADDRESS = new RegExp(
  // A spreadsheet guards texts with a first `=` or `'`.
  String.raw`^(?![='])(?<local>${ATOM}(?:\.${ATOM})*|${QUOTED})@(?:${LABEL}\.)+(?!\p{N}+$)${LABEL}$`,
  'u',
)

const LOCAL_OCTETS_MAX = 64
const OCTETS_MAX = 254
const octets = (text: string): number => Buffer.byteLength(text)

/** Whether a text is one e-mail address, and nothing else. */
export function isEmail(text: string): boolean {
  // An expression is tried on no longer text.
  if (text.length > OCTETS_MAX) return false
  const local = ADDRESS.exec(text)?.groups?.['local']
  return local !== undefined && octets(local) <= LOCAL_OCTETS_MAX && octets(text) <= OCTETS_MAX
}

/** What reads an address with something around it, as a `pattern` of a mapping. */
export const EMAIL_PATTERN = String.raw`(?<email>[\pL\pN._%+-]+@[\pL\pN.-]+\pL)`

const INSIDE = /[\p{L}\p{N}._%+-]+@[\p{L}\p{N}.-]+\p{L}/gu

/** Whether a text that is no address has exactly one in it. */
export function hasEmail(text: string): boolean {
  if (text.length > OCTETS_MAX * 2) return false
  const found = text.match(INSIDE) ?? []
  return found.length === 1 && isEmail(found[0])
}
