// The types of temporal-get.mjs.

export interface TemporalCli {
  readonly path: string
  /** As the program reports it: `1.5.1`; a plain build reports `0.0.0-DEV`. */
  readonly version: string
  readonly origin: 'path' | 'cache' | 'download' | 'pip' | 'go'
}

export interface GetTemporalCli {
  readonly env: NodeJS.ProcessEnv
  /** Default: `records-sync` in `XDG_CACHE_HOME`, else in `~/.cache`. */
  readonly cacheDir?: string
  /** Gets a line at the end of a slow step; without a screen also when it begins, and every 30 s while it continues. */
  readonly progress: (line: string) => void
  /** Where a line is rewritten every second while a slow step continues. Default: nowhere. */
  readonly screen?: StatusScreen
  /** For the download. Default: the global one. */
  readonly fetch?: typeof fetch
  /** Ends what is under way. */
  readonly signal?: AbortSignal
}

export interface StatusScreen {
  readonly columns: number
  live(line: string): void
  end(): void
}

export class TemporalCliMissing extends Error {}

/** @throws TemporalCliMissing if no way leads to a working program */
export function getTemporalCli(options: GetTemporalCli): Promise<TemporalCli>

/** One that is there already, on the PATH or in the cache; null if it would have to be fetched. */
export function installedTemporalCli(
  options: Pick<GetTemporalCli, 'env' | 'cacheDir'>,
): Promise<TemporalCli | null>

export function statusText(
  job: { readonly origin: string; readonly began: number; readonly why: string | null },
  columns: number,
): string
