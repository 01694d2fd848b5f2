// The domain of a company, from what files have in its place: a URL, or a host with `www.`.

/** In small letters, without what is around it; null if there is none. A number, a day or an address of IP is none. */
export function domainOf(cell: string): string | null {
  const [, host = ''] = /^(?:https?:)?(?:\/\/)?(?:www\.)?([^/?#:]+)(?::\d+)?(?:[/?#]\S*)?$/i.exec(
    cell.trim(),
  ) ?? [null, '']
  const domain = host.toLowerCase().replace(/\.$/, '')
  return /^(?:[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M}_-]*)\.)+(?=[^.]*\p{L})[\p{L}\p{N}][\p{L}\p{N}\p{M}-]+$/u.test(
    domain,
  )
    ? domain
    : null
}
