// The order of the test files: what waits for processes and time-outs comes first and together, and no long file is left alone at
// the end, when the other workers have nothing to do any more.

import { BaseSequencer, type TestSpecification } from 'vitest/node'

const tiers = ['system', 'slow', 'unit']

export class SystemFirst extends BaseSequencer {
  /** Within a tier as Vitest does: the longest first, as far as it knows from a run before; else the largest. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const tierOf = ({ project }: TestSpecification) => tiers.indexOf(project.name)
    return (await super.sort(files)).toSorted((one, two) => tierOf(one) - tierOf(two))
  }
}
