// Addresses of pages of the Temporal UI. Promise kept here: a page opens in every generation of the UI since 2.42.
// With `''` in place of the UI's address they are links within the UI, such as the details of a run may hold.

const defaultPort = 7233
/** The UI of a development server has a port this much higher than that of the server. */
export const UI_PORT_ABOVE = 1_000
const loopback = /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/

/** Where the pages of one namespace are. */
export interface UiLocation {
  /** `https://temporal.example.com/ui`, or `''` */
  readonly ui: string
  readonly namespace: string
}

/**
 * Address of the UI that belongs to a Temporal server at `host:port`: `configured`, else that of a development server on
 * this machine, which has its UI 1,000 ports higher. Null if it is neither: then only a person knows it.
 */
export function uiAddress(address: string, configured?: string): string | null {
  if (configured !== undefined) return configured
  const [, host = '', port = defaultPort] = /^(.*?)(?::(\d+))?$/.exec(address)!
  return loopback.test(host) ? `http://${host}:${Number(port) + UI_PORT_ABOVE}` : null
}

/**
 * The start form, filled in. The UI takes its input from the newest run of that id and type, so there must be one; the run
 * that it starts has the same id. Other ways to choose the input differ between generations of the UI.
 */
export function startLink(
  place: UiLocation,
  form: { readonly taskQueue: string; readonly workflowType: string; readonly workflowId: string },
): string {
  const { taskQueue, workflowType, workflowId } = form
  return page(place, '/workflows/start-workflow', { taskQueue, workflowType, workflowId })
}

/** A run, or the newest one of its id. */
export function runLink(place: UiLocation, workflowId: string, runId?: string): string {
  const run = runId === undefined ? '' : `/${encodeURIComponent(runId)}`
  return page(place, `/workflows/${encodeURIComponent(workflowId)}${run}`)
}

/** The list of the runs that have all of these: search attributes by name, such as `{ SyncState: 'blocked' }`. */
export function listLink(
  place: UiLocation,
  wanted: Readonly<Record<string, string | number>>,
): string {
  const query = Object.entries(wanted)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(' AND ')
  return page(place, '/workflows', { query })
}

function page(
  { ui, namespace }: UiLocation,
  path: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const query = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  const base = `${ui.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}${path}`
  return query === '' ? base : `${base}?${query}`
}
