// The SDK's own virtual machine for workflow code, in this thread.

import { createRequire } from 'node:module'
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker'
import proto, { type coresdk } from '@temporalio/proto'

export type Activation = coresdk.workflow_activation.IWorkflowActivation
export type Job = coresdk.workflow_activation.IWorkflowActivationJob
export type WireCommand = coresdk.workflow_commands.IWorkflowCommand
type Completion = coresdk.workflow_completion.IWorkflowActivationCompletion

/** One workflow in the machine. */
export interface VmWorkflow {
  activate(activation: Activation): Promise<Completion>
  getAndResetSinkCalls(): Promise<unknown[]>
  dispose(): Promise<void>
}

export interface VmCreator {
  createWorkflow(options: object): Promise<VmWorkflow>
}

const require = createRequire(import.meta.url)
const { ReusableVMWorkflowCreator } = require('@temporalio/worker/lib/workflow/reusable-vm.js') as {
  ReusableVMWorkflowCreator: {
    create(bundle: object, timeoutMs: undefined, names: ReadonlySet<string>): Promise<VmCreator>
    unhandledRejectionHandlerHasBeenSet: boolean
    readonly workflowByRunId: ReadonlyMap<string, { setUnhandledRejection(error: Error): void }>
  }
}
const { globalHandlers } = require('@temporalio/worker/lib/workflow/vm-shared.js') as {
  globalHandlers: { installed: boolean }
}

/** Code of workflows, as `bundleWorkflowCode` gives it. */
export type Bundle = Pick<WorkflowBundleWithSourceMap, 'code'>

/**
 * A promise of a workflow that fails unheard fails its task. The SDK's own watch would also throw another error for each one that is of
 * no workflow; those are none of its business here.
 */
function watchRejections(): void {
  if (ReusableVMWorkflowCreator.unhandledRejectionHandlerHasBeenSet) return
  ReusableVMWorkflowCreator.unhandledRejectionHandlerHasBeenSet = true
  process.on('unhandledRejection', (reason: unknown, promise: Promise<unknown>) => {
    const makeFunction = promise.constructor.constructor as FunctionConstructor
    const activator = makeFunction('return globalThis.__TEMPORAL_ACTIVATOR__')() as
      | { readonly info: { readonly runId: string } }
      | undefined
    const workflow = ReusableVMWorkflowCreator.workflowByRunId.get(activator?.info.runId ?? '')
    if (workflow)
      workflow.setUnhandledRejection(new Error(`Unhandled rejection: ${String(reason)}`))
    else if (process.listenerCount('unhandledRejection') === 1) throw reason
  })
}

const creators = new Map<string, Promise<VmCreator>>()

/** The machine for a bundle. There is one in a process: each workflow in it has modules and globals of its own. */
export function vmOf({ code }: Bundle): Promise<VmCreator> {
  // Else every promise of the process would take its stack, for a query that nobody asks here.
  globalHandlers.installed = true
  watchRejections()
  let made = creators.get(code)
  if (made === undefined) {
    const bundle = {
      code,
      filename: `workflow-bundle-${creators.size}.js`,
      sourceMap: { version: 3, sources: [], names: [], mappings: '' },
    }
    // Without a time limit: how far a workflow comes must not depend on the machine.
    creators.set(code, (made = ReusableVMWorkflowCreator.create(bundle, undefined, new Set())))
  }
  return made
}

/** The SDK passes queries on as they are, so they need the protocol's own form. */
export const queryActivation = (of: Activation): Activation =>
  proto.coresdk.workflow_activation.WorkflowActivation.fromObject(of)

const realImmediate = globalThis.setImmediate

/** Activates a workflow within one real turn of the loop, whatever the timers of this process are at the moment. */
export function activate(workflow: VmWorkflow, activation: Activation): Promise<Completion> {
  const now = globalThis.setImmediate
  globalThis.setImmediate = realImmediate
  try {
    // The SDK asks for the turn before its first await.
    return workflow.activate(activation)
  } finally {
    globalThis.setImmediate = now
  }
}
