// Small programs that stand in for `temporal`, `go` and `npm`, and folders that go away with the test.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

export function tempFolder(): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'records-sync-'))
  onTestFinished(() => fs.rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Writes an executable shell script and returns its path. */
export function script(file: string, ...lines: string[]): string {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 })
  return file
}

/** What a script must say to pass for the Temporal CLI. */
export function saysVersion(version: string): string {
  return `echo 'temporal version ${version} (Server 1.29.1, UI 2.42.1)'`
}
