// Names of this machine that no other machine reaches.

export const isLoopbackName = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)

/** `host:port`, as settings write it; the brackets of an IPv6 address are gone. */
export function splitHostPort(text: string): { readonly host: string; readonly port: number } {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(at + 1)) }
}
