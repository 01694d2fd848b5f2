// The limiters that the pacer knows, and the switch from one to another.

import type { LimitedMemory, LimiterModelName, PacerMemory } from '../memory.ts'
import { bucketModel } from './bucket.ts'
import { learningModel } from './learning.ts'
import type { LimiterModel } from './model.ts'
import { rollingModel } from './rolling.ts'
import { windowModel } from './window.ts'

const MODELS: Readonly<Record<LimiterModelName, LimiterModel>> = {
  learning: learningModel,
  window: windowModel,
  rolling: rollingModel,
  bucket: bucketModel,
}

export const modelOf = ({ regime }: PacerMemory): LimiterModel => MODELS[regime]

/** Another model applies, whose evidence starts with what is known now. Without a limit nothing speaks for another model. */
export function switchTo(memory: PacerMemory, regime: LimiterModelName, t: number): void {
  if (regime === memory.regime) return
  const { windows, newest, own, flights } = memory
  const before = modelOf(memory)
  memory.regime = regime
  windows.begin(newest, memory.newestSentAt, t)
  if (regime !== 'window') windows.clock = null
  if (before.isWindowed)
    memory.rolling.begin(memory.limit!, newest, t, own.likely(t, flights), flights.size)
  modelOf(memory).begin?.(memory as LimitedMemory, t)
}

/** A window was seen to begin. */
export function enterWindow(memory: PacerMemory, t: number): void {
  memory.regime = 'window'
  memory.pace.restart(t)
}
