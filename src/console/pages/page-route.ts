// What a page is to the server.

import type { Markup } from '../../report/escape.ts'
import type { ApiRequest } from '../api.ts'
import type { ConsoleDeps } from '../deps.ts'
import type { FrameParts } from './frame.ts'

export interface DrawnPage extends Pick<
  FrameParts,
  'title' | 'at' | 'query' | 'refreshes' | 'notice' | 'scripts'
> {
  readonly main: Markup
  /** Default: 200. */
  readonly status?: number
}

export interface PageRoute {
  /** As Fastify writes it: `/runs/:run`. */
  readonly path: string
  /** Whether it changes with the live runs. */
  readonly isLive: boolean
  /** Null: there is no such thing. */
  draw(deps: ConsoleDeps, request: ApiRequest): Promise<DrawnPage | null>
}
