/** @module What the checks against the recorded results share: what is compared, by which evidence, and where findings go. */
import type { JsonObject } from '../../../../schemas/json.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import type { Pauses } from '../../paced.ts'
import type { Superseded } from '../established/superseded.ts'
import type { Evidence } from '../evidence.ts'
import type { Report } from '../report.ts'
import type { Supersession } from '../supersedes.ts'
import type { Trunk } from '../trunk.ts'
import type { Tools } from './trusted-tools.ts'

export interface GroundsInput {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly policy: ResolvedPolicy
  /** Where the context begins. */
  readonly trunk: Trunk
  readonly supersedes?: readonly Supersession[] | undefined
  /** What the policy says of the tools. */
  readonly tools: Tools
}

export interface Checking {
  readonly input: GroundsInput
  readonly evidence: Evidence
  readonly report: Report
  readonly severity: 'warning' | 'error'
  readonly superseded: Superseded
  readonly pauses: Pauses
}
