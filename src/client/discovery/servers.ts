// `servers` of a document: only their paths count. Promise kept here: requests go to the configured origin, whichever origin a
// document names.

import { listMember, ownMember } from './schema-view.ts'

/** Where the document was read, and the path before `/rest/v1` there. */
export interface DocumentPlace {
  readonly url: string
  /** As in `Address`. */
  readonly prefix: string
}

const serversMax = 10

/** The URLs of the servers that a node names, with variables filled in and relative URLs made absolute. */
function serverUrls(node: unknown, place: DocumentPlace): URL[] {
  const servers = listMember(node, 'servers').slice(0, serversMax)
  return servers.flatMap((server) => {
    const written = ownMember(server, 'url')
    if (typeof written !== 'string' || written.length > 500) return []
    const variables = ownMember(server, 'variables')
    const filled = written.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
      const value = ownMember(ownMember(variables, name), 'default')
      return typeof value === 'string' ? value : whole
    })
    return URL.canParse(filled, place.url) ? [new URL(filled, place.url)] : []
  })
}

/** The path before the paths of the document: from the server with the document's own origin, else from the first. */
export function serverPath(node: unknown, place: DocumentPlace): string {
  const urls = serverUrls(node, place)
  const { origin } = new URL(place.url)
  const url = urls.find((one) => one.origin === origin) ?? urls[0]
  return url?.pathname.replace(/\/+$/, '') ?? ''
}

/** The origin of the first server, if no server has the document's own. */
export function foreignOrigin(document: unknown, place: DocumentPlace): string | undefined {
  const urls = serverUrls(document, place)
  const { origin } = new URL(place.url)
  return urls.some((url) => url.origin === origin) ? undefined : urls[0]?.origin
}
