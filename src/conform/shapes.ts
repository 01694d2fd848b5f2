// Rules about shapes: every part of every answer, against the contract's schema for it.

import type { z } from 'zod'
import type { OperationId } from '../contract/index.ts'
import { fault, isSuccess, valueKind } from './expect.ts'
import { answerRule } from './rule-kinds.ts'
import type { Rule } from './rule.ts'
import type { RuleFault } from './verdict.ts'
import { dataOf, problemOf, type WireExchange } from './wire.ts'

export interface AnswerPart {
  readonly at: string
  readonly value: unknown
}

export const bodyMember =
  (name: string) =>
  (exchange: WireExchange): AnswerPart[] => [{ at: `/${name}`, value: problemOf(exchange)[name] }]

/** Each item of the list in `data`; if it is not a list, it is one part, which fits no schema of an item. */
export function dataItems(exchange: WireExchange): AnswerPart[] {
  const data = dataOf(exchange)
  if (!Array.isArray(data)) return [{ at: '/data', value: undefined }]
  return data.map((value: unknown, index) => ({ at: `/data/${index}`, value }))
}

/** A rule that parts of all successful answers of some operations have a shape. */
export function shapeRule(
  id: string,
  text: string,
  schema: z.ZodType,
  sources: Readonly<Partial<Record<OperationId, (exchange: WireExchange) => AnswerPart[]>>>,
): Rule {
  return answerRule(id, text, (exchange) => {
    const partsOf = exchange.operation === null ? undefined : sources[exchange.operation]
    if (!partsOf || !isSuccess(exchange) || exchange.bytes === 0) return undefined
    for (const part of partsOf(exchange)) {
      const found = misfit(part, schema)
      if (found) return found
    }
    return null
  })
}

/** How a part departs from its schema, or null. It reports places and kinds only. */
function misfit({ at, value }: AnswerPart, schema: z.ZodType): RuleFault | null {
  const result = schema.safeParse(value)
  if (result.success) return null
  const [issue] = result.error.issues
  const path = issue?.path ?? []
  const expected = issue ? issue.message.replace(/^Invalid (?:input|option): expected /, '') : ''
  const got = path.reduce<unknown>(
    (node, step) => (node as Record<PropertyKey, unknown> | null | undefined)?.[step],
    value,
  )
  const steps = path.map((step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1'))
  return fault([at, ...steps].join('/'), expected.replace(/, received .*$/, ''), valueKind(got))
}
