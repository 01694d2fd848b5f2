// What a worker says where the Temporal server does not take its search attributes.

import type { ConnectionLike } from '@temporalio/client'
import { expect, test } from 'vitest'
import { ensureSearchAttributes } from '../../../src/temporal/search-attributes.ts'

/** A server whose operator service ends each call with a gRPC status. */
const serverThatFails = (code: number): ConnectionLike =>
  ({
    withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
    operatorService: {
      listSearchAttributes: async () => {
        throw Object.assign(new Error(`${code} FAILED`), { code, details: '', metadata: {} })
      },
    },
  }) as never

test.each([4, 8, 14])(
  'a server that owes its answer (status %i) is to be waited for',
  async (code) => {
    const registering = ensureSearchAttributes(serverThatFails(code), 'sales')
    await expect(registering).rejects.toThrow(/did not list or register .* in namespace sales/)
    await expect(registering).rejects.toThrow(`(gRPC status ${code}). Start the worker again`)
  },
)

test('one that refuses for another reason leads to the commands', async () => {
  const registering = ensureSearchAttributes(serverThatFails(13), 'sales')
  await expect(registering).rejects.toThrow('temporal operator search-attribute create')
})
