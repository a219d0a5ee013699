/** @module The identity of a fork: names and scopes of its branches, determined when it is requested. */
import type { JoinStrategy, OnDiscard } from '../../../schemas/fork.ts'
import type { StartFork } from '../../../schemas/requests.ts'
import { AgentError } from '../errors.ts'
import { manifestRequest } from '../pipeline/manifest.ts'
import { checkPlace } from '../runtime/check-place.ts'
import { type ExecutionContext, joined } from '../runtime/execution-context.ts'
import type { BranchOf, ForkOptions } from './fork-types.ts'

export interface PlannedBranch<Run> {
  readonly branch: BranchOf<Run>
  readonly name: string
  readonly agent: string
  readonly scope: string
  readonly manifest: ReturnType<typeof manifestRequest> | undefined
}

export interface ForkPlan<Run = never> {
  readonly branches: readonly PlannedBranch<Run>[]
  readonly join: JoinStrategy
  readonly onDiscard: OnDiscard
  readonly agent: string | undefined
}

/** What a fork will do, from its branches and options, before anything is recorded. Throws `invalid-fork` and `invalid-manifest`. */
export function planFork<Run>(
  execution: ExecutionContext,
  branches: readonly BranchOf<Run>[],
  options: ForkOptions,
): ForkPlan<Run> {
  if (branches.length === 0) throw new AgentError('invalid-fork', 'a fork has at least one branch')
  const names = namesOf(branches)
  const planned = branches.map((branch, i): PlannedBranch<Run> => {
    const { agent, manifest } = branch
    const name = names[i] ?? agent
    return {
      branch,
      name,
      agent,
      scope: scopeOf(execution, name),
      manifest: manifest === undefined ? undefined : manifestRequest(agent, manifest),
    }
  })
  return { branches: planned, join: options.join, onDiscard: options.onDiscard ?? 'compensate', agent: options.agent }
}

function namesOf(branches: readonly BranchOf<never>[]): string[] {
  const used = new Set(branches.flatMap(({ name }) => name ?? []))
  const names = branches.map(({ name, agent }) => {
    if (name !== undefined) return name
    let free = agent
    for (let n = 2; used.has(free); n += 1) free = `${agent}-${n}`
    used.add(free)
    return free
  })
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice === undefined) return names
  throw new AgentError('invalid-fork', `two branches of the fork are named ${twice}`, { branch: twice })
}

/** A scope that was rolled back stays closed, so a repeated name gets a new scope. */
function scopeOf(execution: ExecutionContext, name: string): string {
  const path = joined(execution.scope, `fork:${name.replaceAll('#', '%23')}`)
  const count = execution.session.occurrence(execution.scope, `fork ${name}`)
  const scope = count === 0 ? path : `${path}#${count + 1}`
  checkPlace(scope)
  return scope
}

/** The command that opens the fork. */
export function forkRequest({ branches, join, onDiscard, agent }: ForkPlan<never>, runFence: number): StartFork {
  return {
    branches: branches.map(({ name, agent: of, scope, manifest }) => ({
      name,
      agent: of,
      scope,
      ...(manifest !== undefined && { manifestHash: manifest.hash }),
    })),
    join,
    onDiscard,
    ...(agent !== undefined && { agent }),
    runFence,
  }
}
