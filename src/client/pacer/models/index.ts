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

/** From now on this model applies. Nothing can speak for another than `learning` before the limit is known. */
export function switchTo(memory: PacerMemory, regime: LimiterModelName, t: number): void {
  if (regime === memory.regime) return
  const before = modelOf(memory)
  memory.regime = regime
  modelOf(memory).begin(memory as LimitedMemory, before, t)
}
