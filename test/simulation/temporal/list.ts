// The part of the server's list filters that our code uses: comparisons for equality, joined by AND.

import { defaultPayloadConverter } from '@temporalio/common'
import type { Execution } from './execution.ts'
import { CODE, RpcError } from './wire.ts'

export function isMatch(run: Execution, query: string): boolean {
  const text = query.trim()
  if (text === '') return true
  return text.split(/\s+and\s+/i).every((part) => {
    const [, rawName, raw] = /^[`"]?(\w+)[`"]?\s*=\s*(.+)$/.exec(part.trim()) ?? []
    if (rawName === undefined || raw === undefined)
      throw new RpcError(CODE.invalid, `the simulation cannot filter by: ${part}`)
    const wanted = raw.replaceAll(/^['"]|['"]$/g, '')
    return valuesOf(run, rawName).includes(wanted)
  })
}

function valuesOf(run: Execution, name: string): string[] {
  const builtIn: Readonly<Record<string, string>> = {
    WorkflowId: run.id,
    RunId: run.runId,
    WorkflowType: run.order.type,
    ExecutionStatus: run.status,
    TaskQueue: run.order.queue,
  }
  if (name in builtIn) return [builtIn[name]!]
  const payload = run.searchAttributes[name]
  if (payload === undefined) return []
  const value: unknown = defaultPayloadConverter.fromPayload(payload)
  return (Array.isArray(value) ? value : [value]).map(String)
}
