// The hosts that a listener without a login answers as. Promise kept here: a page of the web that leads a name of its own to this machine
// (DNS rebinding) gets nothing.

import { isIP } from 'node:net'
import { hostname } from 'node:os'

/**
 * Whether a `Host` cannot be a name of the web: an address, a name without a dot such as `localhost`, the name of this machine, or one of
 * `names`. A program that names none is no browser.
 */
export function isKnownHost(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined) return true
  const [, address, name] =
    /^(?:\[([\da-f:.]+)\]|([a-z\d_-]+(?:\.[a-z\d_-]+)*)\.?)(?::\d{1,5})?$/.exec(
      host.toLowerCase(),
    ) ?? []
  if (address !== undefined) return isIP(address) === 6
  if (name === undefined) return false
  if (isIP(name) === 4 || !name.includes('.')) return true
  return [hostname(), ...names].some((known) => known.toLowerCase() === name)
}
