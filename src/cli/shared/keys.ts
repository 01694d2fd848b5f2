// Single keys of a person at a terminal.

import { emitKeypressEvents } from 'node:readline'

/** What is used of `process.stdin`. */
export type KeyInput = Pick<
  NodeJS.ReadStream,
  'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause' | 'unref'
>

/** `up`, `p`, `ctrl-c`: letters as they were typed, small. */
function nameOf(key: { name?: string; ctrl?: boolean; sequence?: string }): string {
  const name = (key.name ?? key.sequence ?? '').toLowerCase()
  return key.ctrl ? `ctrl-${name}` : name
}

/**
 * Calls `onKey` for each key until the function that it returns is called.
 * @returns null where nobody types: keys come from a terminal alone
 */
export function readKeys(input: KeyInput, onKey: (key: string) => void): (() => void) | null {
  if (!input.isTTY) return null
  const listen = (_text: string | undefined, key: Parameters<typeof nameOf>[0]) =>
    onKey(nameOf(key))
  emitKeypressEvents(input as NodeJS.ReadStream)
  input.setRawMode(true)
  input.on('keypress', listen)
  input.resume()
  return () => {
    input.off('keypress', listen)
    input.setRawMode(false)
    input.pause()
    input.unref?.()
  }
}
