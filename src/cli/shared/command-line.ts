// A command line for a person to type: as this one was given, in words of a shell. Promise kept here: what is copied from the screen
// means what this command meant.

import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { stripControls } from './terminal.ts'

/** What says where and how long a command works, and not what it does. */
const OF_PLACE: ReadonlySet<string> = new Set(['local', 'detach', 'wait', 'beginMaxMs'])

/** A word as a shell takes it: in quotes where it would mean something else without. */
export const shellWord = (word: string): string =>
  /^[\w@%+:,./-][\w@%+=:,./-]*$/.test(word)
    ? word
    : `'${stripControls(word).replaceAll("'", String.raw`'\''`)}'`

/** `retry 1 --file rejects-1/*.csv`: a command with the options that it was given, as commander has read them. */
export function commandLine(words: readonly string[], options: object): string {
  const given = Object.entries(options).flatMap(([name, value]) => {
    if (OF_PLACE.has(name) || value === undefined || value === false) return []
    const option = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    if (value === true) return [option]
    const values = (Array.isArray(value) ? value : [value]).map(String)
    if (values.length === 0) return []
    // A value that begins with a dash would be taken for an option.
    if (values.some((one) => one.startsWith('-')))
      return values.map((one) => `${option}=${shellWord(one)}`)
    return [option, ...(name === 'file' ? fileWords(values) : values.map(shellWord))]
  })
  return [...words.map(shellWord), ...given].join(' ')
}

/** The same, where all parts are started for it. @param dev `dev`, with the options that it was given */
export const withinDev = (line: string, dev = 'dev'): string => `${dev} -- ${line}`
/** The same, where Temporal server and worker are started for it. */
export const withLocal = (line: string): string => `${line} --local`

/** All CSV files of a folder, as a shell finds them. */
export function allCsvOf(folder: string): string {
  const within = join(folder, 'x').slice(0, -1)
  const prefix = within.startsWith('-') ? `./${within}` : within
  return `${prefix === '' ? '' : shellWord(prefix)}*.csv`
}

/** The files; the pattern that a person most likely typed, where they are all CSV files of one folder. */
function fileWords(files: readonly string[]): readonly string[] {
  const plain = files.map(shellWord)
  const [folder, ...others] = [...new Set(files.map(dirname))]
  if (files.length < 2 || folder === undefined || others.length > 0) return plain
  const names = new Set(files.map((file) => basename(file)))
  const there = csvOf(folder)
  const isAll = there.length === names.size && there.every((name) => names.has(name))
  return isAll ? [allCsvOf(folder)] : plain
}

function csvOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.csv') && !name.startsWith('.'))
  } catch {
    return []
  }
}
