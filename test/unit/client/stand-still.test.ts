// A process that stands still, as a stopped one or a suspended machine does. What had to be sent earlier is not sent
// afterwards.

import { expect, onTestFinished, test, vi } from 'vitest'
import { Deadline } from '../../../src/core/deadline.ts'
import { SendDeadlinePassed } from '../../../src/core/errors.ts'
import { always, bytesOf, clientOf, failureOf, oneRecord, startWire } from './wire.ts'

test('what waited for a connection while the process stood still is not sent after its deadline, although no timer has fired', async () => {
  let answer = () => {}
  const wire = await startWire((socket, _, count) => {
    const write = () => void socket.write(bytesOf(oneRecord))
    if (count === 1) answer = write
    else write()
  })
  const client = clientOf(wire.url, { connections: 1, timeoutMs: 3_600_000 })
  const first = client.updateRecord('svc_contact', 'rec_1', {})
  const second = failureOf(client.updateRecord('svc_contact', 'rec_2', {}))
  await vi.waitFor(() => expect(wire.seen).toHaveLength(1), { timeout: 300_000 })
  // The clock of a process that stood still: the answers that came meanwhile are read before its timers are looked at.
  const later = performance.now() + 3_600_000
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => later)
  onTestFinished(() => clock.mockRestore())
  answer()
  expect(await first).toMatchObject({ id: 'rec_1' })
  expect(await second).toMatchObject({
    message: 'updateRecord: no answer within 3600 s',
    kind: 'no_answer',
    outcomeUnknown: false,
  })
  expect(wire.seen).toHaveLength(1)
  expect(client.quota.closed.at(-1)).toBe('unused')
})

test('a write is not sent after the time that its caller gave it', async () => {
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url)
  const update = (sendBefore: Deadline) =>
    client.updateRecord('svc_contact', 'rec_1', {}, { sendBefore })
  const error = await failureOf(update(new Deadline(0)))
  expect(error).toBeInstanceOf(SendDeadlinePassed)
  expect(error).toMatchObject({ disposition: 'retry', outcomeUnknown: false })
  expect(client.quota.closed).toEqual(['unused'])
  expect(wire.seen).toEqual([])
  expect(await update(new Deadline(3_600_000))).toMatchObject({ id: 'rec_1' })
})

test('a write that left after its time, because the process stood still while it was written, says so', async () => {
  const wire = await startWire(always(oneRecord))
  const client = clientOf(wire.url)
  const sendBefore = new Deadline(3_600_000)
  // In time at the last look before its first byte, and over right after.
  vi.spyOn(sendBefore, 'isOver').mockReturnValueOnce(false).mockReturnValue(true)
  const error = await failureOf(client.updateRecord('svc_contact', 'rec_1', {}, { sendBefore }))
  expect(error).toMatchObject({ kind: 'no_answer', outcomeUnknown: true, leftLate: true })
  expect(error).not.toBeInstanceOf(SendDeadlinePassed)
})

test('a suspended machine: the wall clock counts too, and a clock that goes back delays nothing', () => {
  const before = Date.now()
  const deadline = new Deadline(60_000)
  expect(deadline.isOver()).toBe(false)
  const wall = vi.spyOn(Date, 'now').mockReturnValue(before + 61_000)
  onTestFinished(() => wall.mockRestore())
  expect(deadline.isOver()).toBe(true)
  wall.mockReturnValue(before - 3_600_000)
  expect(deadline.isOver()).toBe(false)
  const monotonic = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
  onTestFinished(() => monotonic.mockRestore())
  expect(deadline.isOver()).toBe(true)
})
